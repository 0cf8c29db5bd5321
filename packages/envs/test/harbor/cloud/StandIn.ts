/**
 * Stands in for E2B's servers: it answers what the published documents say (fixtures/e2b.json), and refuses a request
 * that has another path, another field or no key. What a process does is up to the test; `inBubblewrap` runs it.
 */
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect, Option } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as Jail from "../../../src/sandbox/Jail.ts"
import published from "../../fixtures/e2b.json" with { type: "json" }

export const key = "e2b_0123"
const token = "inner"

export interface Process {
  readonly cmd: string
  readonly args: ReadonlyArray<string>
  readonly envs: { readonly [name: string]: string }
  readonly cwd: string
}

export interface Ran {
  readonly stdout?: Buffer | undefined
  readonly stderr?: Buffer | undefined
  /** Absent: it was killed. */
  readonly exitCode?: number | undefined
}

/** Runs a process in the files of a sandbox; `killed` resolves when it is to end. */
export type Execute = (root: string, process: Process, killed: Promise<void>) => Promise<Ran>

export interface Sandbox {
  readonly id: string
  readonly root: string
  isAlive: boolean
  timeout: number
  readonly asked: { readonly [name: string]: unknown }
}

interface Refusal {
  readonly status: number
  readonly message: string
}

const refuse = (status: number, message: string): never => {
  throw Object.assign(new Error(message), { status } satisfies Partial<Refusal>)
}

const ajv = new Ajv2020({ strict: false, formats: { int32: true } })
ajv.addSchema({ $id: "e2b", components: { schemas: published.schemas } })
const closed = (name: keyof typeof published.schemas) =>
  ajv.compile({ $ref: `e2b#/components/schemas/${name}`, unevaluatedProperties: false })
const validators = { NewSandbox: closed("NewSandbox"), SandboxTimeoutRequest: closed("SandboxTimeoutRequest") }

const check = (name: keyof typeof validators, body: unknown): void => {
  if (!validators[name](body)) refuse(400, `${name}: ${ajv.errorsText(validators[name].errors)}`)
}

