/**
 * Cases for every rule of the table: a use of the operator, with inputs away from its kinks.
 *
 * Real inputs are checked by central differences, integer ones are indices. Symbols are B = 2 and T = 3.
 */
import type { Shape } from "../../src/graph/Shape.ts"
import type { Graph } from "../../src/graph/Graph.ts"
import type { Value } from "../../src/graph/Value.ts"

export const sizes = { B: 2, T: 3 }

export interface Operand {
  readonly shape: Shape
  /** From a number between -1 and 1. */
  readonly from: (x: number, index: number) => number
  readonly dtype: "float64" | "int32"
}

export interface RuleCase {
  readonly name: string
  readonly operands: ReadonlyArray<Operand>
  readonly build: (g: Graph, ...operands: ReadonlyArray<Value>) => Value
}

const real = (shape: Shape, from: Operand["from"] = (x) => x): Operand => ({ shape, from, dtype: "float64" })
const positive = (shape: Shape): Operand => real(shape, (x) => 1.5 + x)
/** At least 0.25 away from 0. */
const awayFrom0 = (shape: Shape): Operand => real(shape, (x) => x + Math.sign(x) * 0.25)
const ids = (shape: Shape, ...values: ReadonlyArray<number>): Operand => ({
  shape,
  dtype: "int32",
  from: (_, index) => values[index]!
})
/** Permuted multiples of 0.37: no two elements are close. */
const apart = (shape: Shape, offset = 0): Operand => real(shape, (_, index) => ((index * 5) % 13) * 0.37 - 2 + offset)

const of = (
  name: string,
  operands: ReadonlyArray<Operand>,
  build: (g: Graph, a: Value, b: Value, c: Value) => Value
) => ({
  name,
  operands,
  build: (g: Graph, ...[a, b, c]: ReadonlyArray<Value>) => build(g, a!, b!, c!)
})

const elementwise = (build: (g: Graph, a: Value) => Value, operand = real(["B", 3])) => [
  of("one operand", [operand], build)
]

const broadcasting = (
  build: (g: Graph, a: Value, b: Value) => Value,
  make: (shape: Shape, offset?: number) => Operand = (shape) => awayFrom0(shape)
) => [
  of("equal shapes", [make(["B", 3]), make(["B", 3], 0.11)], build),
  of("second stretched", [make(["B", "T", 2]), make(["T", 1], 0.11)], build),
  of("first stretched", [make([2]), make(["B", "T", 2], 0.11)], build),
  of("both stretched", [make(["B", 1, 2]), make(["T", 1], 0.11)], build)
]

const gemms = [false, true].flatMap((transA) =>
  [false, true].map((transB) =>
    of(
      `${transA ? "Aᵀ" : "A"} ${transB ? "Bᵀ" : "B"}`,
      [real(transA ? [4, "B"] : ["B", 4]), real(transB ? ["T", 4] : [4, "T"])],
      (g, a, b) => g.gemm(a, b, transA, transB)
    )
  )
)

const scaledGemm = of("α A B + β C", [real([2, 3]), real([3, 4]), real([4])], (g, a, b, c) =>
  g.node("Gemm", [a, b, c], "float64", [2, 4], { alpha: { float: 0.5 }, beta: { float: -2 } })
)

const scatter = (op: string, index: Shape, updates: Shape, ...at: ReadonlyArray<number>) =>
  ["add", "none"].map((reduction) =>
    of(reduction, [real([3, 2]), ids(index, ...at), real(updates)], (g, a, b, c) =>
      g.node(op, [a, g.cast(b, "int64"), c], "float64", a.shape, { reduction })
    )
  )

