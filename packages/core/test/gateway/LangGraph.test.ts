import { assert, describe, it } from "@effect/vitest"
import { tool } from "@langchain/core/tools"
import { createReactAgent } from "@langchain/langgraph/prebuilt"
import { ChatOpenAI } from "@langchain/openai"
import { Effect } from "effect"
import { z } from "zod"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

const weather = tool(({ city }: { readonly city: string }) => (city === "Oslo" ? "cold" : "warm"), {
  name: "weather",
  description: "The weather of a city",
  schema: z.object({ city: z.string() })
})

describe("the gateway and a ReAct agent of LangGraph", () => {
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
          const question = { messages: [{ role: "user", content: "Where is it warm?" }] }
          const agentOf = ({ apiKey, baseURL, modelName }: Gateway.Session) =>
            createReactAgent({
              llm: new ChatOpenAI({ model: modelName, apiKey, configuration: { baseURL } }),
              tools: [weather],
              prompt: "Use the tool."
            })
          const plain = yield* gateway.open()
          const { messages } = yield* Effect.promise(() => agentOf(plain).invoke(question))
          assert.strictEqual(messages.at(-1)?.content, "Rome is warm.")
          assert.strictEqual((yield* assertExact(plain, log)).length, 1)

          const streamed = yield* gateway.open()
          const pieces = yield* Effect.promise(async () => {
            const texts: Array<string> = []
            for await (const [message] of await agentOf(streamed).stream(question, { streamMode: "messages" })) {
              if (message.getType() === "ai") texts.push(message.text)
            }
            return texts
          })
          assert.strictEqual(pieces.join(""), "Oslo is not.")
          assert.strictEqual((yield* assertExact(streamed, log.slice(2))).length, 1)
        })
    )
  )
})
