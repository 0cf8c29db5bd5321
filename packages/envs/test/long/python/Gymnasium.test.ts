/** Worlds of Gymnasium through the bridge, step by step against the same games of ours. */
import { assert, describe, it } from "@effect/vitest"
import { SeededRandom } from "@atropos/core"
import { Effect, Schema } from "effect"
import { fileURLToPath } from "node:url"
import * as BlackjackRules from "../../../src/games/BlackjackRules.ts"
import * as TaxiRules from "../../../src/games/TaxiRules.ts"
import * as Bridge from "../../../src/python/Bridge.ts"
import { having, interpreter } from "../../../../core/test/Python.ts"
import { run } from "./Python.ts"

const { absence, isPresent } = having("gymnasium")

const Info = Schema.Struct({ actions: Schema.Struct({ count: Schema.Int, start: Schema.Int }) })
const Reset = Schema.Struct({ episode: Schema.Int, observation: Schema.Unknown })
const Stepped = Schema.Struct({ observation: Schema.Unknown, reward: Schema.Finite, isOver: Schema.Boolean })

const open = (name: string, kwargs: object = {}) =>
  Bridge.make({
    words: [interpreter],
    kind: "gymnasium",
    packageName: "gymnasium[toy-text]",
    name,
    config: { kwargs },
    info: Info
  })

const seen = (state: BlackjackRules.State) => [
  BlackjackRules.total(state.player),
  state.dealer[0],
  BlackjackRules.hasUsableAce(state.player) ? 1 : 0
]

describe.runIf(isPresent)(`gymnasium${absence}`, () => {
  it.live("Taxi is ours: the same state, reward and end at every one of 2,000 steps", () =>
    Effect.gen(function* () {
      const bridge = yield* open("Taxi-v4")
      const { actions } = yield* bridge.info
      assert.strictEqual(actions.count, TaxiRules.actions.length)
      for (let seed = 0; seed < 20; seed++) {
        const random = SeededRandom.seeded(seed, 1)
        const { episode, observation } = yield* bridge.call("reset", { seed }, Reset)
        let at = Number(observation)
        for (let turn = 0; turn < 100; turn++) {
          const action = random.between(0, actions.count - 1)
          const theirs = yield* bridge.call("step", { episode, action }, Stepped)
          const ours = TaxiRules.act(at, TaxiRules.actions[action]!)
          assert.deepStrictEqual(
            [theirs.observation, theirs.reward, theirs.isOver],
            [ours.state, ours.reward, ours.isOver]
          )
          if (ours.isOver) break
          at = ours.state
        }
      }
    }).pipe(Effect.scoped)
  )

  it.live("Blackjack is ours: with the same cards the same hands, rewards and ends", () =>
    Effect.gen(function* () {
      const hands = Schema.decodeUnknownSync(Schema.Array(Schema.Array(Schema.Int)))(
        run(fileURLToPath(new URL("blackjack_cards.py", import.meta.url)), "300")
      )
      const bridge = yield* open("Blackjack-v1", { sab: true })
      for (const [seed, cards] of hands.entries()) {
        const random = SeededRandom.seeded(seed, 2)
        const { episode, observation } = yield* bridge.call("reset", { seed }, Reset)
        let state = BlackjackRules.deal((position) => cards[position]!)
        assert.deepStrictEqual(observation, seen(state))
        for (let isOver = false; !isOver;) {
          const action = random.pick(["stick", "hit"] as const)
          const theirs = yield* bridge.call("step", { episode, action: action === "hit" ? 1 : 0 }, Stepped)
          const ours = BlackjackRules.act(state, action, { sab: true, natural: false })
          assert.deepStrictEqual([theirs.reward, theirs.isOver], [ours.reward, ours.isOver], `seed ${seed}`)
          if (!ours.isOver) assert.deepStrictEqual(theirs.observation, seen(ours.state))
          ;({ isOver, state } = ours)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.live("an episode ends with its interpreter: the next one's is never taken for it", () =>
    Effect.gen(function* () {
      const bridge = yield* open("Taxi-v4")
      const { pid } = yield* bridge.opened
      const { episode } = yield* bridge.call("reset", { seed: 1 }, Reset)
      process.kill(pid, "SIGKILL")
      yield* Effect.flip(Effect.forever(bridge.call("step", { episode, action: 0 }, Stepped)))
      yield* bridge.call("reset", { seed: 2 }, Reset)
      const error = yield* Effect.flip(bridge.call("step", { episode, action: 0 }, Stepped))
      assert.include(error.message, "ended with the interpreter")
    }).pipe(Effect.scoped)
  )
})
