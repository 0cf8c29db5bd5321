/**
 * Records anew what coding agents send (`packages/core/test/fixtures/agents`): runs each installed program of the
 * presets on one task with scripted answers, and writes its requests with long texts cut and schemas of tools emptied.
 *
 *     ATROPOS_TEST_AGENTS=FOLDER node --conditions=atropos-src scripts/record-agent-requests.ts [NAME…]
 *
 * Lines of other scenarios stay. Read the diff before you commit it: an agent may send what belongs to its user.
 */
import { ServerManager, Tokenizer } from "@atropos/core"
import * as Gateway from "@atropos/core/gateway/Gateway"
import { Context, Effect, Layer, Predicate } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import * as AgentProgram from "../packages/envs/src/coding/AgentProgram.ts"
import * as CodingAgents from "../packages/envs/src/coding/CodingAgents.ts"
import type { CodingAgent } from "../packages/envs/src/coding/CodingAgent.ts"
import * as Programs from "../packages/envs/test/long/agents/Programs.ts"

const scenario = "preset"
const asked = process.argv.slice(2)
const fileOf = (name: string) => new URL(`../packages/core/test/fixtures/agents/${name}.jsonl`, import.meta.url)

/** Texts that later requests refer to, or that are short by nature. */
const kept = new Set(["encrypted_content", "arguments", "id", "call_id", "tool_call_id", "tool_use_id", "signature"])
const names = new Set(["type", "role", "name"])
const schemas = new Set(["input_schema", "parameters"])
/** Ids of the machine and of the person. */
const personal = new Set(["metadata", "client_metadata", "prompt_cache_key", "user"])
const maxLength = 60

const cut = (value: unknown, key = ""): unknown => {
  if (schemas.has(key)) return { type: "object", properties: {} }
  if (typeof value === "string") {
    if (personal.has(key)) return "0"
    return kept.has(key) || names.has(key) || value.length <= maxLength ? value : `${value.slice(0, maxLength)}…`
  }
  if (Array.isArray(value)) return value.map((one) => cut(one, key))
  if (!Predicate.isReadonlyObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, personal.has(key) ? "0" : cut(one, name)])
  )
}

interface Sent {
  readonly path: string
  readonly body: unknown
}

const passOn = async (url: string, text: string, method: string, response: ServerResponse): Promise<void> => {
  const headers = { "content-type": "application/json" }
  const answer = await fetch(url, { method, headers, ...(text !== "" && { body: text }) })
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" })
  response.end(Buffer.from(await answer.arrayBuffer()))
}

/** Passes requests on to the gateway, and keeps them. */
const recorder = (target: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly sent: ReadonlyArray<Sent>; readonly close: () => void }>(
      (resume) => {
        const sent: Array<Sent> = []
        const server = createServer((request, response) => {
          const parts: Array<Buffer> = []
          request.on("data", (part: Buffer) => parts.push(part))
          request.on("end", () => {
            const text = Buffer.concat(parts).toString()
            const path = (request.url ?? "").replace(/^\/s\/[^/]+/, "").replace(/\?.*/, "")
            if (request.method === "POST" && text !== "") sent.push({ path, body: JSON.parse(text) })
            void passOn(`${target}${request.url}`, text, request.method ?? "GET", response)
          })
        })
        server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as AddressInfo
          resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, sent, close: () => server.close() }))
        })
      }
    ),
    ({ close }) => Effect.sync(close)
  )

/** Writes a file, looks at it, and is done. */
const script =
  ({ shell }: CodingAgent): ServerManager.Script =>
  (request) => {
    if ("prompt" in request || request.tools === undefined) return "A title"
    const command = ["echo hello > hello.txt", "cat hello.txt"][
      request.messages.filter(({ role }) => role === "tool").length
    ]
    if (command === undefined) return "Done."
    return `<think>Next.</think>I try.\n<tool_call>\n${JSON.stringify({ name: shell.tool, arguments: shell.args(command) })}\n</tool_call>`
  }

const record = Effect.fnUntraced(function* (agent: CodingAgent, { path, version }: Programs.Installed) {
  const folder = mkdtempSync(join(tmpdir(), "atropos-record-"))
  const [home, work] = ["home", "work"].map((name) => join(folder, name)) as [string, string]
  const servers = Layer.provide(ServerManager.layerScripted(script(agent)), Tokenizer.layerBytes)
  const gateway = Context.get(yield* Layer.build(Layer.provide(Gateway.layer(), servers)), Gateway.Gateway)
  const session = yield* gateway.open()
  const { sent, url } = yield* recorder(gateway.url)
  const moved = {
    ...session,
    baseURL: session.baseURL.replace(gateway.url, url),
    anthropicBaseURL: session.anthropicBaseURL.replace(gateway.url, url)
  }
  const made = AgentProgram.of({
    agent,
    program: [path],
    task: "Write hello into hello.txt",
    session: moved,
    maxTokens: 4096
  })
  mkdirSync(work, { recursive: true })
  for (const [file, text] of Object.entries({ ...made.files, ".keep": "" })) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), text)
  }
  const code = yield* Effect.promise(
    () =>
      new Promise((resolve) => {
        const [program = "", ...args] = made.words
        spawn(program, args, {
          cwd: work,
          stdio: ["ignore", "ignore", "inherit"],
          env: {
            PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
            HOME: home,
            OPENAI_BASE_URL: moved.baseURL,
            OPENAI_API_KEY: "any",
            OPENAI_MODEL: session.modelName,
            ANTHROPIC_BASE_URL: moved.anthropicBaseURL,
            ANTHROPIC_API_KEY: "any",
            ANTHROPIC_MODEL: session.modelName,
            ...made.variables
          }
        }).once("close", resolve)
      })
  )
  rmSync(folder, { recursive: true, force: true })
  const anonymous = (text: string): string => text.replaceAll(work, "/box").replaceAll(home, "/home/agent")
  const file = fileOf(agent.name)
  const others = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []
  const lines = sent.map(({ body, path: to }) =>
    JSON.stringify({
      scenario: `${scenario} ${version}`,
      path: to,
      body: cut(JSON.parse(anonymous(JSON.stringify(body))))
    })
  )
  writeFileSync(
    file,
    [...others.filter((line) => !line.startsWith(`{"scenario":"${scenario}`)), ...lines, ""].join("\n")
  )
  console.log(`${agent.name} ${version}: ${sent.length} requests, exit code ${String(code)}`)
}, Effect.scoped)

for (const agent of CodingAgents.presets) {
  if (asked.length > 0 && !asked.includes(agent.name)) continue
  const program = Programs.installed(agent)
  if (program === undefined) console.log(`${agent.name}: ${agent.program} is not installed`)
  else await Effect.runPromise(record(agent, program))
}
