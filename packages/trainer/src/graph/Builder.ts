/**
 * Stores a graph: its inputs, constants, nodes and outputs, the symbols in its sizes, checkpoints and custom gradients.
 *
 * Nodes are stored in creation order, which is a valid execution order. Follows ONNX conventions (constants are
 * initializers, axes and shapes are int64 tensors), but is independent of the runtime.
 */
import { byteSize, type DType, onnxCode } from "./DType.ts"
import { type Dim, dimNormal, dimTerms, symbolPattern } from "./Dim.ts"
import { ShapeError } from "./GraphError.ts"
import type { Shape } from "./Shape.ts"
import type { Backward, CustomStep, Step } from "./Step.ts"
import {
  type Attributes,
  type External,
  type Initializer,
  type Node,
  type Segment,
  showType,
  type Signature,
  type Value
} from "./Value.ts"

export class Builder {
  /** The type of real numbers in this graph: the default of `scalar`. */
  readonly real: DType
  readonly inputs: Array<Value> = []
  readonly outputs: Array<Value> = []
  readonly initializers: Array<Initializer> = []
  readonly nodes: Array<Node> = []
  readonly steps: Array<Step> = []
  readonly stopped = new Set<Value>()
  /** Values that no checkpoint recomputes: see `keep`. */
  readonly kept = new Set<Value>()
  /** Sizes that no input has: see `define`. */
  readonly symbols = new Set<string>()
  private readonly constants = new Map<string, Value>()
  private readonly sizes = new Map<Dim, Value>()
  private readonly shapes = new Map<Value, Shape>()
  private segment: Segment | undefined
  private recording = true
  private count = 0

  private readonly prefix: string

  /** `prefix`: start of all value names; needed for a graph inside another. */
  constructor(real: DType = "float32", prefix = "") {
    this.real = real
    this.prefix = prefix
  }

  /** An input of the graph. Its axes that are plain symbols define these symbols. */
  input(name: string, dtype: DType, shape: Shape): Value {
    const value: Value = { name, dtype, shape: shape.map(dimNormal) }
    this.inputs.push(value)
    value.shape.forEach((dim, axis) => {
      if (typeof dim !== "string" || !symbolPattern.test(dim) || this.sizes.has(dim)) return
      const size = this.outside(() => this.node("Shape", [value], "int64", [1], { start: axis, end: axis + 1 }))
      this.keepSize(dim, size)
    })
    return value
  }

  /** Names a computed size (int64 [1]), for use in shapes. */
  define(symbol: string, size: Value): void {
    const fits = symbolPattern.test(symbol) && size.dtype === "int64" && !this.sizes.has(symbol)
    this.require(fits, "define", [size], `${symbol} is in use or not a valid name, or its size is not an int64 [1]`)
    this.symbols.add(symbol)
    this.keepSize(symbol, size)
  }

  /** Makes a value an output of the graph, with its own name. */
  output(name: string, value: Value): void {
    this.outputs.push(this.outside(() => this.emit("Identity", [value], [{ ...value, name }], {}, "")[0]!))
  }

  /** A constant: an array (little-endian, row-major) or a location in a file. */
  initializer(name: string, dtype: DType, shape: ReadonlyArray<number>, data: ArrayBufferView | External): Value {
    const value: Value = { name, dtype, shape }
    const length = shape.reduce((product, dim) => product * dim, byteSize(dtype))
    if (!ArrayBuffer.isView(data)) {
      this.initializers.push({ value, data })
      return value
    }
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    this.require(bytes.length === length, "initializer", [value], `needs ${length} bytes, not ${bytes.length}`)
    this.initializers.push({ value, data: bytes })
    return value
  }

  /** Any operation with one output. The output's type and shape are not checked. */
  node(
    op: string,
    inputs: ReadonlyArray<Value | undefined>,
    dtype: DType,
    shape: Shape,
    attributes: Attributes = {},
    domain = ""
  ): Value {
    return this.emit(op, inputs, [{ dtype, shape }], attributes, domain)[0]!
  }

  multi(
    op: string,
    inputs: ReadonlyArray<Value | undefined>,
    outputs: ReadonlyArray<Signature>,
    attributes: Attributes = {},
    domain = ""
  ): ReadonlyArray<Value> {
    const unnamed = outputs.map(({ dtype, shape }) => ({ dtype, shape }))
    return this.emit(op, inputs, unnamed, attributes, domain)
  }

  /** A constant of shape []. Equal numbers are stored once. */
  scalar(x: number, dtype: DType = this.real): Value {
    return this.constant(`${dtype}:${Object.is(x, -0) ? "-0" : x}`, () => {
      const name = this.freshName("scalar")
      if (dtype === "float64") return this.initializer(name, dtype, [], Float64Array.of(x))
      if (dtype === "int64") return this.initializer(name, dtype, [], BigInt64Array.of(BigInt(x)))
      if (dtype === "int32") return this.initializer(name, dtype, [], Int32Array.of(x))
      if (dtype === "bool") return this.initializer(name, dtype, [], Uint8Array.of(x))
      if (dtype === "float32") return this.initializer(name, dtype, [], Float32Array.of(x))
      const single = this.scalar(x, "float32")
      return this.outside(() => this.node("Cast", [single], dtype, [], { to: onnxCode(dtype) }))
    })
  }

