import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { MathVerifier } from "@atropos/envs"
import * as EditDistance from "../../../src/verify/math/EditDistance.ts"
import * as ExpressionTree from "../../../src/verify/math/expression/ExpressionTree.ts"
import { load } from "../../../src/verify/math/Latex.ts"
import * as TreeDistance from "../../../src/verify/math/expression/TreeDistance.ts"

const read = await load()
const score = (gold: string, said: string) => EditDistance.score(gold, said, read)

const tree = (latex: string): ExpressionTree.Tree => {
  const expression = read(latex)
  const made = expression && ExpressionTree.of(expression)
  if (made === undefined) throw new Error(latex)
  return made
}

const written = ({ children, label }: ExpressionTree.Tree): string =>
  `${label.replace(/^\w+?_/, "")}${children.length === 0 ? "" : `(${children.map(written).join(" ")})`}`

describe("EditDistance", () => {
  it.each([
    ["2mg+4\\frac{mv_0^2}{l}", "4\\frac{mv_0^2}{l}+2mg", 100],
    ["2mg+4\\frac{mv_0^2}{l}", "2mg+2\\frac{mv_0^2}{l}", 140 / 3],
    ["\\sqrt{\\frac{2gh}{3}}", "\\sqrt{\\frac{gh}{3}}", 60 - 100 / 11],
    ["\\frac{1}{2}x", "E = x/2", 100],
    ["x^2", "\\int x^2", 0],
    ["x", "x+1+2+3+4", 0],
    ["x", "\\text{nothing}", 0],
    ["x", "", 0],
    ["i x", "2 x", 0]
  ])("scores %s against %s as PHYBench: %d", (gold, said, expected) => {
    assert.approximately(score(gold, said), expected, 1e-9)
  })

  it("makes one tree of one formula, however it is written", () => {
    for (const [one, other] of [
      ["a+b", "b+a"],
      ["x/2+x/2", "x"],
      ["\\sqrt{8}", "2\\sqrt{2}"],
      ["\\frac{a}{c}+\\frac{b}{c}", "\\frac{a+b}{c}"],
      ["xy+xz", "x(y+z)"],
      ["e^{x}", "\\exp(x)"]
    ] as const) {
      assert.strictEqual(written(tree(one)), written(tree(other)))
    }
  })

  it("is no distance from a tree to itself, as far there as back, and at most both trees", () => {
    const all = ["a", "a+b", "a b^2", "\\sin(x)+y", "\\frac{a+b}{c-d}", "x^2+y^2+z^2+w"].map(tree)
    for (const one of all) {
      assert.strictEqual(TreeDistance.between(one, one), 0)
      for (const other of all) {
        const distance = TreeDistance.between(one, other)
        assert.approximately(distance, TreeDistance.between(other, one), 1e-9)
        assert.isAtMost(distance, TreeDistance.size(one) + TreeDistance.size(other))
        if (one !== other) assert.isAbove(distance, 0)
      }
    }
  })

  it.live("is told under a deadline: what stalls is far from everything", () =>
    Effect.gen(function* () {
      const verifier = yield* MathVerifier.MathVerifier
      assert.strictEqual(yield* verifier.nearness("x+1", "1+x"), 100)
      assert.strictEqual(yield* verifier.nearness("x+1", `${"(".repeat(3000)}x`), 0)
      assert.strictEqual(yield* verifier.nearness("x+1", "9^{9^{9^{9}}}"), 0)
    }).pipe(Effect.provide(MathVerifier.layer()))
  )
})
