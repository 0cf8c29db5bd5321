import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { generateObject, generateText, NoObjectGeneratedError, stepCountIs, streamText, tool } from "ai"
import { Effect } from "effect"
import { z } from "zod"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

const model = ({ apiKey, baseURL, modelName }: Gateway.Session, more: object = {}) =>
  createOpenAICompatible({ name: "gateway", apiKey, baseURL, ...more })(modelName)

const weather = tool({
  description: "The weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => Promise.resolve(city === "Oslo" ? "cold" : "warm")
})

describe("the gateway and the AI SDK with its openai-compatible provider", () => {
  it.live("runs an agent of several steps with parallel tools, and its ids are the engine's", () =>
    TestGateway.use(
      {
        script: [
          `${call("weather", { city: "Oslo" })}\n${call("weather", { city: "Rome" })}`,
          `And Paris. ${call("weather", { city: "Paris" })}`,
          "Rome and Paris are warm."
        ]
      },
      ({ gateway, log }) =>
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
            ["cold", "warm", "warm"]
          )
          assert.strictEqual((yield* assertExact(session, log)).length, 1)
        })
    )
  )

  it.live("streams text and tool calls", () =>
    TestGateway.use({ script: [call("weather", { city: "Oslo" }), "It is cold in Oslo."] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const text = yield* Effect.promise(async () => {
          const { textStream } = streamText({
            model: model(session, { includeUsage: true }),
            prompt: "Is it cold in Oslo?",
            tools: { weather },
            stopWhen: stepCountIs(5)
          })
          const pieces: Array<string> = []
          for await (const piece of textStream) pieces.push(piece)
          return pieces.join("")
        })
        assert.strictEqual(text, "It is cold in Oslo.")
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
      })
    )
  )

  it.live("lets generateObject check what the model wrote of itself, and counts what is not enforced", () =>
    TestGateway.use({ script: ['{"city": "Oslo", "degrees": -3}', "no object"] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const schema = z.object({ city: z.string(), degrees: z.number() })
        const ask = () =>
          generateObject({ model: model(session, { supportsStructuredOutputs: true }), schema, prompt: "Oslo?" })
        const { object } = yield* Effect.promise(ask)
        assert.deepStrictEqual(object, { city: "Oslo", degrees: -3 })
        const failure = yield* Effect.promise(() =>
          ask().then(
            () => undefined,
            (error: unknown) => error
          )
        )
        assert.isTrue(NoObjectGeneratedError.isInstance(failure))
        yield* assertExact(session, log)
        assert.deepStrictEqual((yield* session.counts).ignored, { response_format: 2 })
      })
    )
  )
})
