/**
 * Uses a server's own loss if it is exactly the objective, which saves a forward pass and a request.
 *
 *     ppo, cispo       with the objective's bounds; every token's weight in the batch goes into its advantage
 *     cross_entropy    `sft`; and a policy loss where π_old is the current policy: at ratio 1 its gradient is A ∇log π
 *
 * Equality is measured on a temporary adapter: the loss's divisors, and its gradient slightly inside and outside of
 * both bounds, for both signs of the advantage. If it differs, or the server does not report norms, the objective is
 * computed here; so is a batch with a token beyond our clamp of log π - log π_old to ±20, where servers have other
 * bounds.
 */
import { Effect } from "effect"
import * as HostFeeds from "../learn/HostFeeds.ts"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import type { Objective, StandardLoss } from "../loss/Objective.ts"
import { logBound } from "../loss/Surrogate.ts"
import type { TinkerError } from "./client/TinkerError.ts"
import type { Loss, TrainedModel } from "./client/TrainedModel.ts"
import type { Datum } from "./protocol/ForwardBackward.ts"
import * as Probe from "./Probe.ts"
import type { Divisors, Reduction } from "./Reduction.ts"
import * as TinkerData from "./TinkerData.ts"

/** `ppo` or `cispo` with bounds of the ratio. */
export type Clipped = Exclude<StandardLoss, { readonly name: "cross_entropy" }>

export interface BuiltIn {
  readonly loss: Loss
  readonly divisors: Divisors
}

/** The standard policy loss equal to an objective, if any. */
export const clippedOf = ({ needsReference, tokenLoss: { standard } }: Objective): Clipped | undefined =>
  standard === undefined || standard.name === "cross_entropy" || needsReference ? undefined : standard

const lossOf = ({ high, low, name }: Clipped): Loss => ({
  name,
  config: new Map([
    ["clip_low_threshold", low],
    ["clip_high_threshold", high]
  ])
})

/** -dℓ/dlog π of a token with this ratio. */
const slopeOf = ({ high, low, name }: Clipped, { advantage, ratio = 1 }: Probe.Token): number => {
  if (name === "cispo") return Math.min(high, Math.max(low, ratio)) * advantage
  return (advantage > 0 ? ratio < high : ratio > low) ? ratio * advantage : 0
}

/** Ratios that reveal the bounds, where gradients of `ppo` jump and those of `cispo` stop growing. */
const ratiosOf = ({ high, low, name }: Clipped): ReadonlyArray<number> => {
  const [inside, outside] = name === "ppo" ? [0.96, 1.04] : [0.9, 2]
  return [inside * high, outside * high, ...(low > 0 ? [low / inside, low / outside] : [0.5 * Math.min(1, high)])]
}

/** Gradient relative to the weights' gradient, for a short datum and for one of twice the length. */
const shares = (isPerPosition: boolean, short: number) =>
  isPerPosition ? { short: 1 / short, long: 1 / (2 * short) } : { short: 1, long: 1 }

const allDivisors: ReadonlyArray<Divisors> = [true, false].flatMap((isPerPosition) =>
  (["none", "request", "step"] as const).map((perData) => ({ isPerPosition, perData }))
)

/** Norm of a short and a long datum in one request and a short one in another, as multiples of a weight's gradient. */
const expectedNorm = ({ isPerPosition, perData }: Divisors, length: number): number => {
  const { long, short } = shares(isPerPosition, length)
  if (perData === "none") return 2 * short + long
  return perData === "request" ? (short + long) / 2 + short : (2 * short + long) / 3
}

