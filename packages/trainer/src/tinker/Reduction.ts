/**
 * Determines what a server divides a loss by: by the protocol nothing (a sum over tokens), but some servers divide each
 * datum by its length, or by the sum of its weights, or everything by the number of data.
 *
 * Measured on a temporary adapter, by norms of gradients with known proportions (weights 1 and -2, more positions, the
 * datum twice), each followed by a step with learning rate 0. Uses `cross_entropy` if it is linear in its weights, else
 * `importance_sampling` at ratio 1, with the server's own logprobs as the sampler's. A server for which neither holds
 * is rejected; for one that does not report the norm, the protocol is assumed.
 */
import { Effect } from "effect"
import { TrainerError } from "../learn/TrainerError.ts"
import * as Chunks from "./client/Chunks.ts"
import type { TinkerError } from "./client/TinkerError.ts"
import type { Loss, TrainedModel } from "./client/TrainedModel.ts"
import { toTrainerError } from "./Failures.ts"
import type { Datum } from "./protocol/ForwardBackward.ts"
import * as Probe from "./Probe.ts"

/** The loss that carries the weights. */
export type Carrier = "cross_entropy" | "importance_sampling"

export interface Divisors {
  /** True if a datum is divided by its length. */
  readonly isPerPosition: boolean
  /** Number of data that each datum is divided by: none, those of its request, or those of the whole step. */
  readonly perData: "none" | "request" | "step"
}

export interface Reduction extends Divisors {
  readonly carrier: Carrier
  /** True if measured by norms, false if assumed from the protocol. */
  readonly isProbed: boolean
  /** True if the optimizer step clips the norm. */
  readonly isClipping: boolean
}

export const believed: Reduction = {
  carrier: "cross_entropy",
  isPerPosition: false,
  perData: "none",
  isProbed: false,
  isClipping: true
}

/** Factors on the weights so that the server's gradient equals the batch's. */
export const factors = (
  { isPerPosition, perData }: Divisors,
  data: ReadonlyArray<Datum>,
  limits: Chunks.Limits
): ReadonlyArray<number> => {
  const chunks = Chunks.cut(data, limits)
  return chunks.flatMap((chunk) =>
    chunk.map(({ tokens }) => {
      const count = perData === "none" ? 1 : perData === "request" ? chunk.length : data.length
      return (isPerPosition ? tokens.length : 1) * count
    })
  )
}

const datumOf =
  (logprobs: Float32Array, vocabSize: number) =>
  (carrier: Carrier, weight: number, length: number): Datum =>
    carrier === "cross_entropy"
      ? Probe.ofWeight(weight, length, vocabSize)
      : Probe.ofToken({ advantage: weight }, logprobs, length, vocabSize)

/** True if a step respects its max norm: with one far below epsilon, and without earlier moments, nothing changes. */
const clips = Effect.fnUntraced(function* (model: TrainedModel, datum: Datum, logprobs: Float32Array, loss: Loss) {
  yield* model.forwardBackward([datum], loss)
  yield* model.optimStep({ ...Probe.still, learningRate: 0.01, beta1: 0, beta2: 0, eps: 1e-8, gradClipNorm: 1e-20 })
  const { outputs } = yield* model.forward([datum], { name: "cross_entropy" })
  const after = outputs[0]?.get("logprobs")?.values ?? []
  return logprobs.every((logprob, t) => Math.abs(logprob - after[t]!) < 1e-4)
})

const refused = (server: string) =>
  new TrainerError({
    reason: "settings",
    message:
      `the losses cross_entropy and importance_sampling of ${server} are not linear in their weights, ` +
      `so it cannot compute custom gradients`
  })

/** True if the server lacks the endpoint, or does not support this form of its body. */
const isUntaken = ({ status }: TinkerError): boolean => status !== undefined && [404, 405, 415, 422].includes(status)

const untaken = (server: string, cause: TinkerError) =>
  new TrainerError({
    reason: "settings",
    message:
      `${server} does not support the binary format of the protocol since SDK 0.25.0 ` +
      `(SkyRL since 0.4.0): ${cause.message}`,
    cause
  })

export const probe = Effect.fn("Reduction.probe")(
  function* (server: string, model: TrainedModel, limits: Probe.Limits) {
    const short = Probe.shortOf(limits)
    const logprobs = yield* Effect.mapError(Probe.logprobsOf(model, limits), (error) =>
      isUntaken(error) ? untaken(server, error) : toTrainerError(error)
    )
    if (logprobs === undefined) {
      return yield* new TrainerError({ reason: "engine", message: `${server} answers forward without logprobs` })
    }
    const make = datumOf(logprobs, limits.vocabSize)
    const datum = (carrier: Carrier, weight: number, length = short) => make(carrier, weight, length)
    const measure = (loss: Loss, requests: ReadonlyArray<ReadonlyArray<Datum>>) => Probe.measure(model, loss, requests)
    const isLinear = Effect.fnUntraced(function* (carrier: Carrier, one: number) {
      const other = yield* measure({ name: carrier }, [[datum(carrier, -2)]])
      return other !== undefined && Probe.isClose(other, 2 * one)
    })
    for (const carrier of ["cross_entropy", "importance_sampling"] as const) {
      const loss = { name: carrier }
      const one = yield* measure(loss, [[datum(carrier, 1)]])
      if (one === undefined) return believed
      if (one === 0 || !(yield* isLinear(carrier, one))) continue
      const longer = yield* measure(loss, [[datum(carrier, 1, 2 * short)]])
      const together = yield* measure(loss, [[datum(carrier, 1), datum(carrier, 1)]])
      const apart = yield* measure(loss, [[datum(carrier, 1)], [datum(carrier, 1)]])
      if (longer === undefined || together === undefined || apart === undefined) return yield* refused(server)
      const isPerPosition = Probe.isClose(longer, one / 2)
      const isSummed = Probe.isClose(together, 2 * one)
      if (!(isPerPosition || Probe.isClose(longer, one)) || !(isSummed || Probe.isClose(together, one))) {
        return yield* refused(server)
      }
      return {
        carrier,
        isPerPosition,
        perData: isSummed ? "none" : Probe.isClose(apart, one) ? "step" : "request",
        isProbed: true,
        isClipping: yield* clips(model, datum(carrier, 1), logprobs.slice(0, short), loss)
      } satisfies Reduction
    }
    return yield* refused(server)
  },
  Effect.mapError((error) => (error instanceof TrainerError ? error : toTrainerError(error)))
)
