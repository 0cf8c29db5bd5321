/** The rules against Gymnasium's own: episodes recorded by scripts/record-gymnasium-episodes.py. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import * as BlackjackRules from "../../src/games/BlackjackRules.ts"
import * as TaxiRules from "../../src/games/TaxiRules.ts"

const recorded = (name: string) => {
  const bytes = readFileSync(new URL(`../fixtures/gymnasium-${name}.json.gz`, import.meta.url))
  return JSON.parse(gunzipSync(bytes).toString()).episodes as unknown
}

interface BlackjackEpisode {
  readonly rules: BlackjackRules.Rules
  readonly cards: ReadonlyArray<number>
  readonly actions: ReadonlyArray<number>
  readonly observations: ReadonlyArray<readonly [total: number, dealer: number, usableAce: number]>
  readonly rewards: ReadonlyArray<number>
}

interface TaxiEpisode {
  readonly states: ReadonlyArray<number>
  readonly actions: ReadonlyArray<number>
  readonly rewards: ReadonlyArray<number>
  readonly over: boolean
}

const observation = ({ dealer, player }: BlackjackRules.State) => [
  BlackjackRules.total(player),
  dealer[0]!,
  BlackjackRules.hasUsableAce(player) ? 1 : 0
]

describe("rules recorded from Gymnasium", () => {
  it("a thousand hands of blackjack give the same observations and rewards", () => {
    const episodes = recorded("blackjack") as ReadonlyArray<BlackjackEpisode>
    assert.strictEqual(episodes.length, 1000)
    for (const { actions, cards, observations, rewards, rules } of episodes) {
      let state = BlackjackRules.deal((position) => cards[position]!)
      const seen = [observation(state)]
      const got = actions.map((action, turn) => {
        const outcome = BlackjackRules.act(state, action === 1 ? "hit" : "stick", rules)
        state = outcome.state
        seen.push(observation(state))
        assert.strictEqual(outcome.isOver, turn === actions.length - 1)
        return outcome.reward
      })
      assert.deepEqual(
        seen,
        observations.map((one) => Array.from(one))
      )
      assert.deepStrictEqual(got, rewards)
      assert.strictEqual(state.taken, cards.length)
    }
    assert.isAbove(episodes.filter(({ rewards }) => rewards.includes(1.5)).length, 0)
  })

  it("a thousand rides of the taxi give the same states and rewards", () => {
    const episodes = recorded("taxi") as ReadonlyArray<TaxiEpisode>
    assert.strictEqual(episodes.length, 1000)
    for (const { actions, over, rewards, states } of episodes) {
      let state = states[0]!
      for (const [turn, action] of actions.entries()) {
        const outcome = TaxiRules.act(state, TaxiRules.actions[action]!)
        assert.strictEqual(outcome.state, states[turn + 1], `episode from ${states[0]}, turn ${turn}`)
        assert.strictEqual(outcome.reward, rewards[turn])
        assert.strictEqual(outcome.isOver, over && turn === actions.length - 1)
        state = outcome.state
      }
    }
    assert.isAbove(episodes.filter(({ over }) => over).length, 400)
  })
})
