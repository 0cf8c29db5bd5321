import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { grad } from "../../src/graph/Autodiff.ts"
import { dimValue } from "./dimValue.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { rules } from "../../src/graph/Rules.ts"
import { cases, type RuleCase, sizes } from "./RuleCases.ts"
import { load, noise, type Numbers, type Run } from "./RunGraph.ts"

/** loss = Σ w sin(y): depends on y in no simple way, so that a rule that ignores dy or mixes elements up is found. */
const build = ({ build, operands }: RuleCase, isCheckpointed: boolean) => {
  const g = new Graph("float64")
  const inputs = operands.map(({ dtype, shape }, i) => g.input(`x${i}`, dtype, shape))
  // Sizes that no operand of the case has still need an input to come from.
  g.input("sizes", "float64", ["B", "T"])
  const real = inputs.filter(({ dtype }) => dtype === "float64")
  const forward = () => {
    const y = build(g, ...inputs)
    const size = g.dimMul(...y.shape)
    const at = g.cumsum(g.expand(g.scalar(0.7), [size]), 0)
    return g.sum(g.mul(g.sin(at), g.sin(g.reshape(y, [size]))), [0])
  }
  const loss = isCheckpointed ? g.checkpoint(real, forward) : forward()
  const gradients = grad(g, loss, real)
  g.output("loss", loss)
  real.forEach(({ name }, i) => g.output(`d${name}`, gradients[i]!))
  return g
}

const feedsOf = ({ operands }: RuleCase): Record<string, Numbers> => {
  const feeds: Record<string, Numbers> = { sizes: new Float64Array(sizes.B * sizes.T) }
  operands.forEach(({ dtype, from, shape }, i) => {
    const numbers = noise(
      shape.reduce<number>((n, dim) => n * dimValue(dim, sizes)!, 1),
      i
    ).map(from)
    feeds[`x${i}`] = dtype === "int32" ? Int32Array.from(numbers) : numbers
  })
  return feeds
}

/** Five-point central differences of the loss: their error is of order h⁴. */
const differences = Effect.fnUntraced(function* (run: Run, feeds: Readonly<Record<string, Numbers>>, name: string) {
  const h = 1e-3
  const x = feeds[name]! as Float64Array
  const lossAt = Effect.fnUntraced(function* (i: number, shift: number) {
    const outputs = yield* run({ ...feeds, [name]: x.with(i, x[i]! + shift) })
    return Number(outputs["loss"]![0])
  })
  const slopes = new Float64Array(x.length)
  for (let i = 0; i < x.length; i++) {
    const near = (yield* lossAt(i, h)) - (yield* lossAt(i, -h))
    const far = (yield* lossAt(i, 2 * h)) - (yield* lossAt(i, -2 * h))
    slopes[i] = (8 * near - far) / (12 * h)
  }
  return slopes
})

/** Greatest difference over greatest magnitude. */
const relativeError = (actual: Numbers, expected: Float64Array): number => {
  const scale = expected.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-3)
  return expected.reduce((worst, x, i) => Math.max(worst, Math.abs(Number(actual[i]) - x)), 0) / scale
}

describe("rules", () => {
  it("have cases, every one", () => {
    assert.deepStrictEqual(Object.keys(cases).toSorted(), Object.keys(rules).toSorted())
  })

  for (const [op, ofOp] of Object.entries(cases)) {
    for (const one of ofOp) {
      it.effect(`${op} equals central differences: ${one.name}`, () =>
        Effect.gen(function* () {
          const graph = build(one, false)
          assert.isTrue(graph.nodes.some((node) => node.op === op))
          const plain = yield* load(graph, sizes)
          const checkpointed = yield* load(build(one, true), sizes)
          const feeds = feedsOf(one)
          const gradients = yield* plain.run(feeds)
          const again = yield* checkpointed.run(feeds)
          for (const { dtype, name } of graph.inputs) {
            if (dtype !== "float64" || name === "sizes") continue
            const expected = yield* differences(plain.run, feeds, name)
            assert.strictEqual(gradients[`d${name}`]!.length, expected.length)
            assert.isBelow(relativeError(gradients[`d${name}`]!, expected), 1e-6, name)
            assert.deepStrictEqual(again[`d${name}`], gradients[`d${name}`], `${name} with recomputation`)
          }
        })
      )
    }
  }
})