/** Probes with a temporary adapter. Undefined if the server does not have exactly this loss. */
export const probe = Effect.fn("BuiltIn.probe")(
  function* (model: TrainedModel, limits: Probe.Limits, reduction: Reduction, clipped: Clipped) {
    const length = Probe.shortOf(limits)
    const logprobs = yield* Probe.logprobsOf(model, limits)
    if (logprobs === undefined) return undefined
    const datum = (token: Probe.Token, positions = length) =>
      Probe.ofToken(token, logprobs, positions, limits.vocabSize)
    const carried =
      reduction.carrier === "cross_entropy" ? Probe.ofWeight(1, length, limits.vocabSize) : datum({ advantage: 1 })
    const one = yield* Probe.measure(model, { name: reduction.carrier }, [[carried]])
    const loss = lossOf(clipped)
    const good = { advantage: 1 }
    const sizes = yield* Probe.measure(model, loss, [[datum(good), datum(good, 2 * length)], [datum(good)]])
    if (one === undefined || sizes === undefined) return undefined
    /** The norm of the gradient of weights 1. */
    const unit = one / shares(reduction.isPerPosition, length).short
    const divisors = allDivisors.find((each) => Probe.isClose(sizes / unit, expectedNorm(each, length)))
    if (divisors === undefined) return undefined
    const data = divisors.perData === "none" ? 1 : ratiosOf(clipped).length
    for (const advantage of [1, -1]) {
      const tokens = ratiosOf(clipped).map((ratio) => ({ advantage, ratio }))
      const norm = yield* Probe.measure(model, loss, [tokens.map((token) => datum(token))])
      const slope = Math.abs(tokens.reduce((sum, token) => sum + slopeOf(clipped, token), 0))
      const expected = (slope * unit * shares(divisors.isPerPosition, length).short) / data
      if (norm === undefined || !Probe.isClose(norm, expected)) return undefined
    }
    return { loss, divisors } satisfies BuiltIn
  },
  // A loss that the server does not support or cannot compute is not its own.
  Effect.catchIf(
    ({ reason }: TinkerError) => reason === "refused" || reason === "failed" || reason === "malformed",
    () => Effect.succeed(undefined)
  )
)

/** One request for forward pass, objective and backward pass. */
export interface Direct {
  readonly loss: Loss
  readonly divisors: Divisors
  readonly count: number
  readonly dataWith: (factors: ReadonlyArray<number>) => ReadonlyArray<Datum>
  /** True if our loss equals the server's at the logprobs in its response. */
  readonly holds: (logprobs: ReadonlyArray<Float32Array>) => boolean
}

type Rows = ReadonlyArray<Float32Array>

/** Values at each item's positions; 0 where not trained. */
const rows = ({ items, sequences }: WeightedBatch, of: (sequence: number, token: number) => number): Rows =>
  items.map(({ length, sequence, weight }) => {
    const { mask } = sequences[sequence]!
    return Float32Array.from({ length }, (_, t) => (mask[t + 1] === 0 ? 0 : weight * of(sequence, t + 1)))
  })

const times = (values: Rows, factors: ReadonlyArray<number>): Rows =>
  values.map((row, item) => row.map((value) => value * factors[item]!))

const areFinite = (values: Rows): boolean => values.every((row) => row.every(Number.isFinite))

/** The single request for a batch; undefined if the server does not support it. */
export const direct = (
  batch: WeightedBatch,
  objective: Objective,
  reduction: Reduction,
  builtIn: BuiltIn | undefined
): Direct | undefined => {
  const { standard } = objective.tokenLoss
  if (standard === undefined || objective.needsReference) return undefined
  const { sequences } = batch
  const weightsOf = (weights: Rows): Direct | undefined =>
    reduction.carrier === "cross_entropy" && areFinite(weights)
      ? {
          loss: { name: "cross_entropy" },
          divisors: reduction,
          count: batch.items.length,
          dataWith: (factors) => TinkerData.weighted(batch, times(weights, factors)),
          holds: () => true
        }
      : undefined
  if (standard.name === "cross_entropy") return weightsOf(rows(batch, () => 1))
  const advantages = rows(batch, (sequence, token) => sequences[sequence]!.advantages[token]!)
  const old = HostFeeds.oldLogprobs(batch, objective)
  if (old === "some") return undefined
  if (old === "none") return standard.low < 1 && standard.high > 1 ? weightsOf(advantages) : undefined
  if (builtIn === undefined || !areFinite(advantages)) return undefined
  const isTrained = ({ sequence }: WeightedBatch["items"][number], t: number) => sequences[sequence]!.mask[t + 1] === 1
  return {
    ...builtIn,
    count: batch.items.length,
    dataWith: (factors) => TinkerData.advantaged(batch, old, times(advantages, factors)),
    holds: (logprobs) =>
      batch.items.every((item, index) =>
        logprobs[index]!.every((logprob, t) => !isTrained(item, t) || Math.abs(logprob - old[index]![t]!) < logBound)
      )
  }
}
