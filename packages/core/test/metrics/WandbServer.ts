/**
 * A stand-in for a server of Weights & Biases: it keeps what it is sent, and objects to every request that the real one
 * could not take.
 *
 * Checked of each: the method, the path, the key, types of all variables, lines of history as JSON with a growing
 * `_step`, offsets that continue what is there (the same lines may come again at their place), tables that are there
 * before rows speak of them. `fault` decides per request whether it is answered properly, with a failure, or not at
 * all; `afterwards` does the work and loses the answer.
 */
import { assert } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { listen } from "./listen.ts"

export interface Run {
  readonly variables: Record<string, unknown>
  readonly config: Record<string, unknown>
  readonly history: Array<string>
  readonly files: Map<string, Buffer>
  summary: Record<string, unknown>
  exitcode: number | undefined
  /** Requests of the stream, the empty ones among them. */
  requests: number
  heartbeats: number
}

export type Fault =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | "disconnect"
  | "afterwards"

export interface WandbServer {
  readonly url: string
  readonly runs: Map<string, Run>
  /** What was wrong with requests. */
  readonly mistakes: Array<string>
  readonly requests: Array<{
    readonly path: string
    readonly body: string
    readonly headers: IncomingMessage["headers"]
  }>
  fault: (path: string, count: number) => Fault | undefined
  /** A run that somebody else recorded. */
  readonly seed: (id: string, lines: ReadonlyArray<string>) => void
}

export const apiKey = "0123456789abcdef0123456789abcdef01234567"

const entity = "team"

const read = (request: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => resolve(Buffer.concat(chunks)))
    request.on("error", reject)
  })

const fresh = (): Run => ({
  variables: {},
  config: {},
  history: [],
  files: new Map(),
  summary: {},
  exitcode: undefined,
  requests: 0,
  heartbeats: 0
})

const tablesOf = (row: Record<string, unknown>): ReadonlyArray<string> =>
  Object.values(row).flatMap((value) =>
    Predicate.isReadonlyObject(value) && value["_type"] === "table-file" ? [String(value["path"])] : []
  )

