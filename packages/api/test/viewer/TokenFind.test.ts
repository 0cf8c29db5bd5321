import { assert, describe, it } from "@effect/vitest"
import { find } from "../../viewer/src/groups/tokens/TokenSearch.tsx"
import { stretchesOf } from "../../viewer/src/groups/tokens/Sparkline.tsx"
import type { Token, TokenModel } from "../../viewer/src/groups/tokens/TokenModel.ts"

const modelOf = (tokens: ReadonlyArray<Partial<Token>>): TokenModel => ({
  length: tokens.length,
  token: (index) => ({
    index,
    id: index,
    text: null,
    isTrained: true,
    logprob: null,
    refLogprob: null,
    trainerLogprob: null,
    difference: null,
    advantage: null,
    candidates: [],
    ...tokens[index]
  }),
  trained: tokens.length,
  meanLogprob: null,
  hasLogprobs: true,
  hasReference: false,
  largestDifference: null,
  hasTokenAdvantages: false,
  maxAdvantage: 0
})

describe("find", () => {
  const model = modelOf(["The", " ca", "t ", "and", null, " THE"].map((text) => ({ text })))

  it("finds text across tokens, in any case, by the token it begins in", () => {
    assert.deepStrictEqual(find(model, "cat AND"), [1])
    assert.deepStrictEqual(find(model, "the"), [0, 5])
    assert.deepStrictEqual(find(model, ""), [])
  })

  it("finds ids, and no text across a token without any", () => {
    assert.deepStrictEqual(find(model, "#4"), [4])
    assert.deepStrictEqual(find(model, "and the"), [])
  })
})

describe("stretchesOf", () => {
  it("has the least likely trained token of each stretch", () => {
    const model = modelOf([{ logprob: -1 }, { logprob: -3 }, { logprob: -9, isTrained: false }, { logprob: null }])
    assert.deepStrictEqual(stretchesOf(model, 2), [{ index: 1, logprob: -3 }, null])
  })
})
