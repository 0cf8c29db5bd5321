/** What would hold a model to something: passed on to servers that do so, counted where tokens are sampled freely. */
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import OpenAI from "openai"
import * as Gateway from "../../src/gateway/Gateway.ts"
import * as ServerManager from "../../src/inference/ServerManager.ts"
import * as TestServer from "../inference/TestServer.ts"
import * as TestGateway from "./TestGateway.ts"

const parameters = { type: "object" as const, properties: { a: { type: "integer" } } }
const schema = { type: "object", properties: {}, additionalProperties: false }
const messages = [{ role: "user" as const, content: "Hi" }]

/** The same constraints in each dialect: a call of the tool, one at a time, and a schema. */
const ask = async (session: Gateway.Session): Promise<void> => {
  const openai = new OpenAI({ apiKey: "any", baseURL: session.baseURL, maxRetries: 0 })
  await openai.chat.completions.create({
    model: "any",
    messages,
    tools: [{ type: "function", function: { name: "look", parameters } }],
    tool_choice: { type: "function", function: { name: "look" } },
    parallel_tool_calls: false,
    response_format: { type: "json_schema", json_schema: { name: "answer", schema } }
  })
  await openai.responses.create({
    model: "any",
    input: "Hi",
    tools: [{ type: "function", name: "look", parameters, strict: false }],
    tool_choice: { type: "function", name: "look" },
    parallel_tool_calls: false,
    text: { format: { type: "json_schema", name: "answer", schema } }
  })
  const anthropic = new Anthropic({ apiKey: "any", baseURL: session.anthropicBaseURL, maxRetries: 0 })
  await anthropic.messages.create({
    model: "any",
    max_tokens: 9,
    messages,
    tools: [{ name: "look", input_schema: parameters }],
    tool_choice: { type: "tool", name: "look", disable_parallel_tool_use: true },
    output_config: { format: { type: "json_schema", schema } }
  })
}

const post = (url: string, body: object) =>
  Effect.promise(async () => {
    const headers = { "content-type": "application/json" }
    const answer = await fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify({ model: "any", ...body })
    })
    return [answer.status, await answer.text()] as const
  })

describe("what a request would hold a model to", () => {
  it.live("goes to a server that answers in text, in its own words, from every dialect", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const server = yield* TestServer.make(() => TestServer.chatReply(["{}"]))
        const servers = ServerManager.layer({ servers: { baseUrl: `${server.url}/v1`, modelName: "m" } })
        const context = yield* Layer.build(Layer.provide(Gateway.layer(), servers))
        const session = yield* Context.get(context, Gateway.Gateway).open()
        yield* Effect.promise(() => ask(session))
        const bodies = server.asked.filter(({ path }) => path.endsWith("/chat/completions")).map(({ body }) => body)
        assert.strictEqual(bodies.length, 3)
        for (const body of bodies) {
          assert.deepInclude(body, {
            tool_choice: { type: "function", function: { name: "look" } },
            parallel_tool_calls: false,
            response_format: { type: "json_schema", json_schema: { name: "answer", schema } }
          })
        }
        assert.deepStrictEqual((yield* session.counts).ignored, {})
      })
    )
  )

  it.live("changes nothing about tokens that are sampled freely, and is counted", () =>
    TestGateway.use({ script: ["{}"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        yield* Effect.promise(() => ask(session))
        // The three are one prompt to the model.
        assert.strictEqual(new Set(log.map(({ inputIds }) => inputIds.join())).size, 1)
        assert.deepStrictEqual((yield* session.counts).ignored, {
          tool_choice: 3,
          parallel_tool_calls: 2,
          response_format: 1,
          "text.format": 1,
          "tool_choice.disable_parallel_tool_use": 1,
          "output_config.format": 1
        })
      })
    )
  )

  it.live("is refused by every dialect if it is a call of a tool that the request does not have", () =>
    TestGateway.use({ script: ["yes"] }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const refused = [
          yield* post(`${session.baseURL}/chat/completions`, {
            messages,
            tools: [{ type: "function", function: { name: "look", parameters } }],
            tool_choice: { type: "function", function: { name: "see" } }
          }),
          yield* post(`${session.baseURL}/responses`, {
            input: "Hi",
            tools: [{ type: "function", name: "look", parameters }],
            tool_choice: { type: "function", name: "see" }
          }),
          yield* post(`${session.anthropicBaseURL}/v1/messages`, {
            messages,
            max_tokens: 9,
            tools: [{ name: "look", input_schema: parameters }],
            tool_choice: { type: "tool", name: "see" }
          })
        ]
        for (const [status, text] of refused) {
          assert.strictEqual(status, 400)
          assert.include(text, 'the request has no tool named \\"see\\"')
        }
      })
    )
  )
})
