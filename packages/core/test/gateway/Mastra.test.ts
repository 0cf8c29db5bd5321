import { assert, describe, it } from "@effect/vitest"
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { Effect } from "effect"
import { z } from "zod"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

const weather = createTool({
  id: "weather",
  description: "The weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => Promise.resolve(city === "Oslo" ? "cold" : "warm")
})

const agentOf = ({ apiKey, baseURL, modelName }: Gateway.Session) =>
  new Agent({
    id: "forecaster",
    name: "forecaster",
    instructions: "Use the tool.",
    model: { id: `gateway/${modelName}`, url: baseURL, apiKey },
    tools: { weather }
  })

describe("the gateway and an agent of Mastra", () => {
  it.live("calls its tools side by side and answers, plain and streamed, with the engine's own ids", () =>
    TestGateway.use(
      {
        script: [
          `${call("weather", { city: "Oslo" })}\n${call("weather", { city: "Rome" })}`,
          "Rome is warm.",
          call("weather", { city: "Oslo" }),
          "Oslo is not."
        ]
      },
      ({ gateway, log }) =>
        Effect.gen(function* () {
          const plain = yield* gateway.open()
          const { steps, text } = yield* Effect.promise(() => agentOf(plain).generate("Where is it warm?"))
          assert.strictEqual(text, "Rome is warm.")
          assert.strictEqual(steps.length, 2)
          assert.strictEqual((yield* assertExact(plain, log)).length, 1)

          const streamed = yield* gateway.open()
          const pieces = yield* Effect.promise(async () => {
            const { textStream } = await agentOf(streamed).stream("Where is it warm?")
            const texts: Array<string> = []
            for await (const piece of textStream) texts.push(piece)
            return texts
          })
          assert.strictEqual(pieces.join(""), "Oslo is not.")
          assert.strictEqual((yield* assertExact(streamed, log.slice(2))).length, 1)
        })
    )
  )
})
