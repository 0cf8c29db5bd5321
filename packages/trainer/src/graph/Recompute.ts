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

/** The function from a value of a segment to its recomputation, shared by a whole backward pass. */
export const make = (g: Graph): ((value: Value, segment: Segment | undefined, dy: Value) => Value) => {
  const copiesOf = new Map<Segment, Copies>()

  const recall = (value: Value, segment: Segment | undefined, dy: Value): Value => {
    const { node } = value
    if (segment === undefined || (node === undefined && !segment.inputs.has(value))) return value
    const copies = copiesOf.get(segment) ?? { values: new Map<Value, Value>(), barrier: undefined }
    copiesOf.set(segment, copies)
    const known = copies.values.get(value)
    if (known !== undefined) return known
    if (segment.inputs.has(value)) {
      copies.barrier ??= g.isComputed([dy])
      const copy = g.where(copies.barrier, value, value)
      copies.values.set(value, copy)
      return copy
    }
    if (node === undefined || node.segment !== segment || g.kept.has(value)) return value
    const inputs = node.inputs.map((input) => (input === undefined ? undefined : recall(input, segment, dy)))
    const changed = inputs.some((input, i) => input !== node.inputs[i])
    const outputs = changed ? g.multi(node.op, inputs, node.outputs, node.attributes, node.domain) : node.outputs
    node.outputs.forEach((output, i) => copies.values.set(output, outputs[i]!))
    return copies.values.get(value)!
  }
  return recall
}
