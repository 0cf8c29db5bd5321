/**
 * Step-wise groups: at every turn of a game several moves are tried from the same state, compared, and the best one is
 * played.
 *
 * The game: add 1, 2 or 3 until the sum is exactly 10. Each turn is a group, whose scores are its moves' advantages r +
 * V(s') - V(s), with V the probability of winning by random moves. Run it: `npx node --conditions=atropos-src
 * examples/10-step-wise.ts`.
 */
import { Environment, Message, ServerManager } from "@atropos/core"
import { Episode } from "@atropos/envs"
import { Console, Effect, Layer, Stream } from "effect"

const goal = 10
const outcome = (sum: number): number => (sum === goal ? 1 : -1)

/** The value of a sum: the mean over the possible moves. */
const value = (sum: number): number =>
  sum >= goal ? outcome(sum) : [1, 2, 3].reduce((total, move) => total + value(sum + move) / 3, 0)

const game: Episode.Game<number> & { readonly value: typeof value } = {
  opening: (sum) => [
    Message.user(`The sum is ${sum}. Add 1, 2 or 3 to come to exactly ${goal}; say the number alone.`)
  ],
  step: (sum, answer) => {
    const move = /^[123]$/.test(answer.trim()) ? Number(answer) : undefined
    // An invalid move ends the game, and costs as much as losing it.
    const state = move === undefined ? goal + 1 : sum + move
    const isOver = state >= goal
    return { state, isOver, reward: isOver ? outcome(state) : 0, observation: `The sum is ${state}.` }
  },
  value,
  maxTurns: goal
}

export const layer = Environment.layer("exactly-ten", Environment.settings({}), ({ groupSize }) =>
  Effect.map(ServerManager.ServerManager, () => ({
    items: (cursor: number) => Stream.range(cursor, 9),
    // The groups have their scores, so there is no `score`.
    collectTrajectories: (start: number) =>
      Effect.map(Episode.alternatives(game, start, { n: groupSize, historyTurns: 4, maxTokens: 8 }), (groups) => ({
        groups
      }))
  }))
)

/** Prints the advantages of each turn's moves, in a game that starts at 5. */
export const program = Effect.gen(function* () {
  const { work } = yield* Environment.Environment
  const [item] = yield* Stream.runCollect(Stream.take(work(5), 1))
  const { groups } = yield* item!.rollOut
  for (const { scores } of groups) yield* Console.log(Array.from(scores, (score) => score.toFixed(2)).join("  "))
}).pipe(
  Effect.provide(layer({ groupSize: 4 }).pipe(Layer.provideMerge(ServerManager.layerScripted(["1", "2", "3", "4"]))))
)

if (import.meta.main) await Effect.runPromise(program)
