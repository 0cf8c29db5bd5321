/**
 * Tools: the model looks up prices before it answers, and each of its turns gets its own credit.
 *
 * A tool's failure (`ToolError`) is shown to the model, which may retry; calls, turns and time are bounded. Run it:
 * `npx node --conditions=atropos-src examples/16-tools.ts`.
 */
import { Environment, Message, ServerManager, ToolCalls, type Trajectory } from "@atropos/core"
import { Tool, Toolbox, ToolEpisode } from "@atropos/envs"
import { Console, Effect, Layer, Schema, Stream } from "effect"

const prices = new Map([
  ["bread", 3],
  ["butter", 5],
  ["cheese", 9]
])
const goods = Array.from(prices.keys())

const price = Tool.make({
  name: "price",
  description: "What a thing costs.",
  parameters: Schema.Struct({ thing: Schema.String }),
  run: ({ thing }) =>
    prices.has(thing)
      ? Effect.succeed(String(prices.get(thing)))
      : Effect.fail(new Tool.ToolError({ message: `there is no ${thing}; there are: ${goods.join(", ")}` }))
})
const toolbox = Toolbox.make([price])

export const layer = Environment.layer("shopping", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
  Effect.succeed({
    items: (cursor: number) => Stream.fromIterable(goods.slice(cursor)),
    collectTrajectories: (thing: string) =>
      ToolEpisode.playGroup(toolbox, [Message.user(`What do two of ${thing} cost? Look it up, then say the number.`)], {
        count: groupSize,
        limits: { turns: 4, calls: 4, seconds: 30 },
        maxTokens: maxTokenLength,
        // The episodes' seeds count up from here.
        seed: groupSize * goods.indexOf(thing)
      }),
    // 1 for the right number, plus advantages: of each turn by its calls, and of all by the outcome.
    score: (thing: string, group: ReadonlyArray<Trajectory.Trajectory>) =>
      Effect.succeed(
        ToolEpisode.scored(
          group,
          group.map(({ completion }) => (completion.trim() === String(2 * prices.get(thing)!) ? 1 : 0))
        )
      )
  })
)

/** A call as models write it. */
const call = (thing: string) => ToolCalls.writeCall({ name: "price", arguments: { thing } })

/**
 * Scripted by the chat so far: one player looks up the requested product, the other one that does not exist, and
 * guesses.
 */
const player = ServerManager.layerScripted((request) => {
  const messages = "messages" in request ? request.messages : []
  const heard = messages.findLast(({ role }) => role === "tool")
  if (heard === undefined) return call((request.seed ?? 0) % 2 === 0 ? "bread" : "milk")
  const told = Number(Message.text(heard))
  return Number.isFinite(told) ? String(2 * told) : "8"
})

/** The advantage of each turn: equal at all its tokens, 0 at those between turns. */
const ofTurns = (advantages: ArrayLike<number>) =>
  Array.from(advantages).filter((value, at, all) => value !== 0 && value !== all[at - 1])

/** Prints the scores of the first group, and the advantages of its episodes turn by turn. */
export const program = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  yield* Stream.runForEach(Stream.take(groups, 1), ({ advantages = [], scores }) =>
    Effect.forEach(scores, (score, index) =>
      Console.log(
        `score ${score}, advantages ${ofTurns(advantages[index] ?? [])
          .map((one) => one.toFixed(1))
          .join(" ")}`
      )
    )
  )
}).pipe(Effect.provide(layer({ groupSize: 2 }).pipe(Layer.provide(player))))

if (import.meta.main) await Effect.runPromise(program)