/** Listens on a free port until the scope closes. */
export const make = Effect.gen(function* () {
  const runs = new Map<string, Run>()
  const mistakes: Array<string> = []
  const requests: Array<WandbServer["requests"][number]> = []
  const uploads = new Map<string, { readonly run: Run; readonly name: string }>()
  let url = ""

  const expect = (condition: boolean, message: string): void => {
    if (!condition) mistakes.push(message)
  }

  const graphql = (body: Record<string, unknown>): unknown => {
    const { query, variables } = body
    if (typeof query !== "string" || !Predicate.isReadonlyObject(variables)) {
      mistakes.push(`not a GraphQL request: ${JSON.stringify(body)}`)
      return { errors: [{ message: "malformed" }] }
    }
    const text = (name: string): string => {
      expect(typeof variables[name] === "string" && variables[name] !== "", `${name} should be text`)
      return String(variables[name])
    }
    if (query.includes("viewer")) return { data: { viewer: { entity } } }
    if (query.includes("upsertBucket")) {
      const id = text("name")
      for (const name of ["project", "displayName", "host", "config", "jobType"]) text(name)
      for (const name of ["entity", "group"]) {
        expect(variables[name] === null || typeof variables[name] === "string", `${name} should be text or null`)
      }
      const config: unknown = JSON.parse(text("config"))
      const isConfig =
        Predicate.isReadonlyObject(config) &&
        Object.values(config).every((one) => Predicate.isReadonlyObject(one) && "value" in one)
      expect(isConfig, "config should have { value } for every name")
      const known = runs.get(id)
      const run: Run = { ...(known ?? fresh()), variables, config: Predicate.isReadonlyObject(config) ? config : {} }
      runs.set(id, run)
      return {
        data: {
          upsertBucket: {
            inserted: known === undefined,
            bucket: {
              name: id,
              historyLineCount: run.history.length,
              project: { name: variables["project"], entity: { name: variables["entity"] ?? entity } }
            }
          }
        }
      }
    }
    if (query.includes("historyTail")) {
      const run = runs.get(text("name"))
      return {
        data: { model: { bucket: run && { historyTail: JSON.stringify(run.history.slice(-1)) } } }
      }
    }
    if (query.includes("createRunFiles")) {
      const run = runs.get(text("run"))
      const names = variables["files"]
      if (run === undefined || !Array.isArray(names)) {
        mistakes.push("files for a run that is not there")
        return { errors: [{ message: "no such run" }] }
      }
      const files = names.map((name) => {
        const path = `/storage/${uploads.size}`
        uploads.set(path, { run, name: String(name) })
        return { name, uploadUrl: `${url}${path}` }
      })
      return { data: { createRunFiles: { uploadHeaders: ["X-Storage: yes"], files } } }
    }
    mistakes.push(`unknown query: ${query}`)
    return { errors: [{ message: "unknown query" }] }
  }

  const stream = (run: Run, body: Record<string, unknown>): unknown => {
    run.requests++
    const files = body["files"]
    if (files === undefined && body["complete"] === undefined) run.heartbeats++
    for (const [name, lines] of Object.entries(Predicate.isReadonlyObject(files) ? files : {})) {
      if (
        !Predicate.isReadonlyObject(lines) ||
        typeof lines["offset"] !== "number" ||
        !Array.isArray(lines["content"])
      ) {
        mistakes.push(`${name} should have offset and content`)
        continue
      }
      const { content, offset } = lines
      if (name === "wandb-summary.json") {
        expect(offset === 0 && content.length === 1, "the summary is one line at 0")
        const summary: unknown = JSON.parse(String(content[0]))
        if (Predicate.isReadonlyObject(summary)) run.summary = summary
        continue
      }
      expect(name === "wandb-history.jsonl", `unknown file ${name}`)
      expect(offset <= run.history.length, `offset ${offset} leaves a gap after ${run.history.length} lines`)
      for (const [index, line] of content.entries()) {
        const at = offset + index
        const row: unknown = JSON.parse(String(line))
        if (
          !Predicate.isReadonlyObject(row) ||
          typeof row["_step"] !== "number" ||
          typeof row["_timestamp"] !== "number"
        ) {
          mistakes.push(`a row without step or time: ${String(line)}`)
          continue
        }
        const before = at === 0 ? undefined : (JSON.parse(run.history[at - 1]!) as { readonly _step: number })
        expect(before === undefined || row["_step"] > before["_step"], `step ${row["_step"]} does not grow`)
        for (const path of tablesOf(row)) expect(run.files.has(path), `table ${path} is not there`)
        if (at < run.history.length) expect(run.history[at] === line, `line ${at} has changed`)
        run.history[at] = String(line)
      }
    }
    if (body["complete"] !== undefined) {
      expect(body["complete"] === true && typeof body["exitcode"] === "number", "an end needs an exit code")
      run.exitcode = Number(body["exitcode"])
    }
    return { exitcode: null, limits: {} }
  }

  const work = (request: IncomingMessage, body: Buffer): { readonly status: number; readonly json: unknown } => {
    const { headers, method, url: path = "" } = request
    const upload = uploads.get(path)
    if (upload !== undefined) {
      expect(method === "PUT", `${path} is put, not ${method}`)
      expect(headers["authorization"] === undefined, "the key went to the storage")
      expect(headers["x-storage"] === "yes", "a header of the upload is missing")
      upload.run.files.set(upload.name, body)
      return { status: 200, json: {} }
    }
    expect(method === "POST", `${path} is posted, not ${method}`)
    const expected = `Basic ${Buffer.from(`api:${apiKey}`).toString("base64")}`
    if (headers["authorization"] !== expected) return { status: 401, json: { error: "api key" } }
    const parsed: unknown = JSON.parse(body.toString())
    if (!Predicate.isReadonlyObject(parsed)) return { status: 400, json: { error: "not an object" } }
    if (path === "/graphql") return { status: 200, json: graphql(parsed) }
    const [, , inPath, project, id = "", last] = path.split("/")
    const run = runs.get(id)
    if (run === undefined) return { status: 404, json: { error: `no run ${id}` } }
    expect(inPath === (run.variables["entity"] ?? entity), `entity ${inPath} in the path`)
    expect(project === run.variables["project"] && last === "file_stream", `path ${path}`)
    return { status: 200, json: stream(run, parsed) }
  }

  const server: WandbServer = {
    get url() {
      return url
    },
    runs,
    mistakes,
    requests,
    fault: () => undefined,
    seed: (id, lines) => {
      const run = fresh()
      run.history.push(...lines)
      runs.set(id, run)
    }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await read(request)
    const path = request.url ?? ""
    requests.push({ path, body: body.toString(), headers: request.headers })
    const fault = server.fault(path, requests.length)
    if (fault === "disconnect") return void request.socket.destroy()
    if (fault !== undefined && fault !== "afterwards") {
      response.writeHead(fault.status, fault.headers ?? {}).end(fault.body ?? "")
      return
    }
    const { json, status } = work(request, body)
    if (fault === "afterwards") return void request.socket.destroy()
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json))
  }

  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      mistakes.push(String(error))
      response.destroy()
    })
  })
  url = yield* listen(http)
  return server
})

/** The rows a run has. */
export const rowsOf = ({ history }: Run): ReadonlyArray<Record<string, unknown>> =>
  history.map((line) => JSON.parse(line) as Record<string, unknown>)

/** The one run there is. */
export const onlyRun = ({ runs }: WandbServer): Run => {
  assert.strictEqual(runs.size, 1)
  return [...runs.values()][0]!
}