export const cases: Readonly<Record<string, ReadonlyArray<RuleCase>>> = {
  Identity: elementwise((g, a) => g.identity(a)),
  Cast: [
    of("there and back", [real(["B", 3], (x) => Math.fround(x))], (g, a) =>
      // Float32 would hide the differences that are measured: the same rule, through a type of equal precision.
      g.node("Cast", [a], "float64", a.shape, { to: 11 })
    )
  ],
  Add: broadcasting((g, a, b) => g.add(a, b)),
  Sub: broadcasting((g, a, b) => g.sub(a, b)),
  Mul: [...broadcasting((g, a, b) => g.mul(a, b)), of("a square", [real(["B", 3])], (g, a) => g.mul(a, a))],
  Div: broadcasting((g, a, b) => g.div(a, b)),
  Pow: broadcasting((g, a, b) => g.pow(a, b), positive),
  Neg: elementwise((g, a) => g.neg(a)),
  Abs: elementwise((g, a) => g.abs(a), awayFrom0(["B", 3])),
  Sign: elementwise((g, a) => g.add(g.sign(a), g.scale(a, 2)), awayFrom0(["B", 3])),
  Exp: elementwise((g, a) => g.exp(a)),
  Log: elementwise((g, a) => g.log(a), positive(["B", 3])),
  Sqrt: elementwise((g, a) => g.sqrt(a), positive(["B", 3])),
  Sin: elementwise((g, a) => g.sin(a)),
  Cos: elementwise((g, a) => g.cos(a)),
  Tanh: elementwise((g, a) => g.tanh(a)),
  Sigmoid: elementwise((g, a) => g.sigmoid(a)),
  Min: broadcasting((g, a, b) => g.min(a, b), apart),
  Max: broadcasting((g, a, b) => g.max(a, b), apart),
  Clip: elementwise((g, a) => g.clip(a, -0.9, 1.1), apart(["B", 5])),
  Where: broadcasting((g, a, b) => g.where(g.greater(a, b), g.mul(a, b), g.sub(b, a)), apart),
  Reshape: [of("symbols", [real(["B", "T", 2])], (g, a) => g.reshape(a, ["2*B*T"]))],
  Transpose: [of("three axes", [real(["B", "T", 2])], (g, a) => g.transpose(a, [2, 0, 1]))],
  Expand: [
    of("a size of 1", [real(["B", 1])], (g, a) => g.expand(a, ["B", "T"])),
    of("a new axis", [real(["T"])], (g, a) => g.expand(a, ["B", "T"]))
  ],
  Slice: [
    of("the middle", [real(["B", 5])], (g, a) => g.slice(a, 1, 1, 3)),
    of("up to a symbol", [real(["B", "2*T"])], (g, a) => g.slice(a, -1, 1, "T")),
    of("all", [real(["B", 5])], (g, a) => g.slice(a, 0, 0))
  ],
  Concat: [
    of("different sizes", [real(["B", 2]), real(["B", "T"]), real(["B", 1])], (g, a, b, c) => g.concat([a, b, c], -1)),
    of("one value twice", [real(["B", 2])], (g, a) => g.concat([a, a], 0))
  ],
  Split: [
    of("equal parts", [real(["B", 6])], (g, a) => {
      const [x, y, z] = g.split(a, 1, 3)
      return g.add(g.mul(x!, y!), z!)
    }),
    of("given sizes, one unused", [real(["2*B", 3])], (g, a) =>
      g.mul(...(g.split(a, 0, [1, "B", "B-1"]).slice(0, 2) as [Value, Value]))
    )
  ],
  Gather: [
    of("repeated rows", [real([4, 3]), ids(["B", 2], 1, 3, 1, 0)], (g, table, at) => g.gather(table, at)),
    of("along the middle axis", [real(["B", 4, 2]), ids([3], 3, 0, 3)], (g, a, at) => g.gather(a, at, 1)),
    of("a matrix of ids along the last axis", [real(["B", 4]), ids([2, 2], 3, 0, 3, 1)], (g, a, at) =>
      g.gather(a, at, 1)
    )
  ],
  GatherElements: [
    of("one per row", [real(["B", 4]), ids(["B", 1], 3, 0)], (g, a, at) => g.gatherLast(a, at)),
    of("several, repeated", [real(["B", 4]), ids(["B", 3], 3, 0, 3, 1, 2, 1)], (g, a, at) => g.gatherLast(a, at))
  ],
  ScatterElements: scatter("ScatterElements", [2, 2], [2, 2], 0, 1, 2, 0),
  ScatterND: scatter("ScatterND", [2, 1], [2, 2], 2, 0),
  MatMul: [
    of("equal batches", [real(["B", "T", 2, 3]), real(["B", "T", 3, 2])], (g, a, b) => g.matmul(a, b)),
    of("broadcast batches", [real(["B", 1, 2, 3]), real([4, 3, 2])], (g, a, b) => g.matmul(a, b)),
    of("one matrix for all", [real(["B", "T", 3]), real([3, 2])], (g, a, b) => g.matmul(a, b)),
    of("one matrix on the left", [real([2, 3]), real(["B", 3, 4])], (g, a, b) => g.matmul(a, b))
  ],
  Gemm: [...gemms, scaledGemm],
  ReduceSum: [
    of("kept", [real(["B", "T", 2])], (g, a) => g.sum(a, [1], true)),
    of("several", [real(["B", "T", 2])], (g, a) => g.sum(a, [0, -1]))
  ],
  ReduceMean: [
    of("a number", [real(["B", 3])], (g, a) => g.mean(a, [-1], true)),
    of("symbols", [real(["B", "T", 2])], (g, a) => g.mean(a, [0, 1]))
  ],
  ReduceMax: [
    of("kept", [apart(["B", 5])], (g, a) => g.amax(a, [-1], true)),
    of("several", [apart(["B", "T", 2])], (g, a) => g.amax(a, [1, 2]))
  ],
  CumSum: [false, true].flatMap((exclusive) =>
    [false, true].map((reverse) =>
      of(`exclusive ${exclusive}, reverse ${reverse}`, [real(["B", "T"])], (g, a) =>
        g.cumsum(a, 1, { exclusive, reverse })
      )
    )
  ),
  Softmax: [of("last axis", [real(["B", "T", 4], (x) => 3 * x)], (g, a) => g.softmax(a))],
  LogSoftmax: [of("last axis", [real(["B", "T", 4], (x) => 3 * x)], (g, a) => g.logSoftmax(a))]
}
