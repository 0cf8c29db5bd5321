/** Interface of a differentiation rule: maps the gradients of a node's outputs to those of its inputs. */
import type { Graph } from "./Graph.ts"
import { GradientError } from "./GraphError.ts"
import type { Shape } from "./Shape.ts"
import type { Node, Value } from "./Value.ts"

/** Inputs of a rule. dy is the gradient of the loss with respect to the (first) output, never absent. */
export interface Operands {
  readonly g: Graph
  readonly node: Node
  readonly dy: Value
  /** Gradient of the i-th output; zeros if the loss does not depend on it. */
  readonly dyOf: (output: number) => Value
  /** The i-th input, recomputed if it is in a checkpoint. */
  readonly x: (input: number) => Value
  /** The first output, likewise. */
  readonly y: () => Value
  readonly shape: (input: number) => Shape
}

/**
 * Per input, a function that emits its gradient; absent if none (indices, axes, conditions). Only called for
 * inputs whose gradient is needed. A gradient may still be expanded by broadcasting: it is then summed to the input's
 * shape.
 */
export type Rule = (operands: Operands) => ReadonlyArray<(() => Value) | undefined>

/** Fails because this use of the operator has no rule. */
export const refuse = (node: Node, reason: string): never => {
  throw new GradientError({ op: node.op, value: node.outputs[0]!.name, reason })
}

export const intOf = (node: Node, name: string, absent: number): number => {
  const attribute = node.attributes[name]
  return typeof attribute === "number" ? attribute : absent
}

export const floatOf = (node: Node, name: string, absent: number): number => {
  const attribute = node.attributes[name]
  return typeof attribute === "object" && "float" in attribute ? attribute.float : absent
}

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

export const zeros = (g: Graph, like: Value, shape: Shape): Value => g.expand(g.scalar(0, like.dtype), shape)
