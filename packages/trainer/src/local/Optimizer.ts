/**
 * AdamW with decoupled weight decay and gradient norm clipping, over one flat parameter vector. `update` works in
 * place. Double-precision arithmetic, single-precision storage; deterministic to the bit.
 *
 *     theta <- theta - lr * decay * theta                          (matrices only)
 *     m <- beta1 m + (1 - beta1) g        v <- beta2 v + (1 - beta2) g^2
 *     theta <- theta - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
 *
 * Loshchilov and Hutter 2019, algorithm 2 (https://arxiv.org/abs/1711.05101), as in `torch.optim.AdamW`; clipping as in
 * `torch.nn.utils.clip_grad_norm_`: g is scaled by min(1, maxNorm / (norm + 1e-6)).
 */
import type { Layout } from "../model/Parameters.ts"

export interface Hyperparameters {
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  /** Decoupled: multiplied by the learning rate, applied to the parameters directly. */
  readonly weightDecay: number
}

export interface State {
  /** m, the running mean of gradients. */
  readonly firstMoment: Float32Array
  /** v, the running mean of squared gradients. */
  readonly secondMoment: Float32Array
  /** t, updates made so far. */
  readonly updates: number
}

/** A range of the vector, and whether decay applies to it. */
export interface Span {
  readonly offset: number
  readonly size: number
  readonly decays: boolean
}

export const init = (size: number): State => ({
  firstMoment: new Float32Array(size),
  secondMoment: new Float32Array(size),
  updates: 0
})

/**
 * Merges neighbouring slots into spans. Only matrices decay; norms, biases and other one-dimensional parameters do not.
 */
export const spans = ({ slots }: Layout): ReadonlyArray<Span> => {
  const merged: Array<Span> = []
  for (const { offset, shape, size } of slots) {
    const decays = shape.length >= 2
    const last = merged.at(-1)
    if (last !== undefined && last.decays === decays && last.offset + last.size === offset) {
      merged[merged.length - 1] = { ...last, size: last.size + size }
    } else merged.push({ offset, size, decays })
  }
  return merged
}

/** Euclidean norm over all elements; NaN or infinite if an element is. */
export const norm = (gradient: Float32Array): number => {
  let sum = 0
  for (let i = 0; i < gradient.length; i++) {
    const g = gradient[i]!
    sum += g * g
  }
  return Math.sqrt(sum)
}

/** Scale factor that limits the gradient norm to `maxNorm`; null or 0: no limit. */
export const clipFactor = (norm: number, maxNorm: number | null): number =>
  maxNorm === null || maxNorm <= 0 ? 1 : Math.min(1, maxNorm / (norm + 1e-6))

/** Max usable parameter norm: the square of a larger one overflows single precision. */
export const maxFiniteNorm = Math.sqrt((2 - 2 ** -23) * 2 ** 127)

/** The state after a step, and the norm of the parameters, which is NaN or infinite if a parameter is. */
export interface Stepped extends State {
  readonly parameterNorm: number
}

/** Makes one step, in place on `parameters` and the moments of `state`. `factor` scales the gradient (`clipFactor`). */
export const update = (
  parameters: Float32Array,
  gradient: Float32Array,
  state: State,
  layout: ReadonlyArray<Span>,
  options: Hyperparameters & { readonly learningRate: number; readonly factor: number }
): Stepped => {
  const { beta1, beta2, epsilon, factor, learningRate } = options
  const { firstMoment, secondMoment } = state
  const updates = state.updates + 1
  const fresh1 = 1 - beta1
  const fresh2 = 1 - beta2
  const stepSize = learningRate / (1 - beta1 ** updates)
  const correction = 1 / Math.sqrt(1 - beta2 ** updates)
  // Accumulated in this loop, hidden behind root and divisions; a separate pass would be memory-bound.
  let squares = 0
  for (const { decays, offset, size } of layout) {
    const kept = decays ? 1 - learningRate * options.weightDecay : 1
    for (let i = offset; i < offset + size; i++) {
      const g = gradient[i]! * factor
      const m = beta1 * firstMoment[i]! + fresh1 * g
      const v = beta2 * secondMoment[i]! + fresh2 * g * g
      firstMoment[i] = m
      secondMoment[i] = v
      const next = Math.fround(parameters[i]! * kept - (stepSize * m) / (Math.sqrt(v) * correction + epsilon))
      parameters[i] = next
      squares += next * next
    }
  }
  return { firstMoment, secondMoment, updates, parameterNorm: Math.sqrt(squares) }
}
