/**
 * Starts the measured servers, each in a separate process on a free loopback port: ours, and the Python original if
 * ATROPOS_ORIGINAL names a checkout and ATROPOS_ORIGINAL_PYTHON an interpreter with its dependencies.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Pool, send } from "./Load.ts"

export interface RunningServer {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** The end of its output. */
  readonly log: () => string
  readonly stop: () => Promise<void>
}

export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

const untilAnswers = async (port: number, path: string, child: ChildProcess, log: () => string) => {
  const pool = new Pool()
  for (let attempt = 0; attempt < 600; attempt++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${log()}`)
    const isUp = await send(port, { method: "GET", path }, pool).then(
      ({ status }) => status === 200,
      () => false
    )
    if (isUp) return
    await sleep(200)
  }
  throw new Error(`the server does not answer on port ${port}: ${log()}`)
}

const start = async (
  name: string,
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd?: string; readonly env?: Record<string, string | undefined>; readonly port: number },
  cleanUp: () => Promise<void> = async () => {}
): Promise<RunningServer> => {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4000)
  }
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  await untilAnswers(options.port, "/", child, () => output).catch(async (error: unknown) => {
    child.kill("SIGKILL")
    await cleanUp()
    throw error
  })
  return {
    name,
    port: options.port,
    pid: child.pid!,
    log: () => output,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM")
        const stopped = await Promise.race([once(child, "exit"), sleep(10_000).then(() => undefined)])
        if (stopped === undefined) child.kill("SIGKILL")
      }
      await cleanUp()
    }
  }
}

/**
 * Our service with fresh data: on PGlite in a temporary folder, or in a new database on the server of `databaseUrl`.
 */
export const ours = async (databaseUrl?: string, environment: Record<string, string> = {}): Promise<RunningServer> => {
  const folder = await mkdtemp(join(tmpdir(), "atropos-bench-"))
  const database = databaseUrl === undefined ? undefined : await freshDatabase(databaseUrl)
  return on(
    await freePort(),
    { ...environment, ATROPOS_DATA_DIR: folder, DATABASE_URL: database?.url },
    databaseUrl === undefined ? "ours (PGlite)" : "ours (Postgres)",
    async () => {
      await database?.drop()
      await rm(folder, { recursive: true, force: true })
    }
  )
}

/** Our service on that port, with the data that the environment names. */
export const on = (
  port: number,
  environment: Record<string, string | undefined>,
  name = "ours",
  cleanUp?: () => Promise<void>
): Promise<RunningServer> =>
  start(
    name,
    process.execPath,
    [
      "--conditions=atropos-src",
      new URL("../../packages/cli/bin/atropos.js", import.meta.url).pathname,
      "api",
      "--port",
      String(port)
    ],
    { port, env: environment },
    cleanUp
  )

/** A new database on that server; dropped together with remaining connections. */
export const freshDatabase = async (databaseUrl: string) => {
  const name = `atropos_bench_${process.pid}_${randomUUID().slice(0, 8)}`
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  const administer = (statement: string) =>
    Effect.runPromise(
      SqlClient.SqlClient.use((sql) => sql.unsafe(statement)).pipe(
        Effect.provide(PgClient.layer({ url: Redacted.make(databaseUrl) }))
      )
    )
  await administer(`create database ${name}`)
  return { url: url.href, drop: () => administer(`drop database ${name} with (force)`) }
}

/** The original, or undefined if none is configured. */
export const original = async (): Promise<RunningServer | undefined> => {
  const { ATROPOS_ORIGINAL: folder, ATROPOS_ORIGINAL_PYTHON: python = "python3" } = process.env
  if (folder === undefined) return undefined
  const port = await freePort()
  return start(
    "the original",
    python,
    [
      "-m",
      "uvicorn",
      "atroposlib.api.server:app",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--log-level",
      "warning"
    ],
    { cwd: folder, port }
  )
}
