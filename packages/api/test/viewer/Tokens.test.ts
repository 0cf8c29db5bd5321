import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Group from "../../viewer/src/groups/model/Group.ts"
import * as Heat from "../../viewer/src/groups/tokens/Heat.ts"
import { columnsOf, inLine, layOut, lineOf } from "../../viewer/src/groups/tokens/Lines.ts"
import * as TokenModel from "../../viewer/src/groups/tokens/TokenModel.ts"

const model = (fields: object, pieces = {}) => {
  const group = Group.read({ tokens: [[5, 6, 7]], masks: [[-100, 6, 7]], scores: [1], ...fields })
  assert.isNotNull(group)
  return TokenModel.make(group.rollouts[0]!, pieces)
}

const trained = ({ length, token }: TokenModel.TokenModel) =>
  Array.from({ length }, (_, index) => token(index).isTrained)

/** Of the first three tokens, by what trainer and sampler differ. */
const strengths = (one: TokenModel.TokenModel) =>
  [0, 1, 2].map((index) => Heat.strength(one.token(index), "trainer", one)?.toFixed(2) ?? null)

describe("TokenModel", () => {
  it("reads masks as the trainer does: -100, or zeros and ones that are not the tokens", () => {
    assert.deepStrictEqual(trained(model({})), [false, true, true])
    assert.deepStrictEqual(trained(model({ masks: [[0, 1, 0]] })), [false, true, false])
    assert.deepStrictEqual(trained(model({ tokens: [[0, 1, 0]], masks: [[0, 1, 0]] })), [true, true, true])
    assert.deepStrictEqual(trained(model({ masks: [[-100]] })), [false, false, false])
  })

  it("has the length of an answer: its trained tokens, without the prompt, over all turns", () => {
    const [rollout] = Group.read({ tokens: [[5, 6, 7, 8, 9]], masks: [[-100, 6, -100, 8, 9]], scores: [1] })!.rollouts
    assert.strictEqual(TokenModel.countTrained(rollout!), 3)
    assert.strictEqual(TokenModel.countTrained({ tokens: [5, 6], mask: [] }), 0)
    assert.strictEqual(TokenModel.countTrained({ tokens: [5, 6, 7], mask: [0, 1, 0] }), 1)
  })

  it("knows no logprob of tokens that were not sampled", () => {
    const { meanLogprob, token } = model({ inference_logprobs: [[1, -0.5, 0.0001]] })
    assert.deepStrictEqual(
      [0, 1, 2].map((index) => token(index).logprob),
      [null, -0.5, 0.0001]
    )
    assert.closeTo(meanLogprob!, (-0.5 + 0.0001) / 2, 1e-9)
    assert.isNull(model({}).meanLogprob)
  })

  it("finds where training begins, and tokens that were unlikely, on either side", () => {
    const long = model({
      tokens: [[5, 6, 7, 8, 9]],
      masks: [[-100, -100, 7, 8, 9]],
      inference_logprobs: [[1, -9, -4, -2.9, -3.1]]
    })
    assert.strictEqual(TokenModel.firstTrained(long), 2)
    assert.strictEqual(TokenModel.next(long, 0, 1, TokenModel.isSurprise), 2)
    assert.strictEqual(TokenModel.next(long, 2, 1, TokenModel.isSurprise), 4)
    assert.isUndefined(TokenModel.next(long, 4, 1, TokenModel.isSurprise))
    assert.strictEqual(TokenModel.next(long, 4, -1, TokenModel.isSurprise), 2)
    assert.isUndefined(TokenModel.next(long, 2, -1, TokenModel.isSurprise))
    assert.strictEqual(TokenModel.firstTrained(model({ masks: [[-100, -100, -100]] })), 0)
  })

  it("takes advantages per token where they are given, else the rollout's where trained", () => {
    const scores = {
      tokens: [
        [5, 6],
        [5, 6]
      ],
      masks: [
        [-100, 6],
        [5, 6]
      ],
      scores: [1, 0]
    }
    assert.deepStrictEqual(
      [0, 1].map((index) => model(scores).token(index).advantage?.toFixed(3)),
      [undefined, "1.000"]
    )
    const own = model({ advantages: [[0.5, -2, 0]] })
    assert.deepStrictEqual(
      [0, 1, 2].map((index) => own.token(index).advantage),
      [0.5, -2, 0]
    )
    assert.strictEqual(own.maxAdvantage, 2)
  })

  it("names the teacher's candidates, likeliest first", () => {
    const { token } = model(
      { distill_token_ids: [[[5, 9], [6], []]], distill_logprobs: [[[-3, -0.1], [0], []]] },
      { 9: "x" }
    )
    assert.deepStrictEqual(token(0).candidates, [
      { id: 9, text: "x", logprob: -0.1 },
      { id: 5, text: null, logprob: -3 }
    ])
    assert.deepStrictEqual(token(2).candidates, [])
  })

  it("makes the text of runs of tokens, and says where nobody told it", () => {
    const group = Group.read({ tokens: [[5, 6, 7]], masks: [[-100, 6, 7]], scores: [1] })!
    assert.deepStrictEqual(TokenModel.runsOf(group.rollouts[0]!, { 6: "a" }), [
      { isTrained: false, text: "⟨5⟩", unknown: true },
      { isTrained: true, text: "a⟨7⟩", unknown: false }
    ])
  })
})

