/**
 * Values of checkpoints, computed a second time for the backward pass.
 *
 * A copy of a node with the same inputs would be merged with the original by the executor's common-subexpression
 * elimination, and could run as early. So the segment's inputs pass a barrier, `where(c, x, x)` with c computed from
 * the gradient that enters the segment: the copies differ from the originals, and cannot run before that gradient is
 * there.
 */
import type { Graph } from "./Graph.ts"
import type { Segment, Value } from "./Value.ts"

interface Copies {
  readonly values: Map<Value, Value>
  barrier: Value | undefined
}

export interface Recompute {
  /** A value of a segment computed again, once the gradient `dy` that enters the segment is there. */
  readonly recall: (value: Value, segment: Segment | undefined, dy: Value) => Value
  /** The gradient of a value that a segment uses is there. */
  readonly passed: (segment: Segment | undefined, used: Value, dx: Value) => void
}

/** Shared by a whole backward pass. */
export const make = (g: Graph): Recompute => {
  const copiesOf = new Map<Segment, Copies>()
  /** By segment, the gradients that have left segments inside of it, by what they are of. */
  const left = new Map<Segment, Map<Value, Value>>()

  // Else segments side by side in another would all be computed again as soon as the gradients are there that enter
  // them, and be kept for those of parameters.
  const before = ({ parent }: Segment): Iterable<Value> => (parent && left.get(parent)?.values()) ?? []

  const recall = (value: Value, segment: Segment | undefined, dy: Value): Value => {
    const { node } = value
    if (segment === undefined) return value
    // It starts from what is kept, too: else all that is made of that alone would be kept with it.
    const isStart = segment.inputs.has(value) || (g.kept.has(value) && node?.segment === segment)
    // Computed before the segment: where that is in another one, it is computed again there.
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
