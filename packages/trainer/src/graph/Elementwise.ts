/** Elementwise operations: operands broadcast and must have one type. */
import { Builder } from "./Builder.ts"
import { type DType, onnxCode } from "./DType.ts"
import { broadcast } from "./Shape.ts"
import type { Value } from "./Value.ts"

export class Elementwise extends Builder {
  add(a: Value, b: Value): Value {
    return this.binary("Add", a, b)
  }

  sub(a: Value, b: Value): Value {
    return this.binary("Sub", a, b)
  }

  mul(a: Value, b: Value): Value {
    return this.binary("Mul", a, b)
  }

  div(a: Value, b: Value): Value {
    return this.binary("Div", a, b)
  }

  pow(a: Value, b: Value): Value {
    return this.binary("Pow", a, b)
  }

  min(a: Value, b: Value): Value {
    return this.binary("Min", a, b)
  }

  max(a: Value, b: Value): Value {
    return this.binary("Max", a, b)
  }

  equal(a: Value, b: Value): Value {
    return this.binary("Equal", a, b, "bool")
  }

  greater(a: Value, b: Value): Value {
    return this.binary("Greater", a, b, "bool")
  }

  greaterEq(a: Value, b: Value): Value {
    return this.binary("GreaterOrEqual", a, b, "bool")
  }

  less(a: Value, b: Value): Value {
    return this.binary("Less", a, b, "bool")
  }

  lessEq(a: Value, b: Value): Value {
    return this.binary("LessOrEqual", a, b, "bool")
  }

  and(a: Value, b: Value): Value {
    return this.binary("And", a, b, "bool")
  }

  or(a: Value, b: Value): Value {
    return this.binary("Or", a, b, "bool")
  }

  not(a: Value): Value {
    return this.unary("Not", a)
  }

  neg(a: Value): Value {
    return this.unary("Neg", a)
  }

  abs(a: Value): Value {
    return this.unary("Abs", a)
  }

  sign(a: Value): Value {
    return this.unary("Sign", a)
  }

  exp(a: Value): Value {
    return this.unary("Exp", a)
  }

  log(a: Value): Value {
    return this.unary("Log", a)
  }

  sqrt(a: Value): Value {
    return this.unary("Sqrt", a)
  }

  sin(a: Value): Value {
    return this.unary("Sin", a)
  }

  cos(a: Value): Value {
    return this.unary("Cos", a)
  }

  tanh(a: Value): Value {
    return this.unary("Tanh", a)
  }

  sigmoid(a: Value): Value {
    return this.unary("Sigmoid", a)
  }

  identity(a: Value): Value {
    return this.unary("Identity", a)
  }

  scale(a: Value, k: number): Value {
    return this.mul(a, this.scalar(k, a.dtype))
  }

  clip(a: Value, low: number, high: number): Value {
    return this.node("Clip", [a, this.scalar(low, a.dtype), this.scalar(high, a.dtype)], a.dtype, a.shape)
  }

  cast(a: Value, to: DType): Value {
    return a.dtype === to ? a : this.node("Cast", [a], to, a.shape, { to: onnxCode(to) })
  }

  /** A copy that gradients do not pass. */
  stopGradient(a: Value): Value {
    const copy = this.identity(a)
    this.stopped.add(copy)
    return copy
  }

  where(condition: Value, a: Value, b: Value): Value {
    const shape = broadcast(condition.shape, broadcast(a.shape, b.shape) ?? [])
    const fits = shape !== undefined && broadcast(a.shape, b.shape) !== undefined && condition.dtype === "bool"
    this.require(fits && a.dtype === b.dtype, "Where", [condition, a, b], "do not broadcast, or differ in type")
    return this.node("Where", [condition, a, b], a.dtype, shape)
  }

  private unary(op: string, a: Value): Value {
    return this.node(op, [a], a.dtype, a.shape)
  }

  private binary(op: string, a: Value, b: Value, dtype: DType = a.dtype): Value {
    const shape = broadcast(a.shape, b.shape)
    this.require(shape !== undefined, op, [a, b], "the shapes do not broadcast")
    this.require(a.dtype === b.dtype, op, [a, b], "the types differ")
    return this.node(op, [a, b], dtype, shape)
  }
}