describe("TokenModel.label", () => {
  it("shows every character, those that print nothing too", () => {
    assert.strictEqual(TokenModel.visible(" a\n\t\r"), " a↵⇥␍")
    assert.strictEqual(TokenModel.visible("\u202e\u0000"), "⟨202E⟩⟨0000⟩")
    assert.strictEqual(TokenModel.visible(""), "∅")
    assert.strictEqual(TokenModel.label({ id: 7, text: null }), "#7")
    assert.strictEqual(TokenModel.label({ id: 7, text: "x".repeat(1000) }).length, 48)
  })
})

const widths = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 })))
const columns = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))

describe("lines", () => {
  it.prop(
    "hold every token once, in order, within the width",
    [widths, columns, widths],
    ([widths, columns, feeds]) => {
      const endsLine = (index: number) => feeds.includes(index)
      const lines = layOut(widths.length, columns, (index) => widths[index]!, endsLine)
      assert.deepStrictEqual(
        lines.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, at) => from + at)),
        [...widths.keys()]
      )
      for (const [at, { from, to }] of lines.entries()) {
        const width = widths.slice(from, to).reduce((sum, width) => sum + width, 0)
        assert.isTrue(width <= columns || to - from === 1)
        for (let index = from; index < to; index++) {
          assert.strictEqual(lineOf(lines, index), at)
          assert.isTrue(!endsLine(index) || index === to - 1)
        }
      }
    }
  )

  it.prop(
    "take the cursor to the line above or below, and stop at the ends",
    [widths, columns],
    ([widths, columns]) => {
      const lines = layOut(
        widths.length,
        columns,
        (index) => widths[index]!,
        () => false
      )
      for (const index of widths.keys()) {
        const below = inLine(lines, index, 1)
        assert.strictEqual(lineOf(lines, below), Math.min(lines.length - 1, lineOf(lines, index) + 1))
        assert.strictEqual(lineOf(lines, inLine(lines, index, -1)), Math.max(0, lineOf(lines, index) - 1))
      }
    }
  )

  it("counts two columns for wide characters", () => {
    assert.strictEqual(columnsOf("abc↵"), 4)
    assert.strictEqual(columnsOf("日本"), 4)
    assert.strictEqual(columnsOf("a😀"), 3)
  })
})

describe("heat", () => {
  const logprob = Schema.Finite.check(Schema.isBetween({ minimum: -1e6, maximum: 0 }))
  it.prop("is stronger the unlikelier a token was, within bounds", [logprob, logprob], ([a, b]) => {
    const of = (logprob: number) =>
      Heat.strength({ ...model({}).token(0), logprob }, "logprob", model({})) ?? Number.NaN
    for (const value of [of(a), of(b)]) assert.isTrue(value >= -1 && value <= 0)
    if (a < b) assert.isAtMost(of(a), of(b))
  })

  it("colours by what trainer and sampler differ, by the rollout's largest difference but at least 0.05 nats", () => {
    const sampled = { inference_logprobs: [[1, -0.5, -1]] }
    const of = (logprobs: ReadonlyArray<number>) => model({ ...sampled, trainer_logprobs: [logprobs] })
    assert.deepStrictEqual(strengths(of([1, -0.7, -0.9])), [null, "-1.00", "0.50"])
    assert.deepStrictEqual(strengths(of([1, -0.51, -1])), [null, "-0.20", "0.00"])
    // What was not recorded has none.
    assert.deepStrictEqual(strengths(of([1, -0.7])), [null, "-1.00", null])
    assert.isNull(model(sampled).largestDifference)
    const saved = model({ ...sampled, trainer_differences: [[1000, -0.25, 1000]] })
    assert.deepStrictEqual([saved.token(1).trainerLogprob, saved.token(2).trainerLogprob], [-0.75, null])
    assert.deepStrictEqual(Heat.available(saved), ["logprob", "advantage", "trainer", "mask"])
    const wanted = Heat.notable(of([1, -0.7, -0.95]), "trainer")
    assert.deepStrictEqual(wanted.name, "token with a large difference (0.1 nats)")
    assert.strictEqual(TokenModel.next(of([1, -0.7, -0.95]), 0, 1, wanted.is), 1)
    assert.isUndefined(TokenModel.next(of([1, -0.7, -0.95]), 1, 1, wanted.is))
  })

  it("offers the colourings that say something", () => {
    assert.deepStrictEqual(Heat.available(model({})), ["advantage", "mask"])
    assert.deepStrictEqual(
      Heat.available(model({ inference_logprobs: [[1, -1, -1]], ref_logprobs: [[1, -1, -1]], scores: [0] })),
      ["logprob", "reference", "mask"]
    )
  })
})
