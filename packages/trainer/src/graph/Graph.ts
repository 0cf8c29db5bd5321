/**
 * Builds a typed graph of ONNX operations by method calls; every call checks its operands' types and shapes.
 *
 * Sizes may be symbols ("B", "T") and expressions over them ("2*B*T", "B*T/4"): one graph serves every size. Methods
 * are ONNX operators (https://onnx.ai/onnx/operators, opset 21) under the names of array libraries; `node` and `multi`
 * add any other. Negative axes count from the end.
 */
import { type Dim, dimAdd, dimDiv, dimMul, dimSub, dimSymbols } from "./Dim.ts"
import { Elementwise } from "./Elementwise.ts"
import { axisOf, broadcast, sameShape, type Shape, showShape, withDim } from "./Shape.ts"
import type { Value } from "./Value.ts"

export class Graph extends Elementwise {
  dimMul(...dims: ReadonlyArray<Dim>): Dim {
    return dimMul(...dims)
  }

  /** dim / count; must be an integer for the sizes of every run. */
  dimDiv(dim: Dim, count: number): Dim {
    const quotient = dimDiv(dim, count)
    this.require(
      typeof quotient === "number" || dimSymbols(quotient).length > 0,
      "dimDiv",
      [],
      `${dim}/${count} is not whole`
    )
    return quotient
  }

