/** Answers that are only thought, or say nothing at all: an agent sends them back as its SDK has them. */
import Anthropic from "@anthropic-ai/sdk"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { type ModelMessage, generateText } from "ai"
import { Effect, Layer } from "effect"
import OpenAI from "openai"
import * as Gateway from "../../src/gateway/Gateway.ts"
import * as ServerManager from "../../src/inference/ServerManager.ts"
import * as TestServer from "../inference/TestServer.ts"
import * as TestGateway from "./TestGateway.ts"

type Session = Gateway.Session

/** Two turns by an SDK: the first answer goes back as it came. Gives the text of the second. */
const sdks: { readonly [name: string]: (session: Session) => Promise<string | null | undefined> } = {
  "openai, whole": async ({ apiKey, baseURL }) => {
    const { chat } = new OpenAI({ apiKey, baseURL, maxRetries: 0 })
    const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "Hi" }]
    const { choices } = await chat.completions.create({ model: "any", messages })
    messages.push(choices[0]!.message, { role: "user", content: "And?" })
    return (await chat.completions.create({ model: "any", messages })).choices[0]!.message.content
  },
  "openai, streamed": async ({ apiKey, baseURL }) => {
    const { chat } = new OpenAI({ apiKey, baseURL, maxRetries: 0 })
    const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "Hi" }]
    const { choices } = await chat.completions.stream({ model: "any", messages }).finalChatCompletion()
    messages.push(choices[0]!.message, { role: "user", content: "And?" })
    return (await chat.completions.create({ model: "any", messages })).choices[0]!.message.content
  },
  "openai, responses": async ({ apiKey, baseURL }) => {
    const { responses } = new OpenAI({ apiKey, baseURL, maxRetries: 0 })
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Hi" }]
    const { output } = await responses.create({ model: "any", input })
    input.push(...(output as OpenAI.Responses.ResponseInput), { role: "user", content: "And?" })
    return (await responses.create({ model: "any", input })).output_text
  },
  anthropic: async ({ anthropicBaseURL: baseURL, apiKey }) => {
    const { messages: api } = new Anthropic({ apiKey, baseURL, maxRetries: 0 })
    const messages: Array<Anthropic.MessageParam> = [{ role: "user", content: "Hi" }]
    const { content } = await api.create({ model: "any", max_tokens: 99, messages })
    messages.push({ role: "assistant", content }, { role: "user", content: "And?" })
    const [block] = (await api.create({ model: "any", max_tokens: 99, messages })).content
    return block?.type === "text" ? block.text : ""
  },
  "AI SDK": async ({ apiKey, baseURL }) => {
    const model = createOpenAICompatible({ name: "gateway", apiKey, baseURL })("any")
    const messages: Array<ModelMessage> = [{ role: "user", content: "Hi" }]
    const { response } = await generateText({ model, messages, maxRetries: 0 })
    messages.push(...response.messages, { role: "user", content: "And?" })
    return (await generateText({ model, messages, maxRetries: 0 })).text
  }
}

const answers = {
  "only thought": "<think>\nhm\n</think>\n\n",
  "thought, then blank": "<think>\nhm\n</think>\n\n \n",
  "cut while it thinks": "<think>\nhm",
  "thought, without a word in it": "<think>\n</think>\n\n",
  "thought at length": `<think>\n${"word ".repeat(60)}\n</think>\n\n`,
  empty: "",
  blank: " \n"
}

describe("an answer without words", () => {
  for (const [sdk, converse] of Object.entries(sdks)) {
    for (const [what, answer] of Object.entries(answers)) {
      it.live(`is taken when it is sent back (${sdk}): ${what}`, () =>
        TestGateway.use({ script: [answer, "second"] }, ({ gateway, log }) =>
          Effect.gen(function* () {
            const session = yield* gateway.open()
            assert.strictEqual(yield* Effect.promise(() => converse(session)), "second")
            const trajectories = yield* TestGateway.assertExact(session, log)
            // The AI SDK drops a message that holds nothing.
            const isDropped = sdk === "AI SDK" && ["empty", "thought, without a word in it"].includes(what)
            assert.strictEqual(trajectories.length, isDropped ? 2 : 1)
          })
        )
      )
    }
  }

  const message = { role: "assistant", content: null, reasoning_content: "hm" }
  const ofServers = {
    "only thought": message,
    "only thought, as OpenRouter names it": { ...message, reasoning_content: undefined, reasoning: "hm" },
    empty: { role: "assistant", content: null }
  }
  for (const [what, message] of Object.entries(ofServers)) {
    it.live(`is taken when it is sent back, where a server answered with null: ${what}`, () =>
      Effect.gen(function* () {
        const server = yield* TestServer.make((_, count) =>
          count === 1
            ? { json: { choices: [{ index: 0, finish_reason: "stop", message }] } }
            : TestServer.chatReply(["second"])
        )
        const servers = ServerManager.layer({ servers: [{ baseUrl: server.url }] })
        const context = yield* Layer.build(Layer.provide(Gateway.layer({}), servers))
        const session = yield* Effect.provideContext(Gateway.Gateway, context).pipe(
          Effect.flatMap((gateway) => gateway.open())
        )
        assert.strictEqual(yield* Effect.promise(() => sdks["openai, whole"]!(session)), "second")
        assert.strictEqual((yield* session.recording).sequences.length, 1)
      })
    )
  }

  it.live("is refused where a message has neither content nor anything else", () =>
    TestGateway.use({ script: ["x"] }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const messages = [{ role: "user", content: "Hi" }, { role: "assistant" }]
        const { status, text } = yield* TestGateway.post(`${session.baseURL}/chat/completions`, { messages })
        assert.strictEqual(status, 400)
        assert.include(text, "messages[1].content")
      })
    )
  )
})
