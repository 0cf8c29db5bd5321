/** What examples say: lines that one prints, and rollouts of one whose policy says what it is told to. */
import { Dataset, Environment, Message, ServerManager, ToolCalls } from "@atropos/core"
import { Effect, Layer, Option, References, Stream } from "effect"
import { TestConsole } from "effect/testing"
import * as AiSdkAgent from "../17-ai-sdk-agent.ts"
import type * as CalculatorAgent from "../19-calculator-agent.ts"

/** The lines that a program prints. */
export const printed = <E>(program: Effect.Effect<unknown, E>) =>
  Effect.andThen(program, TestConsole.logLines).pipe(
    Effect.map((lines) => lines.map(String)),
    Effect.provideService(References.MinimumLogLevel, "None")
  )

/** A policy that answers this. */
export type Say = (request: ServerManager.ChatRequest) => string

/** A group of an agent, with such a policy. */
export const rolledOut = (agent: typeof AiSdkAgent.default | typeof CalculatorAgent.default, say: Say) =>
  Effect.gen(function* () {
    const { groups } = yield* Environment.Environment
    return Option.getOrThrow(yield* Stream.runHead(groups))
  }).pipe(
    Effect.provide(
      agent({ groupSize: 2 }).pipe(
        Layer.provide([
          ServerManager.layerScripted((request) => ("prompt" in request ? "" : say(request))),
          Dataset.layerMemory({})
        ])
      )
    )
  )

/** Looks the price up that it is asked for, and says it. */
export const sayPrice: Say = ({ messages }) => {
  const last = messages.at(-1)!
  return last.role === "tool" ? Message.text(last) : AiSdkAgent.call(Message.text(messages[0]!)[0]!)
}

const calculation = (sum: string) => ToolCalls.writeCall({ name: "calculator", arguments: { sum } })

/** Calls the calculator twice, the second time with what the first gave, and says what comes to this. */
export const calculateTwice =
  (answer: number): Say =>
  ({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").map((one) => Message.text(one))
    if (results.length === 0) return calculation("1+2x3")
    if (results.length === 1) return calculation(`${results[0]}-7+${answer}`)
    return `The answer is \\boxed{${results[1]}}.`
  }

const paid = /(\w+) is paid (\d+) coins|(\w+): (\d+)/g

/** Replies with the sums of all that it was shown, and to the question with the sum of one person. */
export const keepSums: Say = ({ messages }) => {
  const shown = messages.filter(({ role }) => role === "user").map(Message.text)
  const sums = new Map<string, number>()
  for (const [, person, coins, summed, sum] of shown.join("\n").matchAll(paid)) {
    const name = person ?? summed!
    sums.set(name, (sums.get(name) ?? 0) + Number(coins ?? sum))
  }
  const [, wanted] = /How many coins is (\w+)/.exec(shown.at(-1)!) ?? []
  return wanted === undefined
    ? Array.from(sums, ([name, sum]) => `${name}: ${sum}`).join(", ")
    : String(sums.get(wanted) ?? 0)
}
