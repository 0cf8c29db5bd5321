import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { connect } from "node:net"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import * as TestGateway from "../gateway/TestGateway.ts"

const { assertExact, post } = TestGateway

const chat = (text: string, more: object = {}) => ({
  model: "any",
  messages: [{ role: "user", content: text }],
  ...more
})

/** Bodies of every shape that is no request, and what of the answer's text says which part is wrong. */
const wrong: ReadonlyArray<readonly [body: unknown, says: RegExp]> = [
  ["", /not UTF-8 JSON, or incomplete/],
  ["{", /not UTF-8 JSON, or incomplete/],
  ['{"messages": [], "messages": []}', /twice/],
  ["[".repeat(100_000), /is nested more than/],
  [`{"messages": ${"[".repeat(300)}${"]".repeat(300)}}`, /is nested more than/],
  [[], /JSON object/],
  [null, /JSON object/],
  ["5", /JSON object/],
  [{}, /"messages/],
  [{ messages: "hi" }, /"messages/],
  [{ messages: [] }, /"messages/],
  [{ messages: [null] }, /messages\[0\]/],
  [{ messages: [[]] }, /messages\[0\]/],
  [{ messages: [{ role: "wizard", content: "x" }] }, /messages\[0\]\.role/],
  [{ messages: [{ role: { toString: 1 }, content: "x" }] }, /messages\[0\]\.role/],
  [{ messages: [{ role: "user" }] }, /messages\[0\]\.content/],
  [{ messages: [{ role: "user", content: 5 }] }, /messages\[0\]\.content/],
  [{ messages: [{ role: "user", content: [{ type: "input_audio" }] }] }, /messages\[0\]\.content\[0\]\.type/],
  [{ messages: [{ role: "user", content: [{ type: "text", text: 5 }] }] }, /content\[0\]\.text/],
  [
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "file:///etc/passwd" } }] }] },
    /image_url/
  ],
  [{ messages: [{ role: "assistant", refusal: "no" }] }, /refusal/],
  [{ messages: [{ role: "assistant" }] }, /messages\[0\]\.content/],
  [{ messages: [{ role: "assistant", tool_calls: {} }] }, /tool_calls/],
  [
    { messages: [{ role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: {} } }] }] },
    /arguments/
  ],
  [{ messages: [{ role: "tool", content: "x" }] }, /tool_call_id/],
  [chat("x", { n: 0 }), /"n/],
  [chat("x", { n: 1e9 }), /"n/],
  [chat("x", { temperature: "hot" }), /"temperature/],
  [chat("x", { temperature: -1 }), /"temperature/],
  [chat("x", { max_tokens: 1.5 }), /"max_tokens/],
  [chat("x", { stop: [1] }), /"stop/],
  [chat("x", { stream: "yes" }), /"stream/],
  [chat("x", { stream_options: {} }), /"stream_options/],
  [chat("x", { tools: 5 }), /"tools/],
  [chat("x", { tools: [{ type: "local_shell" }] }), /tools\[0\]\.type/],
  [chat("x", { tools: [{ type: "function", function: { name: "" } }] }), /tools\[0\]\.function\.name/],
  [chat("x", { response_format: "json" }), /response_format/],
  [chat("x", { ["Max Tokens"]: 1 }), /Max Tokens/]
]

const Problem = Schema.fromJsonString(
  Schema.Struct({ error: Schema.Struct({ message: Schema.NonEmptyString, type: Schema.NonEmptyString }) })
)
const problemOf = Schema.decodeUnknownSync(Problem)

/** Sends a part of a request and hangs up. */
const cut = (url: string, { baseURL }: Gateway.Session, part: string) =>
  Effect.callback<void>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => {
      const path = new URL(baseURL).pathname
      const head = `POST ${path}/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n`
      socket.write(`${head}content-length: 1000\r\n\r\n${part}`, () => socket.destroy())
    })
    socket.on("close", () => resume(Effect.void))
    socket.on("error", () => resume(Effect.void))
  })

describe("requests that no SDK would send", () => {
  it.live("get the dialect's own error, and another session goes on unharmed", () =>
    TestGateway.use({ script: ["one", "two", "three"], bodyBytes: 1024 * 1024 }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const victim = yield* gateway.open()
        const other = yield* gateway.open()
        const messages: Array<object> = []
        const goOn = Effect.fnUntraced(function* () {
          messages.push({ role: "user", content: "Go on" })
          const { status, text } = yield* post(`${other.baseURL}/chat/completions`, { model: "any", messages })
          assert.strictEqual(status, 200)
          const { choices } = JSON.parse(text) as { readonly choices: ReadonlyArray<{ readonly message: object }> }
          messages.push(choices[0]!.message)
        })
        yield* goOn()
        for (const [body, says] of wrong) {
          const { status, text } = yield* post(`${victim.baseURL}/chat/completions`, body)
          assert.strictEqual(status, 400, `${JSON.stringify(body).slice(0, 200)}: ${text}`)
          assert.match(text, says)
          problemOf(text)
        }
        yield* goOn()
        const huge = yield* post(`${victim.baseURL}/chat/completions`, chat("x".repeat(2 * 1024 * 1024)))
        assert.strictEqual(huge.status, 413)
        const unmarked = yield* post(`${victim.baseURL}/chat/completions`, chat("x"), { "content-type": "text/plain" })
        assert.strictEqual(unmarked.status, 400)
        const zipped = yield* post(`${victim.baseURL}/chat/completions`, chat("x"), { "content-encoding": "gzip" })
        assert.strictEqual(zipped.status, 400)
        const rebound = yield* post(`${victim.baseURL}/chat/completions`, chat("x"), { origin: "https://evil.example" })
        assert.strictEqual(rebound.status, 403)
        for (const part of ["", '{"messages": [{"role": "us']) yield* cut(gateway.url, victim, part)
        yield* goOn()
        assert.strictEqual((yield* victim.trajectories).length, 0)
        assert.strictEqual(log.length, 3)
        const [only, ...rest] = yield* assertExact(other, log)
        assert.strictEqual(rest.length, 0)
        assert.strictEqual(only?.completion, "three")
      })
    )
  )

  it.live("to paths that are not there name those that are", () =>
    TestGateway.use({ script: ["yes"] }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        for (const path of [
          "/v1/embeddings",
          "/v1/chat",
          "/v1/chat/completions/x/y",
          "/reward/1",
          "/../../etc/passwd",
          "/%00"
        ]) {
          const { status, text } = yield* post(`${session.anthropicBaseURL}${path}`, {})
          assert.strictEqual(status, 404, path)
          problemOf(text)
        }
        const nowhere = yield* post(`${gateway.url}/v1/chat/completions`, chat("x"))
        assert.strictEqual(nowhere.status, 404)
        assert.match(nowhere.text, /base URL/)
      })
    )
  )

  it.live("are a history of megabytes, and calls whose arguments are no JSON: both are answered", () =>
    TestGateway.use({ script: ["yes"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const broken = { id: "a", type: "function", function: { name: "f", arguments: '{"half": ' } }
        const messages = [
          ...Array.from({ length: 2000 }, (_, index) => ({
            role: index % 2 === 0 ? "user" : "assistant",
            content: "word ".repeat(200)
          })),
          { role: "user", content: "Call it" },
          { role: "assistant", content: null, tool_calls: [broken] },
          { role: "tool", tool_call_id: "a", content: "that was no JSON" }
        ]
        const { status, text } = yield* post(`${session.baseURL}/chat/completions`, { model: "any", messages })
        assert.strictEqual(status, 200, text)
        yield* assertExact(session, log)
      })
    )
  )
})