  /** A constant int64 vector: axes, bounds, static shapes. */
  ints(xs: ReadonlyArray<number>): Value {
    return this.constant(`ints:${xs.join(",")}`, () => {
      const name = this.freshName("ints")
      const value = this.initializer(name, "int64", [xs.length], BigInt64Array.from(xs, BigInt))
      this.shapes.set(value, xs)
      return value
    })
  }

  /** A size as an int64 vector of length 1, computed from the inputs' shapes. */
  dim(size: Dim): Value {
    const dim = dimNormal(size)
    if (typeof dim === "number") return this.ints([dim])
    const known = this.sizes.get(dim)
    if (known !== undefined) return known
    const { over, terms } = dimTerms(dim)
    return this.outside(() => {
      const product = (a: Value, b: Value) => this.node("Mul", [a, b], "int64", [1])
      const total = terms
        .map(({ count, symbols }) => {
          const factors = symbols.map((symbol) => this.symbol(symbol, dim))
          return (count === 1 && factors.length > 0 ? factors : [this.ints([count]), ...factors]).reduce(product)
        })
        .reduce((a, b) => this.node("Add", [a, b], "int64", [1]))
      return this.keepSize(dim, over === 1 ? total : this.node("Div", [total, this.ints([over])], "int64", [1]))
    })
  }

  shapeTensor(sizes: Shape): Value {
    const shape = sizes.map(dimNormal)
    if (shape.every((dim) => typeof dim === "number")) return this.ints(shape)
    if (shape.length === 1) return this.dim(shape[0]!)
    return this.constant(`shape:${shape.join(",")}`, () => {
      const parts = shape.map((dim) => this.dim(dim))
      const value = this.outside(() => this.node("Concat", parts, "int64", [shape.length], { axis: 0 }))
      this.shapes.set(value, shape)
      return value
    })
  }

  /** The sizes from which `ints`, `dim` or `shapeTensor` made this value. */
  shapeOf(value: Value | undefined): Shape | undefined {
    return value === undefined ? undefined : this.shapes.get(value)
  }

  /**
   * Recomputes the nodes that `build` adds in the backward pass, from `inputs`, and frees their values in between: less
   * memory for about a third more time. Inputs of a nested checkpoint are recomputed too.
   */
  checkpoint<A>(inputs: ReadonlyArray<Value>, build: () => A): A {
    return this.within({ inputs: new Set(inputs), parent: this.segment }, build)
  }

  /**
   * Marks a value that the backward pass takes from the forward pass, even within a checkpoint: one that is expensive
   * to compute.
   */
  keep(value: Value): Value {
    this.kept.add(value)
    return value
  }

  /**
   * A section with a custom gradient. `build` adds the nodes and returns the outputs with the rule, which may use any
   * value computed inside: what the gradient needs can be computed in the forward pass, while large intermediate values
   * are in memory. Gradients only reach `inputs`.
   */
  customGradient(
    inputs: ReadonlyArray<Value>,
    build: () => { readonly outputs: ReadonlyArray<Value>; readonly backward: Backward }
  ): ReadonlyArray<Value> {
    const first = this.nodes.length
    const recording = this.recording
    this.recording = false
    const { backward, outputs } = build()
    this.recording = recording
    const nodes = this.nodes.slice(first)
    this.require(
      outputs.every(({ node }) => node !== undefined && nodes.includes(node)),
      "customGradient",
      outputs,
      "an output is not computed inside"
    )
    const step: CustomStep = { op: "CustomGradient", inputs, outputs, nodes, segment: this.segment, backward }
    if (recording) this.steps.push(step)
    return outputs
  }

  outside<A>(build: () => A): A {
    return this.within(undefined, build)
  }

  /** Throws a `ShapeError` with the operands unless `claim` holds. */
  require(claim: boolean, op: string, operands: ReadonlyArray<Signature | undefined>, reason: string): asserts claim {
    if (!claim) throw new ShapeError({ op, operands: operands.map(showType), reason })
  }

  private emit(
    op: string,
    inputs: ReadonlyArray<Value | undefined>,
    signatures: ReadonlyArray<Signature & { readonly name?: string }>,
    attributes: Attributes,
    domain: string
  ): ReadonlyArray<Value> {
    const outputs: Array<Value> = []
    const node: Node = { op, domain, inputs, outputs, attributes, segment: this.segment }
    for (const { dtype, name, shape } of signatures) {
      outputs.push({ name: name ?? this.freshName(op), dtype, shape: shape.map(dimNormal), node })
    }
    this.nodes.push(node)
    if (this.recording) this.steps.push(node)
    return outputs
  }

  private within<A>(segment: Segment | undefined, build: () => A): A {
    const outer = this.segment
    this.segment = segment
    const built = build()
    this.segment = outer
    return built
  }

  private constant(key: string, make: () => Value): Value {
    const value = this.constants.get(key) ?? make()
    this.constants.set(key, value)
    return value
  }

  private symbol(name: string, dim: Dim): Value {
    const value = this.sizes.get(name)
    this.require(value !== undefined, "dim", [], `no input has an axis of size ${name}, which ${dim} depends on`)
    return value
  }

  private keepSize(dim: Dim, size: Value): Value {
    this.sizes.set(dim, size)
    this.shapes.set(size, [dim])
    return size
  }

  private freshName(hint: string): string {
    return `${this.prefix}${hint}#${this.count++}`
  }
}