/** Fields of a protobuf message, by name and kind of JSON. */
const checkMessage = (name: keyof typeof published.process, message: object): void => {
  const fields: { readonly [field: string]: string } = published.process[name]
  for (const [field, value] of Object.entries(message)) {
    const type = fields[field] ?? refuse(400, `${name} has no field ${field}`)
    const isRight = type.startsWith("repeated ")
      ? Array.isArray(value)
      : type === "string"
        ? typeof value === "string"
        : type === "bool"
          ? typeof value === "boolean"
          : type === "uint32"
            ? Number.isInteger(value)
            : type === "Signal"
              ? String(value).startsWith("SIGNAL_")
              : typeof value === "object"
    if (!isRight) refuse(400, `${name}.${field} is ${JSON.stringify(value)}, not ${type}`)
  }
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

const frame = (message: object, flags = 0): Buffer => {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head[0] = flags
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}

export const make = Effect.fnUntraced(function* (execute: Execute) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "atropos-e2b-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const sandboxes = new Map<string, Sandbox>()
  const requests: Array<string> = []
  /** Answers that come first, by request; such as those of a server that is down. */
  const failures = new Map<string, Array<Refusal>>()
  const running = new Map<number, () => void>()
  let pids = 100

  const alive = (id: string): Sandbox => {
    const found = sandboxes.get(id)
    return found?.isAlive === true ? found : refuse(404, `sandbox ${id} not found`)
  }

  const platform = async (request: IncomingMessage, response: ServerResponse, path: string) => {
    if (request.headers["x-api-key"] !== key) refuse(401, "invalid API key")
    const body = await bodyOf(request)
    const json: unknown = body.length === 0 ? undefined : JSON.parse(body.toString())
    const [, id = "", action = ""] = /^\/sandboxes(?:\/([^/]+)(\/timeout)?)?$/.exec(path) ?? refuse(404, `no ${path}`)
    const operation = `${request.method} ${path.replace(id === "" ? "\0" : id, "{sandboxID}")}`
    if (!Object.hasOwn(published.platform, operation)) refuse(405, operation)
    if (id === "") {
      check("NewSandbox", json)
      const asked = json as Sandbox["asked"]
      const made = { id: `s${sandboxes.size + 1}`, isAlive: true, timeout: Number(asked["timeout"]), asked }
      const root = join(folder, made.id)
      for (const name of ["tmp", "home", "root", "proc", "dev"]) mkdirSync(join(root, name), { recursive: true })
      sandboxes.set(made.id, { ...made, root })
      response.writeHead(201, { "content-type": "application/json" })
      const { templateID } = asked
      response.end(
        JSON.stringify({ templateID, sandboxID: made.id, clientID: "", envdVersion: "0.4.0", envdAccessToken: token })
      )
      return
    }
    const sandbox = alive(id)
    if (action === "") sandbox.isAlive = false
    else {
      check("SandboxTimeoutRequest", json)
      sandbox.timeout = (json as { timeout: number }).timeout
    }
    response.writeHead(204).end()
  }

  const files = async (request: IncomingMessage, response: ServerResponse, sandbox: Sandbox, url: URL) => {
    const [path, user] = [url.searchParams.get("path") ?? "", url.searchParams.get("username")]
    if (user !== "root" && user !== "user") refuse(401, `no user ${user}`)
    const file = join(sandbox.root, path)
    if (request.method === "GET") {
      if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) refuse(404, `${path} not found`)
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(readFileSync(file))
      return
    }
    const type = request.headers["content-type"] ?? ""
    if (!type.startsWith("multipart/form-data")) refuse(400, `content type ${type}`)
    const form = await new Response(new Uint8Array(await bodyOf(request)), {
      headers: { "content-type": type }
    }).formData()
    const content = form.get("file")
    if (!(content instanceof Blob)) return refuse(400, "no part of the name file")
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, Buffer.from(await content.arrayBuffer()))
    response.writeHead(200, { "content-type": "application/json" }).end("[]")
  }

  const process = async (request: IncomingMessage, response: ServerResponse, sandbox: Sandbox) => {
    if (request.headers["content-type"] !== "application/connect+json") refuse(415, "not Connect's JSON")
    const body = await bodyOf(request)
    if (body[0] !== 0 || body.readUInt32BE(1) !== body.length - 5) refuse(400, "no envelope")
    const message = JSON.parse(body.toString("utf8", 5)) as { readonly process: Process }
    checkMessage("StartRequest", message)
    checkMessage("ProcessConfig", message.process)
    const pid = pids++
    const killed = new Promise<void>((resolve) => running.set(pid, resolve))
    response.writeHead(200, { "content-type": "application/connect+json" })
    response.write(frame({ event: { start: { pid } } }))
    const { exitCode, stderr, stdout } = await execute(sandbox.root, message.process, killed)
    // In pieces that end anywhere.
    const output = Buffer.concat([
      ...(stdout === undefined ? [] : [frame({ event: { data: { stdout: stdout.toString("base64") } } })]),
      frame({ event: { keepalive: {} } }),
      ...(stderr === undefined ? [] : [frame({ event: { data: { stderr: stderr.toString("base64") } } })]),
      frame({
        event: {
          end:
            exitCode === undefined
              ? { exitCode: -1, status: "signal: killed" }
              : { exited: true, status: `exit status ${exitCode}`, ...(exitCode !== 0 && { exitCode }) }
        }
      }),
      frame({}, 2)
    ])
    response.write(output.subarray(0, 7))
    response.end(output.subarray(7))
  }

  const inside = async (request: IncomingMessage, response: ServerResponse, url: URL) => {
    const sandbox = alive(String(request.headers["e2b-sandbox-id"]))
    if (request.headers["e2b-sandbox-port"] !== "49983") refuse(400, "no port of the sandbox's service")
    if (request.headers["x-access-token"] !== token) refuse(401, "no access token")
    if (url.pathname === "/files") return files(request, response, sandbox, url)
    if (request.headers["connect-protocol-version"] !== "1") refuse(400, "no version of Connect's protocol")
    if (!/^Basic (?:cm9vdDo=|dXNlcjo=)$/.test(request.headers.authorization ?? "")) refuse(401, "no user")
    if (url.pathname === "/process.Process/Start") return process(request, response, sandbox)
    if (url.pathname !== "/process.Process/SendSignal") return refuse(404, url.pathname)
    const message = JSON.parse((await bodyOf(request)).toString()) as { readonly process: { readonly pid: number } }
    checkMessage("SendSignalRequest", message)
    checkMessage("ProcessSelector", message.process)
    running.get(message.process.pid)?.()
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "", "http://localhost")
    const what = `${request.method} ${url.pathname.replace(/^\/sandboxes\/[^/]+/, "/sandboxes/ID")}`
    requests.push(what)
    const failure = failures.get(what)?.shift()
    try {
      if (failure !== undefined) refuse(failure.status, failure.message)
      await (url.pathname.startsWith("/sandboxes")
        ? platform(request, response, url.pathname)
        : inside(request, response, url))
    } catch (error) {
      const { message, status = 500 } = error as Partial<Refusal>
      if (!response.headersSent) response.writeHead(status, { "content-type": "application/json" })
      response.end(JSON.stringify({ code: status, message }))
    }
  }

  const server = createServer((request, response) => void answer(request, response))
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, sandboxes, requests, failures, variables: { E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url } }
})

/** Runs a process with the files of its sandbox as its own, and this machine's programs. */
export const inBubblewrap: Execute = (root, { args, cmd, cwd, envs }, killed) =>
  new Promise((resolve) => {
    const files = ["--bind", root, "/", ...Jail.system.flatMap((path) => ["--ro-bind-try", path, path])]
    const words = [...files, "--proc", "/proc", "--dev", "/dev", "--unshare-all", "--die-with-parent", "--chdir", cwd]
    const child = spawn(Jail.bubblewrap(), [...words, "--", cmd, ...args], {
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/root", ...envs },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const printed = { stdout: new Array<Buffer>(), stderr: new Array<Buffer>() }
    child.stdout.on("data", (bytes: Buffer) => printed.stdout.push(bytes))
    child.stderr.on("data", (bytes: Buffer) => printed.stderr.push(bytes))
    void killed.then(() => child.kill("SIGKILL"))
    child.once("close", (code) =>
      resolve({
        stdout: Buffer.concat(printed.stdout),
        stderr: Buffer.concat(printed.stderr),
        exitCode: Option.getOrUndefined(Option.fromNullishOr(code))
      })
    )
  })
