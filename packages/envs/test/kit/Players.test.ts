/** Several players at one game: who is told what, who is trained, and what a seat's rollouts are compared with. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import { type Message, text, user } from "@atropos/core/trajectory/Message"
import * as Players from "../../src/kit/Players.ts"
import * as ServerManager from "@atropos/core/inference/ServerManager"

/** Both say a number, in turns; who said the larger sum after two rounds wins. Seats know their own secret alone. */
interface State {
  readonly secrets: readonly [string, string]
  readonly said: ReadonlyArray<number>
}

const total = (said: ReadonlyArray<number>, seat: number): number =>
  said.reduce((sum, number, turn) => sum + (turn % 2 === seat ? number : 0), 0)

const game: Players.SeatedGame<State> = {
  seats: 2,
  maxTurns: 4,
  toMove: ({ said }) => (said.length === 4 ? undefined : said.length % 2),
  opening: ({ said, secrets }, seat) => [user(`secret ${secrets[seat]}, said ${said.join(",") || "nothing"}`)],
  observation: ({ said }) => `said ${said.at(-1)}`,
  step: (state, _, answer) => ({ ...state, said: [...state.said, Number(answer)] }),
  returns: ({ said }) => {
    const first = Math.sign(total(said, 0) - total(said, 1))
    return [first, -first]
  }
}

const start: State = { secrets: ["apple", "pear"], said: [] }

/** Who has the apple says 3, who has the pear 1. */
const policy = ServerManager.layerScripted((request) => {
  const all = "messages" in request ? request.messages.map(text).join(" ") : request.prompt
  return all.includes("apple") ? "3" : "1"
})

const words = (messages: ReadonlyArray<Message>): string => messages.map(text).join(" ")

describe("Players", () => {
  it.effect("self-play: each seat has a conversation and a return of its own, and they add up to 0", () =>
    Effect.gen(function* () {
      const { returns, state, trajectories } = yield* Players.play(game, start, { players: ["policy", "policy"] })
      assert.deepStrictEqual(state.said, [3, 1, 3, 1])
      assert.deepStrictEqual(returns, [1, -1])
      const [first, second] = trajectories.map((one) => one?.messages ?? [])
      assert.deepStrictEqual(first!.map(text), ["secret apple, said nothing", "3", "said 1", "3"])
      assert.deepStrictEqual(second!.map(text), ["secret pear, said 3", "1", "said 3", "1"])
      assert.notInclude(words(first!), "pear")
      assert.notInclude(words(second!), "apple")
      // Both answers of a seat are trained, and what it was told is not.
      for (const one of trajectories) {
        const sampled = one!.mask.reduce((sum, trained) => sum + trained, 0)
        assert.isAbove(sampled, 1)
        assert.isBelow(sampled, one!.tokens.length)
      }
    }).pipe(Effect.provide(policy))
  )

  it.effect("a player that is not the policy hears its own conversation, and gives no trajectory", () =>
    Effect.gen(function* () {
      const heard = yield* Ref.make<ReadonlyArray<string>>([])
      const rule: Players.Player<State> = ({ messages }) =>
        Effect.as(
          Ref.update(heard, (all) => [...all, words(messages)]),
          "5"
        )
      const { returns, trajectories } = yield* Players.play(game, start, { players: ["policy", rule] })
      assert.deepStrictEqual(returns, [-1, 1])
      assert.isDefined(trajectories[0])
      assert.isUndefined(trajectories[1])
      assert.deepStrictEqual(yield* Ref.get(heard), ["secret pear, said 3", "secret pear, said 3 5 said 3"])
    }).pipe(Effect.provide(policy))
  )

  it.effect("plays of one start make a group of every seat of the policy, scored by its returns", () =>
    Effect.gen(function* () {
      const both = yield* Players.groups(game, start, { players: ["policy", "policy"], n: 3, seed: 1 })
      assert.strictEqual(both.plays.length, 3)
      assert.deepStrictEqual(
        both.groups.map(({ scores }) => scores),
        [
          [1, 1, 1],
          [-1, -1, -1]
        ]
      )
      const one = yield* Players.groups(game, start, { players: [() => Effect.succeed("0"), "policy"], n: 2 })
      assert.strictEqual(one.groups.length, 1)
      assert.deepStrictEqual(one.groups[0]!.scores, [1, 1])
    }).pipe(Effect.provide(policy))
  )

  it.effect("a step that is an effect is waited for, and its failure is the play's", () =>
    Effect.gen(function* () {
      const steps = yield* Ref.make(0)
      const slow: Players.SeatedGame<State, "broken"> = {
        ...game,
        step: (state, seat, answer) =>
          Effect.flatMap(
            Ref.updateAndGet(steps, (count) => count + 1),
            (count): Effect.Effect<State, "broken"> =>
              count > 4 ? Effect.fail("broken" as const) : Effect.succeed(game.step(state, seat, answer) as State)
          )
      }
      const { state } = yield* Players.play(slow, start, { players: ["policy", "policy"] })
      assert.strictEqual(state.said.length, 4)
      assert.strictEqual(yield* Effect.flip(Players.play(slow, start, { players: ["policy", "policy"] })), "broken")
    }).pipe(Effect.provide(policy))
  )

  it.effect("too few players, and returns of too few seats, are said so", () =>
    Effect.gen(function* () {
      const few = yield* Effect.flip(Players.play(game, start, { players: ["policy"] }))
      assert.instanceOf(few, InferenceError)
      assert.include(String(few), "2 seats, but 1 players")
      const returns = yield* Effect.flip(
        Players.play({ ...game, returns: () => [0] }, start, { players: ["policy", "policy"] })
      )
      assert.include(String(returns), "but 1 returns")
    }).pipe(Effect.provide(policy))
  )

  it.effect("a play that nobody ends is over after its most turns", () =>
    Effect.gen(function* () {
      const endless = { ...game, toMove: () => 0 }
      const { state } = yield* Players.play(endless, start, { players: ["policy", "policy"] })
      assert.strictEqual(state.said.length, 4)
    }).pipe(Effect.provide(policy))
  )
})
