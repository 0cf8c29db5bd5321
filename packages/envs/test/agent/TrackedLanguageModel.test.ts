import { assert, describe, it } from "@effect/vitest"
import { ServerManager, ToolCalls, Trajectory } from "@atropos/core"
import { Effect, Schema, Stream } from "effect"
import { Chat, LanguageModel, Tool, Toolkit } from "effect/ai"
import * as TrackedLanguageModel from "../../src/agent/TrackedLanguageModel.ts"

const Price = Tool.make("price", {
  description: "What a thing costs.",
  parameters: Schema.Struct({ of: Schema.String }),
  success: Schema.Finite
})
const toolkit = Toolkit.make(Price)
const handlers = toolkit.toLayer({ price: ({ of }) => Effect.succeed(of === "bread" ? 3 : 5) })

const call = ToolCalls.writeCall({ name: "price", arguments: { of: "bread" } })

/** Calls the tool, then says what it was told. */
const script: ServerManager.Script = (request) => {
  const told = "messages" in request ? request.messages.findLast(({ role }) => role === "tool")?.content : undefined
  return typeof told === "string" ? `It costs ${told}.` : call
}

const rolledOut = <A, E, R>(agent: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    return yield* TrackedLanguageModel.rollOut(servers, agent, { temperature: 1 })
  }).pipe(Effect.scoped, Effect.provide([ServerManager.layerScripted(script), handlers]))

/** The bytes that are trained on, as text; the end of a turn is none. */
const trained = ({ mask, tokens }: Trajectory.Trajectory) =>
  String.fromCharCode(...Array.from(tokens).filter((token, at) => mask[at] === 1 && token < 256))

describe("TrackedLanguageModel", () => {
  it.effect("an agent of Chat and Toolkit is one sequence, all of whose turns are trained", () =>
    Effect.gen(function* () {
      const { result, trajectories } = yield* rolledOut(
        Effect.gen(function* () {
          const chat = yield* Chat.fromPrompt([{ role: "system", content: "Look prices up." }])
          const first = yield* chat.generateText({ prompt: "What does bread cost?", toolkit })
          assert.deepStrictEqual(
            first.toolResults.map(({ name, result }) => ({ name, result })),
            [{ name: "price", result: 3 }]
          )
          return (yield* chat.generateText({ prompt: [], toolkit })).text
        })
      )
      assert.strictEqual(result, "It costs 3.")
      const [trajectory] = trajectories
      assert.strictEqual(trajectories.length, 1)
      assert.strictEqual(trained(trajectory!), `${call}It costs 3.`)
      assert.deepStrictEqual(
        trajectory!.messages.map(({ role }) => role),
        ["system", "user", "assistant", "tool", "assistant"]
      )
    })
  )

  it.effect("a stream has the same parts", () =>
    Effect.gen(function* () {
      const { result, trajectories } = yield* rolledOut(
        LanguageModel.streamText({ prompt: "What does bread cost?", toolkit }).pipe(
          Stream.map(({ type }) => type),
          Stream.runCollect
        )
      )
      assert.deepStrictEqual(result.toSorted(), ["finish", "tool-call", "tool-result"])
      assert.strictEqual(trained(trajectories[0]!), call)
    })
  )

  it.effect("refuses by name what would change the sampling", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        rolledOut(LanguageModel.generateText({ prompt: "What does bread cost?", toolkit, toolChoice: "required" }))
      )
      assert.match(error.message, /a tool choice that forces a call is not supported/)
    })
  )
})
