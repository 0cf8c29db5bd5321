import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { z } from "zod"
import type * as Gateway from "../../src/gateway/Gateway.ts"
import type * as Scripted from "../../src/inference/backend/Scripted.ts"
import * as TestGateway from "./TestGateway.ts"

const { assertExact, call } = TestGateway

/** A runner of the package whose models are a session's. */
const runnerOf = ({ apiKey, baseURL }: Gateway.Session, useResponses: boolean) =>
  new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: new OpenAI({ apiKey, baseURL }), useResponses }),
    tracingDisabled: true
  })

const climates: { readonly [city: string]: string } = { Oslo: "cold", Rome: "warm" }

const weather = tool({
  name: "weather",
  description: "The weather of a city",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => Promise.resolve(climates[city] ?? "unknown")
})

const textOf = (content: unknown): string => (typeof content === "string" ? content : "")

/** What the model is told last, and by whom it believes to be addressed. */
const heard = (request: Scripted.ScriptedRequest): { readonly system: string; readonly last: string } => {
  const messages = "messages" in request ? request.messages : []
  return { system: textOf(messages[0]?.content), last: textOf(messages.at(-1)?.content) }
}

for (const [name, useResponses] of [
  ["Responses", true],
  ["Chat Completions", false]
] as const) {
  describe(`the gateway and @openai/agents over ${name}`, () => {
    const script = [
      `Let me look. ${call("weather", { city: "Oslo" })}\n${call("weather", { city: "Rome" })}`,
      "Cold in Oslo, warm in Rome.",
      call("weather", { city: "Bergen" }),
      "Nobody knows."
    ]
    for (const isStreamed of [false, true]) {
      it.live(`records a run and the next one as one sequence, ${isStreamed ? "streamed" : "plain"}`, () =>
        TestGateway.use({ script }, ({ gateway, log }) =>
          Effect.gen(function* () {
            const session = yield* gateway.open()
            const runner = runnerOf(session, useResponses)
            const agent = new Agent({ name: "forecaster", instructions: "Be brief.", tools: [weather] })
            const ask = async (input: NonNullable<Parameters<typeof runner.run>[1]>) => {
              if (!isStreamed) return runner.run(agent, input)
              const result = await runner.run(agent, input, { stream: true })
              await result.completed
              return result
            }
            const answers = yield* Effect.promise(async () => {
              const first = await ask("Weather in Oslo and Rome?")
              const second = await ask([...first.history, { role: "user", content: "And in Bergen?" }])
              return [first.finalOutput, second.finalOutput]
            })
            assert.deepStrictEqual(answers, ["Cold in Oslo, warm in Rome.", "Nobody knows."])
            assert.strictEqual(log.length, 4)
            assert.strictEqual((yield* assertExact(session, log)).length, 1)
          })
        )
      )
    }

    it.live("makes a sequence of each agent where one hands the chat over to another", () =>
      TestGateway.use(
        {
          script: (request) => {
            const { last, system } = heard(request)
            if (system.startsWith("Find out")) return call("transfer_to_forecaster", {})
            return climates[last] === undefined && !Object.values(climates).includes(last)
              ? call("weather", { city: "Oslo" })
              : `It is ${last}.`
          }
        },
        ({ gateway, log }) =>
          Effect.gen(function* () {
            const session = yield* gateway.open()
            const forecaster = new Agent({
              name: "forecaster",
              instructions: "You know the weather.",
              tools: [weather]
            })
            const desk = new Agent({ name: "desk", instructions: "Find out who can help.", handoffs: [forecaster] })
            const result = yield* Effect.promise(() => runnerOf(session, useResponses).run(desk, "Weather in Oslo?"))
            assert.strictEqual(result.finalOutput, "It is cold.")
            assert.strictEqual(result.lastAgent?.name, "forecaster")
            assert.strictEqual((yield* assertExact(session, log)).length, 2)
          })
      )
    )

    it.live("keeps two agents apart that work at the same time as tools of a third", () =>
      TestGateway.use(
        {
          script: (request) => {
            const { last, system } = heard(request)
            if (system.startsWith("You are in ")) {
              const city = system.slice("You are in ".length)
              return Object.values(climates).includes(last) ? `${city} is ${last}` : call("weather", { city })
            }
            return last.includes(" is ")
              ? "Both were asked."
              : `${call("ask_oslo", { input: "how is it?" })}\n${call("ask_rome", { input: "how is it?" })}`
          }
        },
        ({ gateway, log }) =>
          Effect.gen(function* () {
            const session = yield* gateway.open()
            const runner = runnerOf(session, useResponses)
            const local = (city: string) =>
              new Agent({ name: city, instructions: `You are in ${city}`, tools: [weather] }).asTool({
                toolName: `ask_${city.toLowerCase()}`,
                toolDescription: `Asks somebody in ${city}`,
                runConfig: { modelProvider: runner.config.modelProvider, tracingDisabled: true }
              })
            const desk = new Agent({ name: "desk", instructions: "Ask around.", tools: [local("Oslo"), local("Rome")] })
            const result = yield* Effect.promise(() => runner.run(desk, "Where to go?"))
            assert.strictEqual(result.finalOutput, "Both were asked.")
            assert.strictEqual(log.length, 6)
            assert.strictEqual((yield* assertExact(session, log)).length, 3)
          })
      )
    )
  })
}

describe("the gateway and @openai/agents", () => {
  it.live("go on from the previous response, sending what is new alone", () =>
    TestGateway.use({ script: [call("weather", { city: "Oslo" }), "Cold.", "As ever."] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const runner = runnerOf(session, true)
        const agent = new Agent({ name: "forecaster", instructions: "Be brief.", tools: [weather] })
        const answers = yield* Effect.promise(async () => {
          const first = await runner.run(agent, "Weather in Oslo?")
          const { lastResponseId } = first
          const second = await runner.run(agent, "Really?", { previousResponseId: lastResponseId! })
          return [first.finalOutput, second.finalOutput]
        })
        assert.deepStrictEqual(answers, ["Cold.", "As ever."])
        assert.strictEqual((yield* assertExact(session, log)).length, 1)
      })
    )
  )

  it.live("give a typed output, which the package checks", () =>
    TestGateway.use({ script: ['{"city":"Oslo"}'] }, ({ gateway, log }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        const agent = new Agent({ name: "typist", outputType: z.object({ city: z.string() }) })
        const result = yield* Effect.promise(() => runnerOf(session, true).run(agent, "Where?"))
        assert.deepStrictEqual(result.finalOutput, { city: "Oslo" })
        yield* assertExact(session, log)
      })
    )
  )
})
