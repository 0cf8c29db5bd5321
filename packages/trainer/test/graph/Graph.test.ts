import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Graph } from "../../src/graph/Graph.ts"
import { InvalidGraph, ShapeError } from "../../src/graph/GraphError.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import type { Value } from "../../src/graph/Value.ts"
import { load } from "./RunGraph.ts"

const mistakes: ReadonlyArray<readonly [string, (g: Graph, a: Value, b: Value) => void, string]> = [
  [
    "sizes that do not broadcast",
    (g, a, b) => g.add(a, b),
    "Add(float32[B, 3], float32[4, T]): the shapes do not broadcast"
  ],
  ["two types", (g, a) => g.mul(a, g.scalar(1, "int64")), "Mul(float32[B, 3], int64[]): the types differ"],
  [
    "inner sizes of a product",
    (g, a, b) => g.gemm(a, b, false, true),
    "Gemm(float32[B, 3], float32[4, T]): inner sizes or types differ: [B, 3] x transposed [T, 4]"
  ],
  [
    "another number of elements",
    (g, a) => g.reshape(a, ["B", 4]),
    "Reshape(float32[B, 3]): [B, 4] has another number of elements"
  ],
  ["an axis that is not there", (g, a) => g.sum(a, [2]), "ReduceSum(float32[B, 3]): has no axis 2"],
  ["no axis", (g, a) => g.sum(a, []), "ReduceSum(float32[B, 3]): needs an axis"],
  ["a slice beyond the end", (g, a) => g.slice(a, 1, 2, 5), "Slice(float32[B, 3]): 2 to 5 of axis 1 is out of range"],
  [
    "parts that differ",
    (g, a, b) => g.concat([a, b], 0),
    "Concat(float32[B, 3], float32[4, T]): differ in more than axis 0"
  ],
  ["parts that miss the whole", (g, a) => g.split(a, 0, ["B", 1]), "Split(float32[B, 3]): axis 0 is not [B, 1] in all"],
  ["a part that is not whole", (g, a) => g.split(a, 1, 2), "dimDiv(): 3/2 is not whole"],
  [
    "no permutation",
    (g, a) => g.transpose(a, [0, 0]),
    "Transpose(float32[B, 3]): [0, 0] is not a permutation of the axes"
  ],
  [
    "a condition that is none",
    (g, a) => g.where(a, a, a),
    "Where(float32[B, 3], float32[B, 3], float32[B, 3]): do not broadcast, or differ in type"
  ],
  [
    "a symbol of no input",
    (g, a) => g.expand(a, ["S", "B", 3]),
    "dim(): no input has an axis of size S, which S depends on"
  ],
  [
    "too few bytes",
    (g) => g.initializer("w", "float32", [2], new Uint8Array(4)),
    "initializer(float32[2]): needs 8 bytes, not 4"
  ]
]

describe("Graph", () => {
  for (const [name, build, message] of mistakes) {
    it(`refuses ${name} where it is written`, () => {
      const g = new Graph()
      const a = g.input("a", "float32", ["B", 3])
      const b = g.input("b", "float32", [4, "T"])
      const error = (() => {
        try {
          return build(g, a, b)
        } catch (error) {
          return error
        }
      })()
      assert.instanceOf(error, ShapeError)
      assert.strictEqual(error.message, message)
    })
  }

  it("refuses a graph with two values of a name, unknown symbols, values of another graph, or no output", () => {
    const other = new Graph().input("far", "float32", [1])
    const g = new Graph()
    const a = g.input("a", "float32", [1])
    g.input("a", "float32", [1])
    const b = g.node("Add", [a, other], "float32", ["S"])
    assert.throws(() => toOnnx(g), InvalidGraph, "it has no output")
    g.output("y", b)
    assert.throws(
      () => toOnnx(g),
      InvalidGraph,
      "two values are named a; Add uses far of another graph; Add has an axis of size S, which no input has"
    )
  })

  it.effect("computes sizes from the inputs' shapes in a run", () =>
    Effect.gen(function* () {
      const g = new Graph("float64")
      const a = g.input("a", "float64", ["B", "T"])
      g.input("b", "float64", ["P"])
      g.output("size", g.shapeTensor([g.dimDiv(g.dimMul("B", "T"), 4), g.dimMul(2, "P"), "B+P-1", "(B+P)/3", 7]))
      g.output("flat", g.reshape(a, ["T*B"]))
      const { run } = yield* load(g, { B: 2, T: 6, P: 4 })
      const outputs = yield* run({ a: Float64Array.from({ length: 12 }, (_, i) => i), b: new Float64Array(4) })
      assert.deepStrictEqual(outputs["size"], BigInt64Array.of(3n, 8n, 5n, 2n, 7n))
      assert.deepStrictEqual(
        outputs["flat"],
        Float64Array.from({ length: 12 }, (_, i) => i)
      )
    })
  )

  it.effect("keeps a fraction of an axis exact: sizes that do not divide fail the run", () =>
    Effect.gen(function* () {
      const g = new Graph("float64")
      const [first] = g.split(g.input("a", "float64", ["N"]), 0, 2)
      g.output("first", first!)
      const even = yield* load(g, { N: 4 })
      assert.deepStrictEqual((yield* even.run({ a: Float64Array.of(1, 2, 3, 4) }))["first"], Float64Array.of(1, 2))
      const odd = yield* load(g, { N: 5 })
      const exit = yield* Effect.exit(odd.run({ a: new Float64Array(5) }))
      assert.strictEqual(exit._tag, "Failure")
    })
  )

  it.effect("writes constants of every type", () =>
    Effect.gen(function* () {
      const g = new Graph()
      g.output("halves", g.cast(g.add(g.scalar(0.5, "float16"), g.scalar(1, "float16")), "float32"))
      g.output("brain", g.cast(g.scalar(-2, "bfloat16"), "float32"))
      g.output("int32", g.scalar(-7, "int32"))
      g.output("truth", g.cast(g.scalar(1, "bool"), "float32"))
      g.output("zeros", g.div(g.scalar(1), g.scalar(-0)))
      const { run } = yield* load(g)
      const outputs = yield* run({})
      assert.deepStrictEqual(outputs["halves"], Float32Array.of(1.5))
      assert.deepStrictEqual(outputs["brain"], Float32Array.of(-2))
      assert.deepStrictEqual(outputs["int32"], Int32Array.of(-7))
      assert.deepStrictEqual(outputs["truth"], Float32Array.of(1))
      assert.deepStrictEqual(outputs["zeros"], Float32Array.of(-Infinity))
    })
  )

  it("leaves out what no output needs, and says which folder its files lie in", () => {
    const g = new Graph()
    const a = g.input("a", "float32", [2])
    const weight = g.initializer("w", "bfloat16", [2], { file: "model.safetensors", offset: 16 })
    const bias = g.initializer("b", "bfloat16", [2], { file: "model.safetensors", offset: 20 })
    g.initializer("unused", "bfloat16", [2], { file: "other.safetensors", offset: 0 })
    g.exp(a)
    g.output("y", g.add(g.mul(a, g.cast(weight, "float32")), g.cast(bias, "float32")))
    const { external, onnx } = toOnnx(g)
    assert.deepStrictEqual(external, { folder: process.cwd() })
    const text = new TextDecoder("latin1").decode(onnx)
    assert.isFalse(text.includes("Exp") || text.includes("unused"))
    assert.isTrue(text.includes("offset\u0012\u000220") && text.includes("length\u0012\u00014"))
  })
})
