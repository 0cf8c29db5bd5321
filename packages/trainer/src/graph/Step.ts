/**
 * What the backward pass goes through, and what a gradient given by hand looks like.
 */
import type { Node, Segment, Value } from "./Value.ts"

/** What the backward pass of a stretch of graph may ask for. */
export interface BackwardContext {
  /** A value of the forward pass as the backward pass should use it: recomputed where it lies in a checkpoint. */
  readonly recall: (value: Value) => Value
  /** Whether the gradient of the i-th input is wanted. */
  readonly needs: (input: number) => boolean
}

/**
 * Gradients of the inputs from those of the outputs: one per input and of its shape, undefined for none. An output that
 * the loss does not depend on has the gradient undefined.
 */
export type Backward = (
  gradients: ReadonlyArray<Value | undefined>,
  context: BackwardContext
) => ReadonlyArray<Value | undefined>

/** A stretch of graph that is differentiated as one step, by its own rule. */
export interface CustomStep {
  readonly op: "CustomGradient"
  readonly inputs: ReadonlyArray<Value>
  readonly outputs: ReadonlyArray<Value>
  readonly nodes: ReadonlyArray<Node>
  readonly segment: Segment | undefined
  readonly backward: Backward
}

/** What the backward pass goes through, last first. */
export type Step = Node | CustomStep
