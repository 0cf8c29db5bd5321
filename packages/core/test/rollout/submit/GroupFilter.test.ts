import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { ScoredGroup } from "../../../src/trajectory/ScoredGroup.ts"
import * as GroupFilter from "../../../src/rollout/submit/GroupFilter.ts"
import { group } from "../RolloutTest.ts"

const options = { groupSize: 2, ensureScoresAreNotSame: true, includeMessages: false, maxTokenLength: 5 }
const reasonFor = (one: ScoredGroup, changes: Partial<GroupFilter.FilterOptions> = {}) => {
  const verdict = GroupFilter.filter(one, { ...options, ...changes })
  return Result.isFailure(verdict) ? verdict.failure : "kept"
}
const same = { ...group(1), scores: Float64Array.of(1, 1) }

describe("GroupFilter", () => {
  it("keeps a group of the announced size", () => assert.strictEqual(reasonFor(group(1)), "kept"))

  it("expects group_overrides.group_size where it is given", () => {
    assert.strictEqual(reasonFor(group(1, 3)), "wrong_size")
    assert.strictEqual(reasonFor({ ...group(1, 3), groupOverrides: { group_size: 3 } }), "kept")
    assert.strictEqual(reasonFor({ ...group(1), groupOverrides: { group_size: 3 } }), "wrong_size")
  })

  it("drops equal scores, but not where advantages carry the signal or the setting allows them", () => {
    assert.strictEqual(reasonFor(same), "identical_scores")
    assert.strictEqual(reasonFor(same, { ensureScoresAreNotSame: false }), "kept")
    const advantages = [Float32Array.of(0, 0, 1, 1), Float32Array.of(0, 0, -1, -1)]
    assert.strictEqual(reasonFor({ ...same, advantages }), "kept")
    assert.strictEqual(reasonFor(group(1, 1), { groupSize: 1 }), "identical_scores")
  })

  it("drops a group of sequences that are all too short to be learned from", () => {
    const trained = group(1).masks.map((mask) => mask.reduce((sum, one) => sum + one, 0))
    const longest = Math.max(...trained)
    assert.strictEqual(reasonFor(group(1), { minTrainedTokens: longest }), "kept")
    assert.strictEqual(reasonFor(group(1), { minTrainedTokens: longest + 1 }), "too_short")
    // What no tokenizer counted is not short.
    const unknown = { ...group(1), tokens: group(1).tokens.map(() => new Int32Array()) }
    assert.strictEqual(reasonFor(unknown, { minTrainedTokens: 10 }), "no_tokens")
  })

  it("keeps sequences up to the token limit and drops a group of longer ones alone; without a limit keeps", () => {
    assert.strictEqual(reasonFor(group(1), { maxTokenLength: 3 }), "too_long")
    assert.strictEqual(reasonFor(group(1), { maxTokenLength: 4 }), "kept")
    assert.strictEqual(reasonFor(group(1), { maxTokenLength: -1 }), "kept")
  })

  it("cuts and masks a longer sequence, tells that it was truncated, and keeps its score in the group", () => {
    const one = group(1)
    const long = Int32Array.of(1, 1, 2, 3, 4, 5)
    const filtered = Result.getOrThrow(
      GroupFilter.filter(
        {
          ...one,
          tokens: [one.tokens[0]!, long],
          masks: [one.masks[0]!, Uint8Array.of(0, 0, 1, 1, 1, 1)],
          inferenceLogprobs: [Float32Array.of(NaN, NaN, -0.5, -0.25), Float32Array.of(NaN, NaN, -1, -1, -1, -1)],
          distillTokenIds: [one.tokens[0]!, long].map((row) => Array.from(row, (id) => Int32Array.of(id))),
          overrides: [{}, { note: 1 }]
        },
        options
      )
    )
    assert.deepStrictEqual(filtered.tokens, [one.tokens[0]!, long.subarray(0, 5)])
    assert.deepStrictEqual(filtered.masks, [one.masks[0]!, new Uint8Array(5)])
    assert.deepStrictEqual([...filtered.scores], [0, 1])
    assert.deepStrictEqual(filtered.inferenceLogprobs?.[1], new Float32Array(5).fill(NaN))
    assert.deepStrictEqual(
      filtered.distillTokenIds?.map((rows) => rows.length),
      [4, 5]
    )
    assert.deepStrictEqual(filtered.overrides, [{}, { note: 1, finish_reason: "length", truncated: true }])
  })

  it("drops what no trainer could use", () => {
    const one = group(1)
    assert.strictEqual(reasonFor({ ...one, tokens: [new Int32Array(), one.tokens[1]!] }), "no_tokens")
    assert.strictEqual(reasonFor({ ...one, masks: [one.masks[0]!.slice(1), one.masks[1]!] }), "misaligned")
    assert.strictEqual(reasonFor({ ...one, inferenceLogprobs: [Float32Array.of(1)] }), "misaligned")
    for (const score of [NaN, Infinity, -Infinity, 1e308, -1e39]) {
      assert.strictEqual(reasonFor({ ...one, scores: Float64Array.of(score, 1) }), "not_finite")
      assert.strictEqual(reasonFor({ ...one, rewards: [{ a: score }, { a: 1 }] }), "not_finite")
    }
  })

  it("sends messages only when asked, and makes them from the tokens when there are none", () => {
    const messages = [[{ role: "user", content: "a" }], [{ role: "user", content: "b" }]]
    const filtered = (one: ScoredGroup, includeMessages: boolean) =>
      Result.getOrThrow(
        GroupFilter.filter(one, { ...options, includeMessages, decode: (tokens) => [...tokens].join(" ") })
      )
    assert.strictEqual(filtered({ ...group(1), messages }, false).messages, undefined)
    assert.strictEqual(filtered({ ...group(1), messages }, true).messages, messages)
    const expected = [{ role: "user", content: "7 1 2 3" }]
    assert.deepStrictEqual(filtered(group(7), true).messages, [expected, expected])
    assert.deepStrictEqual(filtered({ ...group(7), messages: [[], []] }, true).messages, [expected, expected])
  })

  it("counts trained tokens", () => assert.deepStrictEqual(GroupFilter.completionLengths(group(1)), [2, 2]))
})
