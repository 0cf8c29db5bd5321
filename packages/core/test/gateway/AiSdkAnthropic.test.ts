import { createAnthropic } from "@ai-sdk/anthropic"
import { assert, describe, it } from "@effect/vitest"
import { generateObject, generateText, type ModelMessage, stepCountIs, streamText, tool } from "ai"
import { Effect } from "effect"
import { z } from "zod"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

const model = ({ apiKey, baseURL, modelName }: Gateway.Session, name = modelName) =>
  createAnthropic({ apiKey, baseURL })(name)

const weather = tool({
  description: "The weather of a city",
  inputSchema: z.object({ city: z.string(), days: z.number().optional() }),
  execute: ({ city }) => Promise.resolve({ city, is: city === "Oslo" ? "cold" : "warm" })
})

const failureOf = (asked: PromiseLike<unknown>) =>
  Effect.promise(() =>
    asked.then(
      () => "",
      (error: unknown) => String(error)
    )
  )

/** Thinking, parallel calls, a step with words before its call, and an answer. */
const script = [
  `<think>Two cities.</think>${call("weather", { city: "Oslo", days: 1.5 })}\n${call("weather", { city: "Rome" })}`,
  `And Paris.\n\n${call("weather", { city: "Paris" })}`,
  "Rome and Paris are warm."
]

describe("the gateway and the AI SDK with its anthropic provider", () => {
  it.live("runs an agent of several steps with parallel tools, and its ids are the engine's", () =>
    TestGateway.use({ script }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const result = yield* Effect.promise(() =>
          generateText({
            model: model(session),
            system: "Answer with the tool.",
            prompt: "Where is it warm?",
            tools: { weather },
            stopWhen: stepCountIs(5)
          })
        )
        assert.strictEqual(result.text, "Rome and Paris are warm.")
        assert.strictEqual(result.steps.length, 3)
        assert.deepStrictEqual(
          result.steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output)),
          [
            { city: "Oslo", is: "cold" },
            { city: "Rome", is: "warm" },
            { city: "Paris", is: "warm" }
          ]
        )
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
      })
    )
  )

  it.live("streams text and tool calls, and goes on in a second turn", () =>
    TestGateway.use({ script: [...script, "No."] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const messages: Array<ModelMessage> = [{ role: "user", content: "Where is it warm?" }]
        const ask = async () => {
          const answer = streamText({ model: model(session), messages, tools: { weather }, stopWhen: stepCountIs(5) })
          const pieces: Array<string> = []
          for await (const piece of answer.textStream) pieces.push(piece)
          messages.push(...(await answer.responseMessages))
          return pieces.join("")
        }
        assert.include(yield* Effect.promise(ask), "Rome and Paris are warm.")
        messages.push({ role: "user", content: "And Oslo?" })
        assert.strictEqual(yield* Effect.promise(ask), "No.")
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
      })
    )
  )

  it.live("lets generateObject check what the model wrote of itself, and counts what is not enforced", () =>
    TestGateway.use(
      { script: ['{"city": "Oslo", "degrees": -3}', '{"city": "Rome", "degrees": 21}'] },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const session = yield* gateway.open()
          const schema = z.object({ city: z.string(), degrees: z.number() })
          const providerOptions = { anthropic: { structuredOutputMode: "outputFormat" } }
          const ask = (name: string, prompt: string) =>
            Effect.promise(() => generateObject({ model: model(session, name), schema, prompt, providerOptions }))
          assert.deepStrictEqual((yield* ask("claude-sonnet-4-5", "Oslo?")).object, { city: "Oslo", degrees: -3 })
          assert.deepStrictEqual((yield* ask(session.modelName, "Rome?")).object, { city: "Rome", degrees: 21 })
          yield* assertExact(session, log)
          assert.deepStrictEqual((yield* session.counts).ignored, { "output_config.format": 2 })
        })
    )
  )

  it.live("leaves it to the model whether it makes a call that is forced, and counts that", () =>
    TestGateway.use({ script: ["No call.", call("json", { city: "Oslo" })] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const request = { model: model(session), prompt: "Hi" }
        const forced = generateText({ ...request, tools: { weather }, toolChoice: "required" })
        // The package itself sees that there is none.
        assert.match(yield* failureOf(forced), /did not contain a tool call/)
        // The provider forces a tool of its own on models that it does not know.
        const { object } = yield* Effect.promise(() =>
          generateObject({ ...request, schema: z.object({ city: z.string() }) })
        )
        assert.deepStrictEqual(object, { city: "Oslo" })
        assert.deepStrictEqual((yield* session.counts).ignored, {
          tool_choice: 2,
          "tool_choice.disable_parallel_tool_use": 1
        })
        yield* assertExact(session, log)
      })
    )
  )
})
