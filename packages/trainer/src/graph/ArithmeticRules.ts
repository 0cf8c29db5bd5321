/**
 * Differentiation rules of elementwise operations. Each is stated as an identity; ' marks the gradient of the loss with
 * respect to the value before it.
 */
import type { Operands, Rule } from "./Rule.ts"
import type { Value } from "./Value.ts"

/** dy to the selected operand; ties share it equally, as in PyTorch. */
const toWinner = ({ dy, g, x }: Operands, wins: (a: Value, b: Value) => Value) => {
  const share = (mine: Value, other: Value) => {
    const tied = g.where(g.equal(mine, other), g.scale(dy, 0.5), g.scalar(0, dy.dtype))
    return g.where(wins(mine, other), dy, tied)
  }
  return [() => share(x(0), x(1)), () => share(x(1), x(0))]
}

export const arithmetic: Readonly<Record<string, Rule>> = {
  // y = a: a' = y'
  Identity: ({ dy }) => [() => dy],
  // y = a in another precision: a' = y' in a's
  Cast: ({ dy, g, node }) => [() => g.cast(dy, node.inputs[0]!.dtype)],
  // y = a + b: a' = y', b' = y'
  Add: ({ dy }) => [() => dy, () => dy],
  // y = a - b: a' = y', b' = -y'
  Sub: ({ dy, g }) => [() => dy, () => g.neg(dy)],
  // y = a b: a' = b y', b' = a y'
  Mul: ({ dy, g, x }) => [() => g.mul(dy, x(1)), () => g.mul(dy, x(0))],
  // y = a / b: a' = y' / b, b' = -y' y / b
  Div: ({ dy, g, x, y }) => [() => g.div(dy, x(1)), () => g.neg(g.div(g.mul(dy, y()), x(1)))],
  // y = a^b: a' = b a^(b - 1) y', b' = y ln(a) y'
  Pow: ({ dy, g, x, y }) => [
    () => g.mul(dy, g.mul(x(1), g.pow(x(0), g.sub(x(1), g.scalar(1, dy.dtype))))),
    () => g.mul(dy, g.mul(y(), g.log(x(0))))
  ],
  // y = -a: a' = -y'
  Neg: ({ dy, g }) => [() => g.neg(dy)],
  // y = |a|: a' = sign(a) y'
  Abs: ({ dy, g, x }) => [() => g.mul(dy, g.sign(x(0)))],
  // y = sign(a): constant almost everywhere
  Sign: () => [undefined],
  // y = exp(a): a' = y y'
  Exp: ({ dy, g, y }) => [() => g.mul(dy, y())],
  // y = ln(a): a' = y' / a
  Log: ({ dy, g, x }) => [() => g.div(dy, x(0))],
  // y = sqrt(a): a' = y' / (2 y)
  Sqrt: ({ dy, g, y }) => [() => g.div(g.scale(dy, 0.5), y())],
  // y = sin(a): a' = cos(a) y'
  Sin: ({ dy, g, x }) => [() => g.mul(dy, g.cos(x(0)))],
  // y = cos(a): a' = -sin(a) y'
  Cos: ({ dy, g, x }) => [() => g.neg(g.mul(dy, g.sin(x(0))))],
  // y = tanh(a): a' = (1 - y²) y'
  Tanh: ({ dy, g, y }) => [() => g.mul(dy, g.sub(g.scalar(1, dy.dtype), g.mul(y(), y())))],
  // y = 1 / (1 + exp(-a)): a' = y (1 - y) y'
  Sigmoid: ({ dy, g, y }) => [() => g.mul(dy, g.mul(y(), g.sub(g.scalar(1, dy.dtype), y())))],
  // y = min(a, b): y' goes to the smaller
  Min: (operands) => toWinner(operands, (mine, other) => operands.g.less(mine, other)),
  // y = max(a, b): y' goes to the greater
  Max: (operands) => toWinner(operands, (mine, other) => operands.g.greater(mine, other)),
  // y = a clipped to [low, high]: a' = y' where low <= a <= high
  Clip: ({ dy, g, x }) => [
    () => {
      const inside = g.and(g.lessEq(x(1), x(0)), g.lessEq(x(0), x(2)))
      return g.where(inside, dy, g.scalar(0, dy.dtype))
    },
    undefined,
    undefined
  ],
  // y = a where c, else b: a' = y' where c, b' = y' elsewhere
  Where: ({ dy, g, x }) => [
    undefined,
    () => g.where(x(0), dy, g.scalar(0, dy.dtype)),
    () => g.where(x(0), g.scalar(0, dy.dtype), dy)
  ]
}
