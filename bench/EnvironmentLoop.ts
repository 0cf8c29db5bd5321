/**
 * Groups per second that reach a trainer from one environment with instant inference (groups of 8 x 64 tokens), with
 * the default of 8 workers and with 64.
 *
 * Both environments talk HTTP to their own service, ours durable. The trainers take batches of 64 sequences as fast as
 * they can: the original's from `/batch`, ours packed, with an acknowledgement. The original's environment needs a
 * tokenizer folder to start: ATROPOS_ORIGINAL_TOKENIZER.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { performance } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import * as Batches from "./internal/Batches.ts"
import * as Load from "./internal/Load.ts"
import type { Row } from "./internal/Report.ts"
import type { RunningServer } from "./internal/Servers.ts"
import * as Session from "./internal/Session.ts"

const groupsPerBatch = 8
const windowMillis = 8000
const patienceMillis = 60_000

type Take = (server: RunningServer) => (pool: Load.Pool) => Promise<boolean>

const groupsPerSecond = async (server: RunningServer, taking: Take, start: () => ChildProcess): Promise<number> => {
  const { port } = server
  await Session.open(port, 8 * groupsPerBatch, 8)
  const environment = start()
  let log = ""
  environment.stderr?.on("data", (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-2000)
  })
  const pool = new Load.Pool()
  const takeOne = taking(server)
  const take = () => takeOne(pool)
  const began = performance.now()
  try {
    while (!(await take())) {
      if (environment.exitCode !== null || performance.now() - began > patienceMillis) {
        throw new Error(`the environment sends nothing: ${log}`)
      }
      await sleep(20)
    }
    // The first second fills queues and caches.
    for (const until = performance.now() + 1000; performance.now() < until;) if (!(await take())) await sleep(5)
    let batches = 0
    const from = performance.now()
    while (performance.now() - from < windowMillis) {
      if (await take()) batches++
      else await sleep(5)
    }
    return (batches * groupsPerBatch * 1000) / (performance.now() - from)
  } finally {
    environment.kill("SIGKILL")
    if (environment.exitCode === null) await once(environment, "exit")
    pool.destroy()
    await Session.call(port, { method: "GET", path: "/reset_data" })
  }
}

const script = (name: string) => new URL(`./internal/${name}`, import.meta.url).pathname
const quiet = { stdio: ["ignore", "ignore", "pipe"] as ["ignore", "ignore", "pipe"] }

export const measure = async (
  ours: RunningServer,
  original: RunningServer | undefined
): Promise<ReadonlyArray<Row>> => {
  const {
    ATROPOS_ORIGINAL: folder,
    ATROPOS_ORIGINAL_PYTHON: python = "python3",
    ATROPOS_ORIGINAL_TOKENIZER: tokenizer
  } = process.env
  const rows: Array<Row> = []
  for (const workers of [8, 64]) {
    const reference =
      original && folder !== undefined && tokenizer !== undefined
        ? await groupsPerSecond(original, Batches.takeJson, () =>
            spawn(python, [script("original_environment.py"), String(original.port), tokenizer, String(workers)], {
              ...quiet,
              cwd: folder,
              env: { ...process.env, PYTHONPATH: folder, HF_HUB_OFFLINE: "1" }
            })
          )
        : undefined
    const url = `http://127.0.0.1:${ours.port}`
    const own = await groupsPerSecond(ours, Batches.takePacked, () =>
      spawn(process.execPath, ["--conditions=atropos-src", script("OwnEnvironment.ts"), url, String(workers)], quiet)
    )
    const what = `environment loop, instant inference, ${workers} workers`
    rows.push({ what, ours: own, reference, unit: "groups/s", better: "larger", goal: 5 })
  }
  return rows
}
