/** Mixtures of experts: what a loop over blocks computes, beside all experts computed for all tokens. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { grad } from "../../src/graph/Autodiff.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import type { Value } from "../../src/graph/Value.ts"
import * as Experts from "../../src/model/Experts.ts"
import type { ModelConfig } from "../../src/model/ModelConfig.ts"
import * as Gate from "../../src/model/part/Gate.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as RunGraph from "../graph/RunGraph.ts"
import { maxDifference } from "./Fixtures.ts"

const hiddenSize = 6

/** What `Experts` reads of a configuration. */
const configOf = (experts: number, perToken: number, isNormed: boolean) =>
  ({
    hiddenSize,
    activation: "silu",
    layerTraits: [{ isMixture: true }],
    mixture: { experts, perToken, intermediateSize: 5, isNormed }
  }) as unknown as ModelConfig

type Build = (graph: Graph, x: Value, tensors: ReadonlyMap<string, Value>, isTrained: boolean) => Value

const byLoop =
  (config: ModelConfig): Build =>
  (graph, x, tensors, isTrained) => {
    const tensor = (name: string) => tensors.get(name)!
    return Experts.build(graph, config, { tensor, stack: (name) => Experts.stackOf(tensor(name), isTrained) }, x, 0)
  }

/** Every expert over every token, weighed by zero where it was not chosen. */
const all =
  (config: ModelConfig): Build =>
  (graph, x, tensors) => {
    const { experts, isNormed, perToken } = config.mixture!
    const probabilities = graph.softmax(graph.gemm(x, tensors.get(Tensors.routerName(0))!, false, true))
    const signature = { dtype: probabilities.dtype, shape: ["N", perToken] } as const
    const inputs = [graph.stopGradient(probabilities), graph.ints([perToken])]
    const outputs = [signature, { ...signature, dtype: "int64" }] as const
    const chosen = graph.multi("TopK", inputs, outputs, { axis: -1 })[1]!
    const taken = graph.gatherLast(probabilities, chosen)
    const shares = isNormed ? graph.div(taken, graph.sum(taken, [-1], true)) : taken
    const names = Tensors.expertStacks(config, 0).map(({ name }) => name)
    return Array.from({ length: experts }, (_, expert) => {
      const [gate, up, down] = names.map((name) => graph.gather(tensors.get(name)!, graph.scalar(expert, "int64")))
      const product = (rows: Value, weight: Value) => graph.gemm(rows, weight, false, true)
      const isChosen = graph.equal(chosen, graph.scalar(expert, "int64"))
      const share = graph.sum(graph.where(isChosen, shares, graph.scalar(0)), [-1], true)
      return graph.mul(product(Gate.apply(graph, "silu", product(x, gate!), product(x, up!)), down!), share)
    }).reduce((a, b) => graph.add(a, b))
  }

const shapes = (config: ModelConfig) => [
  { name: Tensors.routerName(0), shape: [config.mixture!.experts, hiddenSize] },
  ...Tensors.expertStacks(config, 0)
]

const graphOf = (config: ModelConfig, build: Build, isTrained: boolean): Graph => {
  const graph = new Graph("float64")
  const x = graph.input("x", "float64", ["N", hiddenSize])
  const tensors = new Map(shapes(config).map(({ name, shape }) => [name, graph.input(name, "float64", shape)]))
  const y = build(graph, x, tensors, isTrained)
  const weights = graph.input("weights", "float64", ["N", hiddenSize])
  const wrt = [x, ...[...tensors.values()].slice(0, isTrained ? undefined : 1)]
  graph.output("y", y)
  grad(graph, graph.sum(graph.mul(y, weights), [0, 1]), wrt).forEach((dx, i) => graph.output(`d ${wrt[i]!.name}`, dx))
  return graph
}

const feedsOf = (config: ModelConfig, tokens: number) => ({
  x: RunGraph.noise(tokens * hiddenSize, 1),
  weights: RunGraph.noise(tokens * hiddenSize, 2),
  ...Object.fromEntries(
    shapes(config).map(({ name, shape }, i) => [
      name,
      RunGraph.noise(
        shape.reduce((a, b) => a * b, 1),
        3 + i
      )
    ])
  )
})

describe("a mixture of experts", () => {
  it.effect.each([
    { what: "many tokens, few experts", tokens: 300, experts: 3, perToken: 2, isNormed: true },
    { what: "experts that nobody chose", tokens: 5, experts: 40, perToken: 2, isNormed: true },
    { what: "weights that do not sum to 1", tokens: 21, experts: 7, perToken: 3, isNormed: false },
    { what: "one token", tokens: 1, experts: 4, perToken: 1, isNormed: false }
  ])("has the results and gradients of all experts over all tokens: $what", (example) =>
    Effect.gen(function* () {
      const { experts, isNormed, perToken, tokens } = example
      const config = configOf(experts, perToken, isNormed)
      for (const isTrained of [false, true]) {
        const [found, expected] = yield* Effect.forEach([byLoop(config), all(config)], (build) =>
          Effect.gen(function* () {
            const { run } = yield* RunGraph.load(graphOf(config, build, isTrained), { N: tokens })
            return yield* run(feedsOf(config, tokens))
          })
        )
        assert.strictEqual(Object.keys(expected!).length, isTrained ? 6 : 3)
        for (const [name, values] of Object.entries(expected!)) {
          const difference = maxDifference(Float32Array.from(found![name]!, Number), Float32Array.from(values, Number))
          assert.isBelow(difference, 1e-6, name)
        }
      }
    }).pipe(Effect.scoped)
  )

  it("makes a graph whose size is the same for any number of experts", () => {
    const [few, many] = [4, 512].map((experts) => {
      const config = configOf(experts, 4, true)
      return toOnnx(graphOf(config, byLoop(config), false)).onnx.length
    })
    assert.isAtMost(Math.abs(few! - many!), 200)
  })
})
