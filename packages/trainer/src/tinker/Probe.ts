/**
 * Probe data for measuring a server's losses: a few tokens, weighted only at the start, so that all data have the same
 * gradient up to a factor, which follows from norms of sums.
 */
import { Effect } from "effect"
import type { TinkerError } from "./client/TinkerError.ts"
import type { Loss, TrainedModel } from "./client/TrainedModel.ts"
import type { Datum } from "./protocol/ForwardBackward.ts"
import * as Tensor from "./protocol/Tensor.ts"

export interface Limits {
  readonly vocabSize: number
  readonly maxPositions: number
}

/** Covers bfloat16 rounding, and is far below the distance between integer factors. */
const tolerance = 0.05

export const isClose = (a: number, b: number): boolean => Math.abs(a - b) <= tolerance * Math.abs(b)

const tokensOf = (length: number, vocabSize: number) =>
  Int32Array.from({ length }, (_, t) => (3 + 7 * t) % Math.min(vocabSize, 256))
/** Positions with a weight, at the start of every datum. */
const weighted = 4
/** Length of the shorter datum; the longer one is twice as long. */
const usualLength = 12

export const shortOf = ({ maxPositions }: Limits): number => Math.min(usualLength, Math.floor(maxPositions / 2))

/** Position t holds token t, its target is token t + 1. */
const bare = (length: number, vocabSize: number) => {
  const all = tokensOf(length + 1, vocabSize)
  return { tokens: all.slice(0, length), targets: ["target_tokens", Tensor.row(all.slice(1))] as const }
}

const first = (length: number, value: number) => Float32Array.from({ length }, (_, t) => (t < weighted ? value : 0))

export const ofWeight = (weight: number, length: number, vocabSize: number): Datum => {
  const { targets, tokens } = bare(length, vocabSize)
  return { tokens, inputs: new Map([targets, ["weights", Tensor.row(first(length, weight))]]) }
}

export interface Token {
  readonly advantage: number
  /** π / π_old; default 1. */
  readonly ratio?: number
}

/** A policy loss datum; `logprobs` are the current ones, for at least as many positions. */
export const ofToken = (
  { advantage, ratio = 1 }: Token,
  logprobs: Float32Array,
  length: number,
  vocabSize: number
): Datum => {
  const { targets, tokens } = bare(length, vocabSize)
  const old = Float32Array.from({ length }, (_, t) => logprobs[t]! - Math.log(ratio))
  return {
    tokens,
    inputs: new Map([targets, ["logprobs", Tensor.row(old)], ["advantages", Tensor.row(first(length, advantage))]])
  }
}

/** The current logprobs of a datum of twice the short length; undefined if the server does not report them. */
export const logprobsOf = Effect.fnUntraced(function* (model: TrainedModel, limits: Limits) {
  const { outputs } = yield* model.forward([ofWeight(1, 2 * shortOf(limits), limits.vocabSize)], {
    name: "cross_entropy"
  })
  const values = outputs[0]?.get("logprobs")?.values
  return values instanceof Float32Array && values.length === 2 * shortOf(limits) ? values : undefined
})

/** The gradient norm among a step's metrics, whose name differs between servers. */
export const normOf = (metrics: Readonly<Record<string, number>>): number | undefined =>
  Object.entries(metrics).find(([name]) => /grad(?:ient)?[_. ]?norm/i.test(name))?.[1]

/** Changes no weights: the gradient is measured and discarded. */
export const still = { learningRate: 0, beta1: 0.9, beta2: 0.95, eps: 1e-12, weightDecay: 0, gradClipNorm: 0 }

/** Gradient norm of several requests together; undefined if the server does not report it. */
export const measure = Effect.fnUntraced(function* (
  model: TrainedModel,
  loss: Loss,
  requests: ReadonlyArray<ReadonlyArray<Datum>>
): Effect.fn.Return<number | undefined, TinkerError> {
  for (const data of requests) yield* model.forwardBackward(data, loss)
  return normOf(yield* model.optimStep(still))
})
