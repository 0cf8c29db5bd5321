/** Rules of operations that move elements: the gradient moves them back, and adds those that went to several places. */
import { type Dim, dimSub } from "../Dim.ts"
import { intOf, intsOf, type Operands, type Rule, sizesOf, zeros } from "../Rule.ts"
import { axisOf, withDim } from "../Shape.ts"
import type { Value } from "../Value.ts"

/** dy with zeros before and behind, along an axis. */
const pad = (g: Operands["g"], dy: Value, axis: number, before: Dim, behind: Dim): Value => {
  const block = (size: Dim) => (size === 0 ? [] : [zeros(g, dy, withDim(dy.shape, axis, size))])
  const parts = [...block(before), dy, ...block(behind)]
  return parts.length === 1 ? dy : g.concat(parts, axis)
}

/** Zeros of the input's shape, with dy added at indices along an axis. */
const scatterAdd = ({ dy, g, node, shape, x }: Operands, axis: number): Value =>
  g.node("ScatterElements", [zeros(g, dy, shape(0)), x(1), dy], dy.dtype, shape(0), {
    axis,
    reduction: node.op === "GatherElements" && dy.shape[axis] === 1 ? "none" : "add"
  })

export const layout: Readonly<Record<string, Rule>> = {
  Reshape: ({ dy, g, shape }) => [() => g.reshape(dy, shape(0)), undefined],
  // y[perm] = a: a' = y' by the inverse permutation
  Transpose: ({ dy, g, node }) => {
    const perm = intsOf(node, "perm")
    return [
      () =>
        g.transpose(
          dy,
          perm.map((_, axis) => perm.indexOf(axis))
        )
    ]
  },
  // y = a stretched: a' = y' summed over the copies, as all broadcasting is
  Expand: ({ dy }) => [() => dy, undefined],
  // y = a[start .. end]: a' = y' between zeros
  Slice: (operands) => {
    const { dy, g, shape } = operands
    const [starts, ends, axes] = [1, 2, 3].map((input) => sizesOf(operands, input))
    const axis = Number(axes![0])
    return [() => pad(g, dy, axis, starts![0]!, dimSub(shape(0)[axis]!, ends![0]!)), undefined, undefined, undefined]
  },
  // y = a, b, … side by side: each gets its stretch of y'
  Concat: ({ dy, g, node, shape }) => {
    const axis = axisOf(dy.shape, intOf(node, "axis", 0))!
    let parts: ReadonlyArray<Value> | undefined
    const sizes = node.inputs.map((_, i) => shape(i)[axis]!)
    return node.inputs.map((_, i) => () => (parts ??= g.split(dy, axis, sizes))[i]!)
  },
  // y, z, … = a in parts: a' = y', z', … side by side
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
  GatherElements: (operands) => {
    const axis = axisOf(operands.shape(0), intOf(operands.node, "axis", 0))!
    return [() => scatterAdd(operands, axis), undefined]
  },
  // y = a, with b added (or written) at indices: a' = y' (0 where written), b' = y' at the indices
  ScatterElements: ({ dy, g, node, shape, x }) => {
    const axis = axisOf(shape(0), intOf(node, "axis", 0))!
    const nothing = () => zeros(g, dy, shape(2))
    const erased = () => g.node("ScatterElements", [dy, x(1), nothing()], dy.dtype, dy.shape, { axis })
    return [
      () => (node.attributes["reduction"] === "add" ? dy : erased()),
      undefined,
      () => g.node("GatherElements", [dy, x(1)], dy.dtype, shape(2), { axis })
    ]
  },
  // the same with whole slices: b' = y' at the indices
  ScatterND: ({ dy, g, node, shape, x }) => {
    const erased = () => g.node("ScatterND", [dy, x(1), zeros(g, dy, shape(2))], dy.dtype, dy.shape)
    return [
      () => (node.attributes["reduction"] === "add" ? dy : erased()),
      undefined,
      () => g.node("GatherND", [dy, x(1)], dy.dtype, shape(2))
    ]
  }
}

/** Gather along a later axis: turned to the front, scattered, turned back. */
const gatherAlong = ({ dy, g, shape, x }: Operands, axis: number): Value => {
  const rank = shape(0).length
  const ids = shape(1).length
  const front = [
    axis,
    ...shape(0)
      .keys()
      .filter((i) => i !== axis)
  ]
  const dyFront = [
    ...Array(ids)
      .keys()
      .map((i) => axis + i),
    ...dy.shape.keys().filter((i) => i < axis || i >= axis + ids)
  ]
  const turned = front.map((i) => shape(0)[i]!)
  const rows = g.reshape(g.cast(x(1), "int64"), [...shape(1), 1])
  const sum = g.node("ScatterND", [zeros(g, dy, turned), rows, g.transpose(dy, dyFront)], dy.dtype, turned, {
    reduction: "add"
  })
  return g.transpose(
    sum,
    Array.from({ length: rank }, (_, i) => front.indexOf(i))
  )
}
