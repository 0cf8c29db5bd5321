/** Elements of a graph: values, and the nodes that compute them. */
import type { DType } from "./DType.ts"
import { type Shape, showShape } from "./Shape.ts"

/** A tensor of the graph: an input, a constant, or the output of a node. */
export interface Value {
  readonly name: string
  readonly dtype: DType
  readonly shape: Shape
  /** The node that computes it; absent for inputs and constants. */
  readonly node?: Node
}

/** An attribute of a node. A bare number is an integer; a floating-point number is `{ float }`. */
export type Attribute = number | string | ReadonlyArray<number> | { readonly float: number } | { readonly body: Body }

export type Attributes = Readonly<Record<string, Attribute>>

/** The graph that a node runs, such as the body of a loop. */
export interface Body {
  readonly inputs: ReadonlyArray<Value>
  readonly outputs: ReadonlyArray<Value>
  readonly initializers: ReadonlyArray<Initializer>
  readonly nodes: ReadonlyArray<Node>
  /** Sizes that it computes itself. */
  readonly symbols: ReadonlySet<string>
  /** Its placeholders for values of the enclosing graph: the last inputs of the node, in order. */
  readonly captured: ReadonlyArray<Value>
}

/** One ONNX operation. An undefined input is an omitted optional one. */
export interface Node {
  readonly op: string
  /** "" for ONNX's own operators, "com.microsoft" for ONNX Runtime's. */
  readonly domain: string
  readonly inputs: ReadonlyArray<Value | undefined>
  readonly outputs: ReadonlyArray<Value>
  readonly attributes: Attributes
  readonly segment: Segment | undefined
}

/** Type and shape of a node's output, before it has a name. */
export interface Signature {
  readonly dtype: DType
  readonly shape: Shape
}

/** Nodes whose outputs are recomputed for the backward pass instead of being stored. */
export interface Segment {
  /** Starting values of the recomputation. */
  readonly inputs: ReadonlySet<Value>
  /** The enclosing segment: its inputs may need recomputation too. */
  readonly parent: Segment | undefined
}

/** A constant: its bytes (little-endian), or its location in a file that is read when the graph is loaded. */
export interface Initializer {
  readonly value: Value
  readonly data: Uint8Array | External
}

/** A location in a file; the length follows from type and shape. */
export interface External {
  readonly file: string
  readonly offset: number
}

/** Type and shape as text: `float32[B, 4]`. */
export const showType = (value: Signature | undefined): string =>
  value === undefined ? "none" : `${value.dtype}${showShape(value.shape)}`

export const bodyOf = ({ attributes }: Node): Body | undefined => {
  const { body } = attributes
  return typeof body === "object" && "body" in body ? body.body : undefined
}
