/** Parameters that a dialect does not read: some clients always send them, with the value that asks for nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestGateway from "./TestGateway.ts"

const hello = [{ role: "user", content: "hi" }]
const dialects: ReadonlyArray<readonly [path: string, body: object]> = [
  ["chat/completions", { messages: hello }],
  ["messages", { messages: hello, max_tokens: 4 }],
  ["responses", { input: "hi" }]
]

/** Parameters of servers, with values that change nothing and one that does. */
const parameters: ReadonlyArray<readonly [name: string, usual: ReadonlyArray<unknown>, changing: unknown]> = [
  ["ignore_eos", [false, null], true],
  ["min_tokens", [0], 5],
  ["best_of", [1], 2],
  ["length_penalty", [1], 0.9],
  ["use_beam_search", [false], true],
  ["skip_special_tokens", [true], false],
  ["include_stop_str_in_output", [false], true],
  ["add_generation_prompt", [true], false],
  ["continue_final_message", [false], true],
  ["echo", [false], true],
  ["bad_words", [[]], ["x"]],
  ["stop_token_ids", [[]], [2]],
  ["logits_processors", [[]], ["x"]],
  ["chat_template_kwargs", [{}], { enable_thinking: false }],
  ["documents", [[]], [{ text: "x" }]],
  ["grammar", [""], "root ::= x"],
  ["typical_p", [1], 0.5],
  ["mirostat", [0], 2]
]

/** Parameters of one dialect. */
const own: ReadonlyArray<readonly [path: string, name: string, value: unknown, status: number]> = [
  ["chat/completions", "modalities", [], 200],
  ["chat/completions", "modalities", ["text", "audio"], 400],
  ["messages", "mcp_servers", [], 200],
  ["messages", "mcp_servers", [{ type: "url", url: "http://a", name: "a" }], 400],
  ["responses", "context_management", [], 200],
  ["responses", "context_management", [{ type: "compaction" }], 400],
  ["responses", "tools", [{ type: "custom", name: "apply" }], 200],
  ["responses", "n", 1, 200],
  ["responses", "n", 2, 400]
]

describe("parameters that a dialect does not read", () => {
  it.live("are taken with the values that ask for nothing, counted, and refused with others", () =>
    TestGateway.use({ script: () => "yes" }, ({ gateway }) =>
      Effect.gen(function* () {
        for (const [path, body] of dialects) {
          const session = yield* gateway.open()
          const ask = (more: object) =>
            TestGateway.post(`${session.baseURL}/${path}`, { model: "any", ...body, ...more })
          for (const [name, usual, changing] of parameters) {
            for (const value of usual) {
              const { status, text } = yield* ask({ [name]: value })
              assert.strictEqual(status, 200, `${path} ${name}: ${text}`)
            }
            const { status, text } = yield* ask({ [name]: changing })
            assert.strictEqual(status, 400, `${path} ${name}`)
            assert.include(text, name)
            assert.strictEqual((yield* session.counts).ignored[name], 1)
          }
        }
      })
    )
  )

  it.live("are taken where a dialect has them alone, if they ask for nothing", () =>
    TestGateway.use({ script: () => "yes" }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        for (const [path, name, value, expected] of own) {
          const [, body] = dialects.find(([one]) => one === path)!
          const asked = { model: "any", ...body, [name]: value }
          const { status, text } = yield* TestGateway.post(`${session.baseURL}/${path}`, asked)
          assert.strictEqual(status, expected, `${path} ${name}: ${text}`)
        }
      })
    )
  )
})
