// effect-ai-agent.ts
import { Environment, ServerManager } from "@atropos/core"
import * as TrackedLanguageModel from "@atropos/envs/agent/TrackedLanguageModel"
import { Effect, Schema, Stream } from "effect"
import { Chat, Tool, Toolkit } from "effect/ai"

const stock = new Map([
  ["apples", 12],
  ["pears", 0],
  ["plums", 7]
])

const toolkit = Toolkit.make(
  Tool.make("stock", {
    description: "How many of a fruit are in stock",
    parameters: Schema.Struct({ fruit: Schema.String }),
    success: Schema.Finite
  })
)
const tools = toolkit.toLayer({ stock: ({ fruit }) => Effect.succeed(stock.get(fruit) ?? 0) })

/** The agent: it needs a `LanguageModel`, as any program of effect/ai does. */
const agent = Effect.fn("agent")(function* (question: string) {
  const chat = yield* Chat.empty
  let answer = yield* chat.generateText({ prompt: question, toolkit })
  while (answer.toolResults.length > 0) answer = yield* chat.generateText({ prompt: [], toolkit })
  return answer.text
})

export default Environment.layer("effect-ai-agent", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const rollOut = (fruit: string) =>
      TrackedLanguageModel.rollOut(servers, agent(`How many ${fruit} are there?`), { maxTokens: maxTokenLength }).pipe(
        Effect.scoped,
        Effect.provide(tools)
      )
    return {
      items: (cursor: number) => Stream.fromIterable(Array.from(stock.keys()).slice(cursor)),
      collectTrajectories: Effect.fnUntraced(function* (fruit: string) {
        const runs = yield* Effect.replicateEffect(rollOut(fruit), groupSize, { concurrency: "unbounded" })
        const trajectories = runs.flatMap((run) => run.trajectories)
        const scores = runs.flatMap(({ result, trajectories: own }) =>
          own.map(() => (result.includes(String(stock.get(fruit))) ? 1 : 0))
        )
        return { groups: [{ trajectories, scores, groupOverrides: { group_size: trajectories.length } }] }
      })
    }
  })
)
