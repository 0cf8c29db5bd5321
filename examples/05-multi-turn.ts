/**
 * A game of several turns: guess a number in at most four guesses, with the reply "higher" or "lower" after each.
 *
 * Every game is a tracked session: all its answers are one sequence, with the exact sampled tokens and logprobs, and
 * only they are trained on. Run it: `npx node --conditions=atropos-src examples/05-multi-turn.ts`.
 */
import { Environment, Message, ServerManager, Trajectory } from "@atropos/core"
import { Budget } from "@atropos/envs"
import { Console, Effect, Layer, Option, Schema, Stream } from "effect"

const settings = Environment.settings({ turns: Environment.field(Schema.Int, 4, "guesses per game") })

export const layer = Environment.layer("guess", settings, ({ groupSize, maxTokenLength, turns }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager

    const play = Effect.fn("Guess.play")(function* (secret: number) {
      const session = yield* servers.tracked()
      // Ends the game after its turns, or at the trainer's maximum sequence length.
      const budget = yield* Budget.make({ turns })
      const messages = [Message.user("Guess my number from 1 to 15. Say nothing but the number.")]
      for (;;) {
        const answer = Option.getOrUndefined(yield* budget.turn(session, { messages, maxTokens: maxTokenLength }))
        if (answer === undefined) break
        messages.push(answer.message)
        const guess = Number(answer.text)
        if (guess === secret) break
        messages.push(Message.user(guess < secret ? "higher" : "lower"))
      }
      return yield* session.trajectories
    }, Effect.scoped)

    return {
      items: (cursor: number) => Stream.range(cursor, 14).pipe(Stream.map((index) => index + 1)),
      collectTrajectories: (secret: number) =>
        Effect.replicateEffect(play(secret), groupSize, { concurrency: "unbounded" }).pipe(
          Effect.map((all) => all.flat())
        ),
      score: (secret: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(
          group.map(({ completion, messages }) => (Number(completion) === secret ? 2 / messages.length : 0))
        )
    }
  })
)

/** Starts at 8 and moves by 4, 2 and 1. */
const halving = (request: ServerManager.ScriptedRequest): string => {
  const told = ("messages" in request ? request.messages : []).filter(({ role }) => role === "user").slice(1)
  return String(told.reduce((guess, { content }, index) => guess + (content === "higher" ? 4 : -4) / 2 ** index, 8))
}

/** Prints the results of the first four games. */
export const program = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  yield* Stream.runForEach(Stream.take(groups, 4), ({ masks: [mask], scores: [score] }) =>
    Console.log(`score ${score!.toFixed(2)}, ${Trajectory.trainedTokens({ mask: mask! })} tokens trained`)
  )
}).pipe(Effect.provide(layer({ groupSize: 2 }).pipe(Layer.provide(ServerManager.layerScripted(halving)))))

if (import.meta.main) await Effect.runPromise(program)