  /** [..., M, K] x [..., K, N]; leading axes broadcast. */
  matmul(a: Value, b: Value): Value {
    const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2))
    const fits = a.shape.length >= 2 && b.shape.length >= 2 && a.shape.at(-1) === b.shape.at(-2)
    this.require(fits && batch !== undefined && a.dtype === b.dtype, "MatMul", [a, b], "inner sizes or types differ")
    return this.node("MatMul", [a, b], a.dtype, [...batch, a.shape.at(-2)!, b.shape.at(-1)!])
  }

  /** Product of two matrices, each optionally transposed in place, without a transposed copy. */
  gemm(a: Value, b: Value, transA = false, transB = false): Value {
    const [m, k] = transA ? a.shape.toReversed() : a.shape
    const [k2, n] = transB ? b.shape.toReversed() : b.shape
    const fits = a.shape.length === 2 && b.shape.length === 2 && k === k2 && a.dtype === b.dtype
    const how = `${transA ? "transposed " : ""}[${m}, ${k}] x ${transB ? "transposed " : ""}[${k2}, ${n}]`
    this.require(fits, "Gemm", [a, b], `inner sizes or types differ: ${how}`)
    return this.node("Gemm", [a, b], a.dtype, [m!, n!], { transA: Number(transA), transB: Number(transB) })
  }

  transpose(a: Value, perm: ReadonlyArray<number>): Value {
    const fits = perm.length === a.shape.length && perm.toSorted((x, y) => x - y).every((axis, i) => axis === i)
    this.require(fits, "Transpose", [a], `[${perm.join(", ")}] is not a permutation of the axes`)
    return this.node(
      "Transpose",
      [a],
      a.dtype,
      perm.map((axis) => a.shape[axis]!),
      { perm }
    )
  }

  reshape(a: Value, shape: Shape): Value {
    if (sameShape(a.shape, shape)) return a
    const fits = dimMul(...a.shape) === dimMul(...shape)
    this.require(fits, "Reshape", [a], `${showShape(shape)} has another number of elements`)
    return this.node("Reshape", [a, this.shapeTensor(shape)], a.dtype, shape)
  }

  expand(a: Value, shape: Shape): Value {
    if (sameShape(a.shape, shape)) return a
    const fits = sameShape(broadcast(a.shape, shape) ?? [], shape)
    this.require(fits, "Expand", [a], `does not broadcast to ${showShape(shape)}`)
    return this.node("Expand", [a, this.shapeTensor(shape)], a.dtype, shape)
  }

  /** Elements start <= i < end of an axis; default: to its end. */
  slice(a: Value, axis: number, start: Dim, end?: Dim): Value {
    const at = this.axis("Slice", a, axis)
    const size = a.shape[at]!
    const stop = end ?? size
    const length = dimSub(stop, start)
    const beyond = typeof size === "number" && typeof stop === "number" && stop > size
    const negative = [length, start].some((dim) => typeof dim === "number" && dim < 0)
    this.require(!beyond && !negative, "Slice", [a], `${start} to ${stop} of axis ${at} is out of range`)
    return this.node(
      "Slice",
      [a, this.dim(start), this.dim(stop), this.ints([at])],
      a.dtype,
      withDim(a.shape, at, length)
    )
  }

  /** `size`: name of the concatenated axis' size, if not the sum. */
  concat(parts: ReadonlyArray<Value>, axis: number, size?: Dim): Value {
    const [first] = parts
    this.require(first !== undefined, "Concat", parts, "needs at least one part")
    const at = this.axis("Concat", first, axis)
    const fits = parts.every(
      ({ dtype, shape }) => dtype === first.dtype && sameShape(withDim(shape, at, 1), withDim(first.shape, at, 1))
    )
    this.require(fits, "Concat", parts, `differ in more than axis ${at}`)
    const total = size ?? dimAdd(...parts.map(({ shape }) => shape[at]!))
    return this.node("Concat", parts, first.dtype, withDim(first.shape, at, total), { axis: at })
  }

  /** Splits an axis into `parts` equal parts, or into parts of these sizes, which must sum to it. */
  split(a: Value, axis: number, parts: number | ReadonlyArray<Dim>): ReadonlyArray<Value> {
    const at = this.axis("Split", a, axis)
    const size = a.shape[at]!
    const sizes =
      typeof parts === "number" ? Array.from({ length: parts }, () => this.dimDiv(size, parts)) : Array.from(parts)
    this.require(dimAdd(...sizes) === size, "Split", [a], `axis ${at} is not ${showShape(sizes)} in all`)
    const outputs = sizes.map((part) => ({ dtype: a.dtype, shape: withDim(a.shape, at, part) }))
    return this.multi("Split", [a, this.shapeTensor(sizes)], outputs, { axis: at })
  }

  /** Rows of a table [V, ...] at ids [...]. */
  gather(table: Value, ids: Value, axis = 0): Value {
    const at = this.axis("Gather", table, axis)
    this.require(ids.dtype === "int32" || ids.dtype === "int64", "Gather", [table, ids], "ids must be integers")
    const shape = [...table.shape.slice(0, at), ...ids.shape, ...table.shape.slice(at + 1)]
    return this.node("Gather", [table, ids], table.dtype, shape, { axis: at })
  }

  /** Elements of x [..., V] at ids [..., K], along the last axis. */
  gatherLast(x: Value, ids: Value): Value {
    const fits = sameShape(x.shape.slice(0, -1), ids.shape.slice(0, -1)) && x.shape.length === ids.shape.length
    const whole = ids.dtype === "int32" || ids.dtype === "int64"
    this.require(fits && whole, "GatherElements", [x, ids], "leading sizes differ, or ids are not integers")
    return this.node("GatherElements", [x, ids], x.dtype, ids.shape, { axis: x.shape.length - 1 })
  }

  sum(a: Value, axes: ReadonlyArray<number>, keep = false): Value {
    return this.reduce("ReduceSum", a, axes, keep)
  }

  mean(a: Value, axes: ReadonlyArray<number>, keep = false): Value {
    return this.reduce("ReduceMean", a, axes, keep)
  }

  amax(a: Value, axes: ReadonlyArray<number>, keep = false): Value {
    return this.reduce("ReduceMax", a, axes, keep)
  }

  cumsum(a: Value, axis: number, options: { readonly exclusive?: boolean; readonly reverse?: boolean } = {}): Value {
    const at = this.scalar(this.axis("CumSum", a, axis), "int64")
    const { exclusive = false, reverse = false } = options
    return this.node("CumSum", [a, at], a.dtype, a.shape, { exclusive: Number(exclusive), reverse: Number(reverse) })
  }

  /** Along the last axis. */
  softmax(a: Value): Value {
    return this.node("Softmax", [a], a.dtype, a.shape, { axis: this.axis("Softmax", a, -1) })
  }

  /** Along the last axis. */
  logSoftmax(a: Value): Value {
    return this.node("LogSoftmax", [a], a.dtype, a.shape, { axis: this.axis("LogSoftmax", a, -1) })
  }

  /** ln Σ exp(a) along the last axis, which stays as 1; the maximum is subtracted first, so that nothing overflows. */
  logSumExp(a: Value): Value {
    const greatest = this.stopGradient(this.amax(a, [-1], true))
    return this.add(greatest, this.log(this.sum(this.exp(this.sub(a, greatest)), [-1], true)))
  }

  /**
   * Copies of the values, none of which is available before all are computed. The runtime works depth first from the
   * outputs: a value needed only much later would be computed then, and everything it is computed from kept until then.
   */
  together(values: ReadonlyArray<Value>): ReadonlyArray<Value> {
    const condition = this.isComputed(values)
    return values.flatMap((value) =>
      this.customGradient([value], () => ({
        outputs: [this.where(condition, value, value)],
        backward: (gradients) => gradients
      }))
    )
  }

  /** A bool scalar that is available once these values are; its value is meaningless. */
  isComputed(values: ReadonlyArray<Value>): Value {
    const firsts = values.map((value) => this.slice(this.reshape(value, [dimMul(...value.shape)]), 0, 0, 1))
    const sum = firsts.map((first) => this.cast(first, this.real)).reduce((a, b) => this.add(a, b))
    return this.cast(this.reshape(sum, []), "bool")
  }

  /** Reverses broadcasting: sums the axes along which `shape` was expanded to a's. */
  sumTo(a: Value, shape: Shape): Value {
    if (sameShape(a.shape, shape)) return a
    const fits = sameShape(broadcast(a.shape, shape) ?? [], a.shape)
    this.require(fits, "sumTo", [a], `is not a broadcast of ${showShape(shape)}`)
    const extra = a.shape.length - shape.length
    const axes = a.shape.flatMap((dim, i) => (i < extra || (shape[i - extra] === 1 && dim !== 1) ? [i] : []))
    return this.reshape(axes.length === 0 ? a : this.sum(a, axes, true), shape)
  }

  private reduce(op: string, a: Value, axes: ReadonlyArray<number>, keep: boolean): Value {
    this.require(axes.length > 0, op, [a], "needs an axis")
    const at = axes.map((axis) => this.axis(op, a, axis))
    const shape = keep ? a.shape.map((dim, i) => (at.includes(i) ? 1 : dim)) : a.shape.filter((_, i) => !at.includes(i))
    return this.node(op, [a, this.ints(at)], a.dtype, shape, { keepdims: Number(keep) })
  }

  private axis(op: string, a: Value, axis: number): number {
    const at = axisOf(a.shape, axis)
    this.require(at !== undefined, op, [a], `has no axis ${axis}`)
    return at
  }
}
