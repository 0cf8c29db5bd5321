/**
 * Recomputes values of checkpoints for the backward pass.
 *
 * A segment's inputs pass a barrier, `where(c, x, x)` with c computed from the gradient that enters it: otherwise the
 * executor's common-subexpression elimination would merge copies with the originals, or run them early.
 */
import type { Graph } from "./Graph.ts"
import type { Segment, Value } from "./Value.ts"

interface Copies {
  readonly values: Map<Value, Value>
  barrier: Value | undefined
}

export interface Recompute {
  /** Recomputes a value of a segment, after the gradient `dy` that enters the segment is available. */
  readonly recall: (value: Value, segment: Segment | undefined, dy: Value) => Value
  /** Records the gradient of a value that a segment uses. */
  readonly passed: (segment: Segment | undefined, used: Value, dx: Value) => void
}

/** Shared by a whole backward pass. */
export const make = (g: Graph): Recompute => {
  const copiesOf = new Map<Segment, Copies>()
  /** By parent segment, the gradients that have left its inner segments, by value. */
  const left = new Map<Segment, Map<Value, Value>>()

  // Otherwise sibling segments would all be recomputed as soon as the gradients that enter them are available, and be
  // kept for those of parameters.
  const before = ({ parent }: Segment): Iterable<Value> => (parent && left.get(parent)?.values()) ?? []

  const recall = (value: Value, segment: Segment | undefined, dy: Value): Value => {
    const { node } = value
    if (segment === undefined) return value
    // Kept values are starts too; otherwise everything computed only from them would be kept as well.
    const isStart = segment.inputs.has(value) || (g.kept.has(value) && node?.segment === segment)
    // Computed before the segment; if it belongs to another segment, it is recomputed there.
    if (!isStart && node?.segment !== segment) return recall(value, segment.parent, dy)
    const copies = copiesOf.get(segment) ?? { values: new Map<Value, Value>(), barrier: undefined }
    copiesOf.set(segment, copies)
    const known = copies.values.get(value)
    if (known !== undefined) return known
    if (isStart || node === undefined) {
      copies.barrier ??= g.isComputed([dy, ...before(segment)])
      const again = g.kept.has(value) ? value : recall(value, segment.parent, dy)
      const copy = g.where(copies.barrier, again, again)
      copies.values.set(value, copy)
      return copy
    }
    const inputs = node.inputs.map((input) => (input === undefined ? undefined : recall(input, segment, dy)))
    const changed = inputs.some((input, i) => input !== node.inputs[i])
    const outputs = changed ? g.multi(node.op, inputs, node.outputs, node.attributes, node.domain) : node.outputs
    node.outputs.forEach((output, i) => copies.values.set(output, outputs[i]!))
    return copies.values.get(value)!
  }
  const passed: Recompute["passed"] = (segment, used, dx) => {
    if (segment?.parent === undefined || used.node?.segment === segment) return
    const gradients = left.get(segment.parent) ?? new Map<Value, Value>()
    left.set(segment.parent, gradients.set(used, dx))
  }
  return { recall, passed }
}
