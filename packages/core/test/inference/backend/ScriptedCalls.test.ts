import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ServerManager from "../../../src/inference/ServerManager.ts"
import * as ServerSettings from "../../../src/inference/backend/ServerSettings.ts"
import { layerBytes } from "../../../src/inference/tokenizer/Tokenizer.ts"

const tool = (name: string, parameters: unknown) => ({ type: "function", function: { name, parameters } })

const object = (properties: { readonly [name: string]: unknown }, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required
})

const user = { role: "user", content: "how many?" }

/** What the policy of `--testing` answers in a tracked session, as agents have. */
const answerTo = (request: ServerManager.ChatRequest) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const session = yield* servers.tracked()
    const [choice] = yield* session.chat(request)
    return choice!
  }).pipe(
    Effect.scoped,
    Effect.provide(ServerManager.layer({ testing: true }).pipe(Layer.provide(layerBytes)), { local: true })
  )

describe("the policy of --testing", () => {
  it.effect("calls every offered tool once, all in one answer, then says what the user said", () =>
    Effect.gen(function* () {
      const tools = [tool("stock", object({ fruit: { type: "string" } })), tool("list", object({}))]
      const first = yield* answerTo({ messages: [user], tools })
      assert.deepStrictEqual(
        first.toolCalls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
        [
          ["stock", { fruit: "example" }],
          ["list", {}]
        ]
      )
      const results = first.toolCalls.map(({ id }) => ({ role: "tool", content: "12", tool_call_id: id }))
      const last = yield* answerTo({ messages: [user, first.message, ...results], tools })
      assert.strictEqual(last.text, "how many?")
      assert.lengthOf(last.toolCalls, 0)
      const half = { role: "assistant", content: "", tool_calls: first.toolCalls.slice(0, 1) }
      const left = yield* answerTo({ messages: [user, half, ...results.slice(0, 1)], tools })
      assert.deepStrictEqual(
        left.toolCalls.map((call) => call.function.name),
        ["list"]
      )
      assert.lengthOf((yield* answerTo({ messages: [user], tools, toolChoice: "none" })).toolCalls, 0)
    })
  )

  it.effect("makes arguments that their schema admits", () =>
    Effect.gen(function* () {
      const parameters = {
        $defs: {
          Place: object({
            city: { enum: ["Rome", "Oslo"] },
            zip: { anyOf: [{ type: "null" }, { type: "integer", minimum: 3 }] }
          })
        },
        ...object(
          {
            place: { $ref: "#/$defs/Place" },
            day: { type: "string", format: "date" },
            count: { type: ["null", "integer"], exclusiveMinimum: 4 },
            tags: { type: "array", items: { type: "string", minLength: 9 }, minItems: 2 },
            sure: { type: "boolean" },
            kind: { const: "trip" },
            left: { type: "string" }
          },
          ["place", "day", "count", "tags", "sure", "kind"]
        )
      }
      const { toolCalls } = yield* answerTo({ messages: [user], tools: [tool("book", parameters)] })
      assert.deepStrictEqual(JSON.parse(toolCalls[0]!.function.arguments), {
        place: { city: "Rome", zip: 3 },
        day: "2026-01-31",
        count: 5,
        tags: ["exampleee", "exampleee"],
        sure: true,
        kind: "trip"
      })
    })
  )
})

const missing = (baseUrl: string, serverType: "openai" | "trl" = "openai") =>
  ServerSettings.missingIn({ ...ServerSettings.server.complete({}), baseUrl, serverType })

describe("the address of a server", () => {
  it.effect("is refused without http://, with what was meant", () =>
    Effect.gen(function* () {
      for (const url of [
        "localhost:9001/v1",
        "127.0.0.1:9001/v1",
        "localhost:9001",
        "ws://a/",
        "ftp://a/v1",
        "http://"
      ]) {
        const error = yield* Effect.flip(ServerSettings.server.decode({ base_url: url }))
        assert.match(error.message, /must be a URL such as http:\/\/(?!ws)[^ ]*\/v1\b/, url)
      }
      for (const url of ["", null, "http://localhost:9001/v1", "https://api.x.ai/v1/"])
        yield* ServerSettings.server.decode({ base_url: url })
    })
  )

  it("lacks a path where it ends with the host, except at TRL's server", () => {
    assert.match(missing("http://host/v1/chat/completions") ?? "", /is an endpoint.*: http:\/\/host\/v1$/)
    assert.match(missing("http://host/v1/completions/") ?? "", /is an endpoint.*: http:\/\/host\/v1$/)
    assert.match(missing("http://localhost:9001/") ?? "", /has no path, .*: http:\/\/localhost:9001\/v1$/)
    assert.isUndefined(missing("http://localhost:9001/v1"))
    assert.isUndefined(missing("https://example.com/openai"))
    assert.isUndefined(missing("http://localhost:8000", "trl"))
    assert.isUndefined(missing(""))
  })
})
