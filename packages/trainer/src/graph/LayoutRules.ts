/** Differentiation rules of operations that move elements: the gradient moves them back, and sums over copies. */
import { type Dim, dimSub } from "./Dim.ts"
import { intOf, intsOf, type Operands, refuse, type Rule, sizesOf, zeros } from "./Rule.ts"
import { axisOf, type Shape, withDim } from "./Shape.ts"
import type { Value } from "./Value.ts"

/** dy with zeros before and after it, along an axis. */
const pad = (g: Operands["g"], dy: Value, axis: number, before: Dim, after: Dim): Value => {
  const block = (size: Dim) => (size === 0 ? [] : [zeros(g, dy, withDim(dy.shape, axis, size))])
  const parts = [...block(before), dy, ...block(after)]
  return parts.length === 1 ? dy : g.concat(parts, axis)
}

/** True if a scatter adds to the existing values, false if it replaces them. */
const adds = (node: Operands["node"]): boolean => {
  const { reduction = "none" } = node.attributes
  if (reduction === "add" || reduction === "none") return reduction === "add"
  return refuse(node, "this reduction is not supported: only add and none are")
}

export const layout: Readonly<Record<string, Rule>> = {
  Reshape: ({ dy, g, shape }) => [() => g.reshape(dy, shape(0)), undefined],
  // y[perm] = a: a' = y' by the inverse permutation
  Transpose: ({ dy, g, node }) => {
    const perm = intsOf(node, "perm")
    const back = perm.map((_, axis) => perm.indexOf(axis))
    return [() => g.transpose(dy, back)]
  },
  // y = a expanded: a' = y' summed over the copies, like all broadcasting
  Expand: ({ dy }) => [() => dy, undefined],
  // y = a[start .. end]: a' = y' between zeros
  Slice: (operands) => {
    const { dy, g, node, shape } = operands
    const [[start], [end], [axis, ...others]] = [1, 2, 3].map((input) => sizesOf(operands, input)) as [
      Shape,
      Shape,
      Shape
    ]
    if (others.length > 0 || node.inputs.length > 4) refuse(node, "it slices several axes or uses steps")
    const after = dimSub(shape(0)[Number(axis)]!, end!)
    return [() => pad(g, dy, Number(axis), start!, after), undefined, undefined, undefined]
  },
  // y = a, b, … concatenated: each gets its part of y'
  Concat: ({ dy, g, node, shape }) => {
    const axis = axisOf(dy.shape, intOf(node, "axis", 0))!
    let parts: ReadonlyArray<Value> | undefined
    const sizes = node.inputs.map((_, i) => shape(i)[axis]!)
    return node.inputs.map((_, i) => () => (parts ??= g.split(dy, axis, sizes))[i]!)
  },
  // y, z, … = a split: a' = y', z', … concatenated
  Split: ({ dyOf, g, node, shape }) => {
    const axis = axisOf(shape(0), intOf(node, "axis", 0))!
    const parts = () => node.outputs.map((_, i) => dyOf(i))
    return [() => g.concat(parts(), axis, shape(0)[axis]), undefined]
  },
  // y_i = a[k_i] (whole rows): a'[k] = sum of y'_i over k_i = k
  Gather: (operands) => {
    const { dy, g, node, shape, x } = operands
    const axis = axisOf(shape(0), intOf(node, "axis", 0))!
    if (axis !== 0) return [() => gatherAlong(operands, axis), undefined]
    const rows = () => g.reshape(g.cast(x(1), "int64"), [...shape(1), 1])
    return [
      () => g.node("ScatterND", [zeros(g, dy, shape(0)), rows(), dy], dy.dtype, shape(0), { reduction: "add" }),
      undefined
    ]
  },
  // y_i = a[k_i] along an axis: a'[k] = sum of y'_i over k_i = k
  GatherElements: ({ dy, g, node, shape, x }) => {
    const axis = axisOf(shape(0), intOf(node, "axis", 0))!
    // One index per row has no collisions, so replacing equals adding, and runs in parallel.
    const reduction = dy.shape[axis] === 1 ? "none" : "add"
    const into = () => [zeros(g, dy, shape(0)), x(1), dy]
    return [() => g.node("ScatterElements", into(), dy.dtype, shape(0), { axis, reduction }), undefined]
  },
  // y = a, with b added (or written) at indices: a' = y' (0 where written), b' = y' at the indices
  ScatterElements: ({ dy, g, node, shape, x }) => {
    const axis = axisOf(shape(0), intOf(node, "axis", 0))!
    const nothing = () => zeros(g, dy, shape(2))
    const erased = () => g.node("ScatterElements", [dy, x(1), nothing()], dy.dtype, dy.shape, { axis })
    return [
      () => (adds(node) ? dy : erased()),
      undefined,
      () => g.node("GatherElements", [dy, x(1)], dy.dtype, shape(2), { axis })
    ]
  },
  // the same with whole slices: b' = y' at the indices
  ScatterND: ({ dy, g, node, shape, x }) => {
    const erased = () => g.node("ScatterND", [dy, x(1), zeros(g, dy, shape(2))], dy.dtype, dy.shape)
    return [() => (adds(node) ? dy : erased()), undefined, () => g.node("GatherND", [dy, x(1)], dy.dtype, shape(2))]
  }
}

/** Gather along a later axis: transposed to the front, scattered, transposed back. */
const gatherAlong = ({ dy, g, shape, x }: Operands, axis: number): Value => {
  const ids = shape(1).length
  const axes = shape(0).map((_, i) => i)
  const front = [axis, ...axes.filter((i) => i !== axis)]
  const dyAxes = dy.shape.map((_, i) => i)
  const dyFront = [...dyAxes.slice(axis, axis + ids), ...dyAxes.slice(0, axis), ...dyAxes.slice(axis + ids)]
  const turned = front.map((i) => shape(0)[i]!)
  const rows = g.reshape(g.cast(x(1), "int64"), [...shape(1), 1])
  const into = [zeros(g, dy, turned), rows, g.transpose(dy, dyFront)]
  const sum = g.node("ScatterND", into, dy.dtype, turned, { reduction: "add" })
  const back = axes.map((i) => front.indexOf(i))
  return g.transpose(sum, back)
}
