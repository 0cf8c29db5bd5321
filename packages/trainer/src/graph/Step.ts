/** Steps of the backward pass, and the interface of custom gradients. */
import type { Node, Segment, Value } from "./Value.ts"

export interface BackwardContext {
  /** A forward value for use in the backward pass: recomputed if it is in a checkpoint. */
  readonly recall: (value: Value) => Value
  /** True if the gradient of the i-th input is needed. */
  readonly needs: (input: number) => boolean
}

/**
 * Gradients of the inputs from those of the outputs: one per input and of its shape, undefined for none. The gradient
 * of an output that the loss does not depend on is undefined.
 */
export type Backward = (
  gradients: ReadonlyArray<Value | undefined>,
  context: BackwardContext
) => ReadonlyArray<Value | undefined>

/** A section that is differentiated as one step, by its own rule. */
export interface CustomStep {
  readonly op: "CustomGradient"
  readonly inputs: ReadonlyArray<Value>
  readonly outputs: ReadonlyArray<Value>
  readonly nodes: ReadonlyArray<Node>
  readonly segment: Segment | undefined
  readonly backward: Backward
}

/** Visited by the backward pass in reverse. */
export type Step = Node | CustomStep
