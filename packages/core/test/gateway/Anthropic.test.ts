import Anthropic, { APIUserAbortError, BadRequestError, type ClientOptions, NotFoundError } from "@anthropic-ai/sdk"
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import { InferenceError } from "../../src/inference/wire/Inference.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

const client = ({ anthropicBaseURL, apiKey }: Gateway.Session, more: ClientOptions = {}) =>
  new Anthropic({ apiKey, baseURL: anthropicBaseURL, maxRetries: 2, ...more })

const weather: Anthropic.Tool = {
  name: "weather",
  description: "The weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const question = (text: string): Anthropic.MessageParam => ({ role: "user", content: text })
const asked = { model: "any", max_tokens: 256 }

/** What a client does with calls: an answer for each, all in one message. */
const answersTo = (content: ReadonlyArray<Anthropic.ContentBlock>): Anthropic.MessageParam => ({
  role: "user",
  content: content.flatMap((block) =>
    block.type === "tool_use"
      ? [{ type: "tool_result" as const, tool_use_id: block.id, content: JSON.stringify(block.input) }]
      : []
  )
})

const failureOf = (promise: Promise<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    promise.then(
      () => undefined,
      (error: unknown) => error
    )
  )

describe("the gateway and Anthropic's SDK", () => {
  it.live("answers plain and streamed, over several turns, with the engine's own ids", () =>
    TestGateway.use({ script: ["Hello!", "It is sunny.", "Bye."] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const sdk = client(session)
        const messages = [question("Hi")]
        const system = "Be brief."
        const first = yield* Effect.promise(() => sdk.messages.create({ ...asked, system, messages }))
        assert.deepStrictEqual(first.content, [{ type: "text", text: "Hello!", citations: null }])
        assert.strictEqual(first.stop_reason, "end_turn")
        assert.strictEqual(first.model, "any")
        assert.match(first.id, /^msg_\w+$/)
        assert.property(first, "_request_id")
        assert.isAbove(first.usage.input_tokens, 0)
        assert.strictEqual(first.usage.output_tokens, log[0]?.tokens.length)
        messages.push({ role: "assistant", content: first.content }, question("And the weather?"))
        const streamed = yield* Effect.promise(async () => {
          const stream = sdk.messages.stream({ ...asked, system, messages })
          const texts: Array<string> = []
          stream.on("text", (text) => texts.push(text))
          return { message: await stream.finalMessage(), text: texts.join("") }
        })
        assert.strictEqual(streamed.text, "It is sunny.")
        assert.strictEqual(streamed.message.usage.output_tokens, log[1]?.tokens.length)
        messages.push({ role: "assistant", content: streamed.message.content }, question("Thanks"))
        const types = yield* Effect.promise(async () => {
          const seen: Array<string> = []
          for await (const event of await sdk.messages.create({ ...asked, system, messages, stream: true })) {
            // As many deltas as there were tokens.
            if (seen.at(-1) !== event.type) seen.push(event.type)
          }
          return seen
        })
        assert.deepStrictEqual(types, [
          "message_start",
          "content_block_start",
          "content_block_delta",
          "content_block_stop",
          "message_delta",
          "message_stop"
        ])
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
      })
    )
  )

  it.live("runs a loop with parallel tools and thinking, whose answers are recognised when they come back", () =>
    TestGateway.use(
      {
        script: [
          `<think>Both.</think>Let me look. ${call("weather", { city: "Oslo", days: 1.5 })}\n${call("weather", { city: "Rome" })}`,
          call("weather", { city: "Paris", nested: { b: [1, 2], a: null } }),
          "Rome is warm."
        ]
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          for (const isStreamed of [false, true]) {
            const session = yield* gateway.open()
            const from = log.length
            const sdk = client(session)
            const messages = [question("Where is it warm?")]
            const reasons: Array<string | null> = []
            const kinds: Array<ReadonlyArray<string>> = []
            for (let turn = 0; turn < 3; turn++) {
              const request = { ...asked, messages, tools: [weather] }
              const answer = yield* Effect.promise(() =>
                isStreamed ? sdk.messages.stream(request).finalMessage() : sdk.messages.create(request)
              )
              reasons.push(answer.stop_reason)
              kinds.push(answer.content.map(({ type }) => type))
              messages.push({ role: "assistant", content: answer.content })
              if (answer.stop_reason === "tool_use") messages.push(answersTo(answer.content))
            }
            assert.deepStrictEqual(reasons, ["tool_use", "tool_use", "end_turn"])
            assert.deepStrictEqual(kinds, [["thinking", "text", "tool_use", "tool_use"], ["tool_use"], ["text"]])
            assert.strictEqual((yield* assertExact(session, log.slice(from))).length, 1)
            assert.include(yield* session.counts, { extended: 2, rewritten: 0, branched: 0 })
          }
        })
    )
  )

  it.live("runs the SDK's own tool runner, plain and streamed", () =>
    TestGateway.use(
      {
        script: [`${call("weather", { city: "Oslo" })}\n${call("weather", { city: "Rome" })}`, "Rome is warm."]
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const tool = betaTool({
            ...weather,
            inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
            description: "The weather of a city",
            run: ({ city }) => (city === "Oslo" ? "cold" : "warm")
          })
          for (const stream of [false, true]) {
            const session = yield* gateway.open()
            const from = log.length
            const message = yield* Effect.promise(async () => {
              const runner = client(session).beta.messages.toolRunner({
                ...asked,
                messages: [{ role: "user", content: "Where is it warm?" }],
                tools: [tool],
                stream
              })
              return await runner.runUntilDone()
            })
            assert.deepInclude(message.content[0], { type: "text", text: "Rome is warm." })
            assert.strictEqual((yield* assertExact(session, log.slice(from))).length, 1)
          }
        })
    )
  )

  it.live("goes on with an answer that the client began", () =>
    TestGateway.use({ script: [" Helios.", "Yes."] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const sdk = client(session)
        const prefill: Anthropic.MessageParam = { role: "assistant", content: "The name is" }
        const messages = [question("The Greek sun?"), prefill]
        const { content } = yield* Effect.promise(() => sdk.messages.create({ ...asked, messages }))
        assert.deepInclude(content[0], { text: " Helios." })
        messages.push({ role: "assistant", content }, question("Sure?"))
        yield* Effect.promise(() => sdk.messages.create({ ...asked, messages }))
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
      })
    )
  )

  it.live("tells which stop sequence ended an answer, and what was cut off", () =>
    TestGateway.use({ script: ["1, 2, END, 4", "Twice.", "a long answer that is cut off"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const sdk = client(session)
        const messages = [question("Count.")]
        const cut = yield* Effect.promise(() =>
          sdk.messages.create({ ...asked, messages, stop_sequences: ["STOP", "END"] })
        )
        assert.include(cut, { stop_reason: "stop_sequence", stop_sequence: "END" })
        assert.deepInclude(cut.content[0], { text: "1, 2, " })
        messages.push({ role: "assistant", content: cut.content }, question("Again?"))
        yield* Effect.promise(() => sdk.messages.create({ ...asked, messages }))
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
        const short = yield* Effect.promise(() => sdk.messages.create({ ...asked, messages, max_tokens: 4 }))
        assert.include(short, { stop_reason: "max_tokens", stop_sequence: null })
      })
    )
  )

  it.live("counts the tokens of a prompt without sampling", () =>
    TestGateway.use({ script: ["Hello!"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const sdk = client(yield* gateway.open())
        const request = { model: "any", system: "Be brief.", messages: [question("Hi")], tools: [weather] }
        const { input_tokens: counted } = yield* Effect.promise(() => sdk.messages.countTokens(request))
        assert.strictEqual(log.length, 0)
        const { usage } = yield* Effect.promise(() => sdk.messages.create({ ...asked, ...request }))
        assert.strictEqual(counted, usage.input_tokens)
        assert.strictEqual(counted, log[0]?.inputIds.length)
      })
    )
  )

  it.live("tells mistakes in Anthropic's form, which the SDK does not repeat", () =>
    TestGateway.use({ script: ["unused"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const sdk = client(session)
        const tools = [{ type: "bash_20250124" as const, name: "bash" as const }]
        const refused = yield* failureOf(sdk.messages.create({ ...asked, messages: [question("Hi")], tools }))
        if (!(refused instanceof BadRequestError)) return assert.fail(String(refused))
        assert.strictEqual(refused.type, "invalid_request_error")
        assert.include(refused.apiMessage ?? "", "tools.0")
        const nowhere = client(session, { baseURL: `${gateway.url}/s/none` })
        const lost = yield* failureOf(nowhere.messages.create({ ...asked, messages: [question("Hi")] }))
        if (!(lost instanceof NotFoundError)) return assert.fail(String(lost))
        assert.strictEqual(lost.type, "not_found_error")
        assert.strictEqual(log.length, 0)
      })
    )
  )

  it.live("is asked again after a failure of the server, and trains the answer once", () => {
    let count = 0
    const script = () =>
      count++ === 0
        ? Effect.fail(new InferenceError({ reason: "failed", server: "scripted", message: "broken" }))
        : Effect.succeed("Hello!")
    return TestGateway.use({ script }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const { content } = yield* Effect.promise(() =>
          client(session).messages.create({ ...asked, messages: [question("Hi")] })
        )
        assert.deepInclude(content[0], { text: "Hello!" })
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
      })
    )
  })

  it.live("forgets a stream that the client gave up, and loses nothing else", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      let count = 0
      const script = () =>
        count++ === 0 ? Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) : Effect.succeed("Hello!")
      yield* TestGateway.use({ script }, ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const sdk = client(session)
          const stream = sdk.messages.stream({ ...asked, messages: [question("Hi")] })
          const ended = yield* Effect.forkChild(failureOf(stream.done()))
          yield* Deferred.await(reached)
          stream.abort()
          assert.instanceOf(yield* Fiber.join(ended), APIUserAbortError)
          const { content } = yield* Effect.promise(() => sdk.messages.create({ ...asked, messages: [question("Hi")] }))
          assert.deepInclude(content[0], { text: "Hello!" })
          assert.strictEqual((yield* assertExact(session, log)).length, 1)
        })
      )
    })
  )

  it.live("keeps sub-agents that run at the same time apart", () =>
    TestGateway.use({ script: ["One.", "Two.", "Three.", "Four."] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const sdk = client(session)
        const agent = async (system: string) => {
          const messages = [question("Go")]
          for (let turn = 0; turn < 2; turn++) {
            const { content } = await sdk.messages.create({ ...asked, system, messages })
            messages.push({ role: "assistant", content }, question("On"))
          }
        }
        yield* Effect.promise(() => Promise.all([agent("You search."), agent("You write.")]))
        assert.strictEqual((yield* assertExact(session, log)).length, 2)
      })
    )
  )
})
