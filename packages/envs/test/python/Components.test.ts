/** Rewards of Python packages as components: every reward counts, whatever its name. */
import { assert, describe, it } from "@effect/vitest"
import { RewardComponents } from "@atropos/core"
import * as Components from "../../src/python/Components.ts"

const scoreOf = (judged: ReturnType<typeof Components.judged>): number =>
  typeof judged === "number"
    ? judged
    : typeof judged["_tag"] === "string"
      ? judged["score"]
      : RewardComponents.weighted(judged as RewardComponents.Rewards)

const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`r${at}`, at]))

describe("Components", () => {
  it("valid names are kept, and other characters become _", () => {
    assert.deepStrictEqual(Components.judged(9, { correct: 1, größe: 0.5, "1st": 2, "a/b.c-d": 3 }, {}), {
      correct: 1,
      gr__e: 0.5,
      _1st: 2,
      "a_b.c-d": 3
    })
  })

  it("names that would become the same component all count", () => {
    const rewards = {
      "a b": 1,
      a_b: 2,
      "a/b": 4,
      正: 8,
      長: 16,
      "1": 32,
      _1: 64,
      ["x".repeat(70)]: 128,
      ["x".repeat(71)]: 256
    }
    const judged = Components.judged(511, rewards, {})
    assert.strictEqual(scoreOf(judged), 511)
    assert.isUndefined(RewardComponents.faultOf(judged))
    const { a_b, _1 } = judged as RewardComponents.Rewards
    assert.deepStrictEqual([a_b, _1], [2, 64])
  })

  it("a component's name depends neither on the order nor on the values of the rewards", () => {
    const [first, second] = Components.names(["a b", "a/b"])
    assert.deepStrictEqual(Components.names(["a/b", "a b"]), [second!, first!])
    assert.notStrictEqual(first, second)
  })

  it("more rewards than components: all count with their weights, and weighted ones are shown", () => {
    const judged = Components.judged(780, many, { r39: 2, r1: -1 })
    assert.strictEqual(scoreOf(judged), 780 + 39 - 2)
    const { rewards } = judged as { readonly rewards: RewardComponents.Rewards }
    assert.strictEqual(Object.keys(rewards).length, RewardComponents.maxComponents)
    assert.deepStrictEqual([rewards["r39"], rewards["r1"], rewards["r38"]], [39, 1, undefined])
  })

  it("a reward without names is the score", () => {
    assert.strictEqual(Components.judged(0.25, {}, {}), 0.25)
  })
})
