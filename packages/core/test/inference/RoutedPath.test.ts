/** The experts of a chain of answers, put together. */
import { assert, describe, it } from "@effect/vitest"
import * as RoutedPath from "../../src/inference/session/RoutedPath.ts"

/** Two words for each of so many positions, which say who wrote them down and where. */
const given = (who: number, positions: number): Int32Array =>
  Int32Array.from({ length: 2 * positions }, (_, i) => 100 * who + Math.floor(i / 2))

const link = (who: number, prompt: number, tokens: number, known: number, kept = tokens) => ({
  routed: RoutedPath.ofAnswer(given(who, prompt + tokens - 1), prompt, tokens, known),
  start: prompt,
  tokens,
  kept
})

describe("the experts of a chain of answers", () => {
  it("are those of the answer that sampled each token; its last token's those of the prompt that follows", () => {
    const routed = RoutedPath.ofLinks([link(1, 3, 4, 0), link(2, 9, 2, 7)])
    assert.deepStrictEqual(
      routed?.filter((_, i) => i % 2 === 0),
      Int32Array.of(100, 101, 102, 103, 104, 105, 206, 207, 208, 209)
    )
  })

  it("follow an answer that lost its end", () => {
    const routed = RoutedPath.ofLinks([link(1, 2, 4, 0, 2), link(2, 6, 3, 4)])
    assert.deepStrictEqual(
      routed?.filter((_, i) => i % 2 === 1),
      Int32Array.of(100, 101, 102, 103, 204, 205, 206, 207)
    )
    assert.deepStrictEqual(RoutedPath.ofLinks([link(1, 2, 4, 0, 2)]), given(1, 3))
  })

  it("are unknown where an answer has none, or not for each position", () => {
    assert.isUndefined(RoutedPath.ofLinks([{ ...link(1, 3, 4, 0), routed: undefined }, link(2, 9, 2, 7)]))
    assert.isUndefined(RoutedPath.ofAnswer(given(1, 5), 3, 4, 0))
    assert.isUndefined(RoutedPath.ofAnswer(undefined, 3, 4, 0))
  })
})
