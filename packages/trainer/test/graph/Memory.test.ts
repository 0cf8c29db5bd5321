/** What the runtime makes of the graph: in which order it runs the nodes, and so how much it keeps at once. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import { grad } from "../../src/graph/Autodiff.ts"
import { dimValue } from "./dimValue.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { nodeOrder } from "../../src/graph/NodeOrder.ts"
import type { Node, Value } from "../../src/graph/Value.ts"
import { load, noise } from "./RunGraph.ts"

const layers = 6
const width = 4
const rows = 64

/** Layers of x + tanh(x W) ⊙ gain: gains are vectors, whose gradients need no reshaping at the end. */
const network = (isCheckpointed: boolean): Graph => {
  const g = new Graph("float64")
  const theta = g.input("theta", "float64", [layers * width])
  const weight = g.input("weight", "float64", [width, width])
  const gains = Array.from({ length: layers }, (_, i) => g.slice(theta, 0, i * width, (i + 1) * width))
  let x = g.input("x", "float64", ["N", width])
  for (const gain of gains) {
    const before = x
    const layer = () => g.add(before, g.mul(g.tanh(g.exp(g.sin(g.gemm(before, weight)))), gain))
    x = isCheckpointed ? g.checkpoint([before], layer) : layer()
  }
  const loss = g.mean(g.mul(x, x), [0, 1])
  g.output("loss", loss)
  g.output("gradient", g.concat(grad(g, loss, gains), 0))
  return g
}

const Profile = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ cat: Schema.String, name: Schema.String, ts: Schema.Finite }))
)

/** Sums of logits and of their squares, chunk by chunk; `isTogether` ties a chunk's two results. */
const chunks = (count: number, isTogether: boolean): Graph => {
  const g = new Graph("float64")
  const theta = g.input("theta", "float64", [layers * width])
  const x = g.input("x", "float64", ["N", width])
  const head = g.input("weight", "float64", [width, width])
  const wide = g.concat(
    Array.from({ length: layers }, () => head),
    1
  )
  const results = g.split(x, 0, count).map((rows) => {
    const logits = g.add(g.gemm(rows, wide), theta)
    const results = [g.sum(g.sin(logits), [1]), g.sum(g.mul(logits, logits), [1])]
    return isTogether ? g.together(results) : results
  })
  const loss = g.sum(
    g.concat(
      results.map(([first]) => first!),
      0
    ),
    [0]
  )
  g.output("loss", loss)
  g.output(
    "squares",
    g.concat(
      results.map(([, second]) => second!),
      0
    )
  )
  return g
}

/** Nodes in the order in which the runtime ran them; those it folded or renamed are missing. */
const ran = Effect.fnUntraced(function* (g: Graph) {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped()
  const options = { graphOptimizationLevel: "all", enableProfiling: true, profileFilePrefix: `${folder}/run` } as const
  const { run, session } = yield* load(g, { N: rows }, options)
  const feeds = { theta: noise(layers * width, 1), weight: noise(width * width, 2), x: noise(rows * width, 3) }
  const outputs = yield* run(feeds)
  session.endProfiling()
  const [file] = yield* files.readDirectory(folder)
  const events = yield* Schema.decodeEffect(Profile)(yield* files.readFileString(`${folder}/${file}`))
  const byName = new Map(g.nodes.map((node) => [node.outputs[0]!.name, node]))
  const nodes = events
    .filter(({ cat, name }) => cat === "Node" && name.endsWith("_kernel_time"))
    .toSorted((a, b) => a.ts - b.ts)
    .flatMap(({ name }) => byName.get(name.replace("_kernel_time", "")) ?? [])
  return { nodes, outputs }
})

/** The most values of at least this many elements that are alive at once when nodes run in this order. */
const peak = (order: ReadonlyArray<Node>, elements: number): number => {
  const isLarge = ({ shape }: Value) => shape.reduce<number>((n, d) => n * dimValue(d, { N: rows })!, 1) >= elements
  const lastUse = new Map<Value, number>()
  order.forEach((node, i) => node.inputs.forEach((value) => value && lastUse.set(value, i)))
  let alive: ReadonlyArray<Value> = []
  let most = 0
  order.forEach(({ outputs }, i) => {
    alive = [...alive, ...outputs.filter(isLarge)]
    most = Math.max(most, alive.length)
    alive = alive.filter((value) => (lastUse.get(value) ?? -1) > i)
  })
  return most
}

const products = (nodes: ReadonlyArray<Node>) => nodes.filter(({ op }) => op === "Gemm").length

describe("nodeOrder", () => {
  it("puts every node after those it uses", () => {
    const order = nodeOrder(network(true))
    const position = new Map(order.map((node, i) => [node, i]))
    assert.strictEqual(position.size, order.length)
    order.forEach((node, i) => {
      for (const input of node.inputs) if (input?.node) assert.isBelow(position.get(input.node)!, i)
    })
  })

  it.effect("lets the runtime keep one layer at a time where the layers are checkpoints, with every fusion on", () =>
    Effect.gen(function* () {
      const plain = yield* ran(network(false))
      const checkpointed = yield* ran(network(true))
      assert.deepStrictEqual(checkpointed.outputs["loss"], plain.outputs["loss"])
      checkpointed.outputs["gradient"]!.forEach((x, i) => {
        assert.closeTo(Number(x), Number(plain.outputs["gradient"]![i]), 1e-12)
      })
      // Forward, and backward to all layers but the first; and again where layers are computed twice.
      assert.strictEqual(products(plain.nodes), 2 * layers - 1)
      assert.strictEqual(products(checkpointed.nodes), 3 * layers - 1)
      // Three values of each layer (for the derivatives of sine, exponential and tanh) against one (its input).
      assert.isAtLeast(peak(plain.nodes, rows * width), 3 * layers)
      assert.isAtMost(peak(checkpointed.nodes, rows * width), layers + 6)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("runs chunk by chunk where results of a chunk are tied together", () =>
    Effect.gen(function* () {
      const count = 8
      const loose = yield* ran(chunks(count, false))
      const tied = yield* ran(chunks(count, true))
      assert.deepStrictEqual(tied.outputs, loose.outputs)
      const logits = (rows / count) * width * layers
      assert.isAtLeast(peak(loose.nodes, logits), count)
      assert.isAtMost(peak(tied.nodes, logits), 3)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
