/** What a differentiation rule is: how the gradients of a node's inputs follow from those of its outputs. */
import type { Graph } from "./Graph.ts"
import { GradientError } from "./GraphError.ts"
import type { Shape } from "./Shape.ts"
import type { Node, Value } from "./Value.ts"

/** What a rule works with. dy is the gradient of the loss with respect to the (first) output, never absent. */
export interface Operands {
  readonly g: Graph
  readonly node: Node
  readonly dy: Value
  /** Gradient of the i-th output; zeros where the loss does not depend on it. */
  readonly dyOf: (output: number) => Value
  /** The i-th input, recomputed where it lies in a checkpoint. */
  readonly x: (input: number) => Value
  /** The first output, likewise. */
  readonly y: () => Value
  /** Shape of the i-th input. */
  readonly shape: (input: number) => Shape
}

/**
 * Per input, a function that emits its gradient; absent where there is none (indices, axes, conditions). Called only
 * for inputs that the gradient is wanted of. A gradient may still be stretched by broadcasting: it is summed to the
 * input's shape after.
 */
export type Rule = (operands: Operands) => ReadonlyArray<(() => Value) | undefined>

/** Fails: this use of the operator has no rule. */
export const refuse = (node: Node, reason: string): never => {
  throw new GradientError({ op: node.op, value: node.outputs[0]!.name, reason })
}

/** An integer attribute. */
export const intOf = (node: Node, name: string, absent: number): number => {
  const attribute = node.attributes[name]
  return typeof attribute === "number" ? attribute : absent
}

/** A real attribute. */
export const floatOf = (node: Node, name: string, absent: number): number => {
  const attribute = node.attributes[name]
  return typeof attribute === "object" && "float" in attribute ? attribute.float : absent
}

/** A list attribute. */
export const intsOf = (node: Node, name: string): ReadonlyArray<number> => {
  const attribute = node.attributes[name]
  if (Array.isArray(attribute)) return attribute
  return refuse(node, `it has no attribute ${name}`)
}

/** The sizes that an input with axes, bounds or a shape was made from. */
export const sizesOf = ({ g, node }: Operands, input: number): Shape => {
  const sizes = g.shapeOf(node.inputs[input])
  return sizes ?? refuse(node, `input ${input} must be known while the graph is built`)
}

/** Zeros of a shape. */
export const zeros = (g: Graph, like: Value, shape: Shape): Value => g.expand(g.scalar(0, like.dtype), shape)
