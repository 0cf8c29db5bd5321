import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import OpenAI, { BadRequestError, NotFoundError } from "openai"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import { InferenceError } from "../../src/inference/wire/Inference.ts"
import { text as textOf } from "../../src/trajectory/Message.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

const client = ({ apiKey, baseURL }: Gateway.Session) => new OpenAI({ apiKey, baseURL, maxRetries: 2 })

const weather: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
}

const failing = (openai: OpenAI, more: object) =>
  Effect.promise(() =>
    openai.chat.completions.create({ model: "any", messages: [{ role: "user", content: "Hi" }], ...more }).then(
      () => assert.fail("it was answered"),
      (error: unknown) => error
    )
  )

describe("the gateway and the openai package", () => {
  it.live("answers a chat, plain and streamed, over several turns, with the engine's own ids", () =>
    TestGateway.use({ script: ["Hello!", "It is sunny.", "Bye."] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const openai = client(session)
        const messages: Array<OpenAI.ChatCompletionMessageParam> = [
          { role: "developer", content: "Be brief." },
          { role: "user", content: [{ type: "text", text: "Hi" }] }
        ]
        const first = yield* Effect.promise(() => openai.chat.completions.create({ model: "any", messages }))
        assert.strictEqual(first.choices[0]?.message.content, "Hello!")
        assert.strictEqual(first.choices[0]?.finish_reason, "stop")
        assert.strictEqual(first.model, "any")
        assert.match(first.id, /^chatcmpl-\w+$/)
        messages.push(first.choices[0]!.message, { role: "user", content: "And the weather?" })
        const texts = yield* Effect.promise(async () => {
          const stream = await openai.chat.completions.create({
            model: "any",
            messages,
            stream: true,
            stream_options: { include_usage: true }
          })
          const deltas: Array<string> = []
          let usage: OpenAI.CompletionUsage | null | undefined
          for await (const chunk of stream) {
            deltas.push(chunk.choices[0]?.delta.content ?? "")
            usage = chunk.usage
          }
          assert.strictEqual(usage?.total_tokens, usage!.prompt_tokens + usage!.completion_tokens)
          return deltas.join("")
        })
        assert.strictEqual(texts, "It is sunny.")
        messages.push({ role: "assistant", content: texts }, { role: "user", content: "Thanks" })
        const last = yield* Effect.promise(() =>
          openai.chat.completions.stream({ model: "any", messages }).finalChatCompletion()
        )
        assert.strictEqual(last.choices[0]?.message.content, "Bye.")
        const trajectories = yield* assertExact(session, log)
        assert.strictEqual(trajectories.length, 1)
        assert.deepStrictEqual(
          (yield* session.messages).map(({ role }) => role),
          ["system", "user", "assistant", "user", "assistant", "user", "assistant"]
        )
      })
    )
  )

  it.live("gives parallel tool calls, and runTools goes on with their results", () =>
    TestGateway.use(
      {
        script: [
          `Let me look. ${call("weather", { city: "Oslo" })}\n${call("weather", { city: "Rome" })}`,
          "Cold in Oslo, warm in Rome."
        ]
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const asked: Array<string> = []
          const runner = client(session).chat.completions.runTools({
            model: "any",
            stream: true,
            messages: [{ role: "user", content: "Weather in Oslo and Rome?" }],
            tools: [
              {
                type: "function",
                function: {
                  name: "weather",
                  description: "The weather of a city",
                  parameters: { type: "object", properties: { city: { type: "string" } } },
                  parse: (text: string) => JSON.parse(text) as { readonly city: string },
                  function: ({ city }: { readonly city: string }) => {
                    asked.push(city)
                    return city === "Oslo" ? "cold" : "warm"
                  }
                }
              }
            ]
          })
          const content = yield* Effect.promise(() => runner.finalContent())
          assert.strictEqual(content, "Cold in Oslo, warm in Rome.")
          assert.deepStrictEqual(asked, ["Oslo", "Rome"])
          assert.strictEqual((yield* assertExact(session, log)).length, 1)
        })
    )
  )

  it.live("asks again after a 500, as the package does, and records the answer alone", () => {
    let asked = 0
    return TestGateway.use(
      {
        script: () =>
          asked++ === 0
            ? Effect.fail(new InferenceError({ reason: "failed", server: "scripted", message: "out of memory" }))
            : Effect.succeed("now it works")
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const openai = client(session)
          const answer = yield* Effect.promise(async () => {
            const stream = await openai.chat.completions.create({
              model: "any",
              messages: [{ role: "user", content: "Hi" }],
              stream: true
            })
            let text = ""
            for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ""
            return text
          })
          assert.strictEqual(answer, "now it works")
          assert.strictEqual(asked, 2)
          assert.strictEqual((yield* assertExact(session, log)).length, 1)
          assert.deepStrictEqual((yield* session.counts).failed, { failed: 1 })
          assert.deepStrictEqual(
            (yield* session.failures).map(({ message }) => message),
            ["out of memory"]
          )
        })
    )
  })

  it.live("ends the sampling of a request that is aborted", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const script = () =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        )
      yield* TestGateway.use({ script }, ({ gateway }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const asking = yield* Effect.forkChild(
            Effect.tryPromise((signal) =>
              client(session).chat.completions.create(
                { model: "any", messages: [{ role: "user", content: "Hi" }], stream: true },
                { signal }
              )
            )
          )
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(asking)
          yield* Deferred.await(ended)
          assert.strictEqual((yield* session.trajectories).length, 0)
          // The request itself ends after its sampling.
          yield* session.counts.pipe(
            Effect.tap(Effect.yieldNow),
            Effect.repeat({ until: ({ cancelled }) => cancelled === 1 })
          )
        })
      )
    })
  )

  it.live("keeps two sub-agents at once and a compacted history apart, each with its own ids", () =>
    TestGateway.use(
      {
        script: (request) => {
          const chat = "messages" in request ? request.messages : []
          return `${chat.slice(0, 1).map(textOf).join("")} answers ${chat.length}`
        }
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const openai = client(session)
          const agent = (instructions: string) =>
            Effect.promise(async () => {
              const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "system", content: instructions }]
              for (let turn = 0; turn < 3; turn++) {
                messages.push({ role: "user", content: `Question ${turn}` })
                const { choices } = await openai.chat.completions.create({ model: "any", messages })
                messages.push(choices[0]!.message)
              }
              return messages
            })
          const [planner] = yield* Effect.all([agent("Planner"), agent("Coder")], { concurrency: 2 })
          const compacted: Array<OpenAI.ChatCompletionMessageParam> = [
            planner[0]!,
            { role: "user", content: "So far: three questions were answered." },
            { role: "assistant", content: "I know." },
            { role: "user", content: "Go on" }
          ]
          yield* Effect.promise(() => openai.chat.completions.create({ model: "any", messages: compacted }))
          const trajectories = yield* assertExact(session, log)
          assert.deepStrictEqual(trajectories.map(({ completion }) => completion).toSorted(), [
            "Coder answers 6",
            "Planner answers 4",
            "Planner answers 6"
          ])
          const { extended, rewritten, started } = yield* session.counts
          assert.strictEqual(extended, 4)
          assert.isAtLeast(started + rewritten, 3)
        })
    )
  )

  it.live("turns failures into the package's own errors, with what is right", () =>
    TestGateway.use({ script: ["yes"] }, ({ gateway }) =>
      Effect.gen(function* () {
        const open = yield* Effect.scoped(gateway.open())
        const session = yield* gateway.open()
        const closed = yield* failing(client(open), {})
        assert.instanceOf(closed, NotFoundError)
        assert.match(closed.message, /this session has ended/)
        const unknown = yield* failing(client({ ...session, baseURL: `${gateway.url}/s/none/v1` }), {})
        assert.instanceOf(unknown, NotFoundError)
        assert.match(unknown.message, /base URL of an open session/)
        for (const [parameter, value] of [
          ["logit_bias", { 5: 101 }],
          ["presence_penalty", 2.5],
          ["tool_choice", "whatever"],
          ["parallel_tool_calls", "no"],
          ["logprobs", true],
          ["ignore_eos", true],
          ["topP", 0.5]
        ] as const) {
          const refused: unknown = yield* failing(client(session), { tools: [weather], [parameter]: value })
          assert.instanceOf(refused, BadRequestError)
          assert.strictEqual(refused.param, parameter)
        }
        const allowed = { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [weather] } }
        const some: unknown = yield* failing(client(session), { tools: [weather], tool_choice: allowed })
        assert.instanceOf(some, BadRequestError)
        assert.strictEqual(some.code, "unsupported_parameter")
        assert.match(some.message, /allowed_tools is not supported: send the allowed tools alone in tools/)
        assert.strictEqual((yield* session.trajectories).length, 0)
      })
    )
  )
})
