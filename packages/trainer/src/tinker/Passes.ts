/** Requests of a batch to a model on a server: logprobs, and gradients added to the accumulated ones. */
import { Effect } from "effect"
import type { WeightedBatch } from "../learn/WeightedBatch.ts"
import type { Direct } from "./BuiltIn.ts"
import type { Session } from "./client/Session.ts"
import type { TrainedModel } from "./client/TrainedModel.ts"
import { lost } from "./Failures.ts"
import * as Reduction from "./Reduction.ts"
import * as TinkerData from "./TinkerData.ts"

type Rows = ReadonlyArray<Float32Array>

const weights = (slopes: Rows, factors: ReadonlyArray<number>): Rows =>
  slopes.map((row, item) => row.map((slope) => -slope * factors[item]!))

export const make = ({ config, server }: Session, reduction: Reduction.Reduction) => ({
  logprobs: Effect.fnUntraced(function* (model: TrainedModel, batch: WeightedBatch) {
    const data = TinkerData.weighted(batch, TinkerData.masks(batch))
    return yield* TinkerData.logprobsOf(server, data, yield* lost(model.forward(data, { name: "cross_entropy" })))
  }),

  /** The gradient Σ slopes · ∇log π at the model's last returned logprobs. */
  backward: (model: TrainedModel, batch: WeightedBatch, logprobs: Rows, slopes: Rows) => {
    const dataOf = (rows: Rows) =>
      reduction.carrier === "cross_entropy"
        ? TinkerData.weighted(batch, rows)
        : TinkerData.advantaged(batch, logprobs, rows)
    const factors = Reduction.factors(reduction, dataOf(slopes), config)
    return lost(model.forwardBackward(dataOf(weights(slopes, factors)), { name: reduction.carrier }))
  },

  /** The gradient of a server's loss; returns the logprobs at which it was computed. */
  direct: Effect.fnUntraced(function* (model: TrainedModel, { count, dataWith, divisors, loss }: Direct) {
    const once = dataWith(Array.from({ length: count }, () => 1))
    const data = dataWith(Reduction.factors(divisors, once, config))
    return yield* TinkerData.logprobsOf(server, data, yield* lost(model.forwardBackward(data, loss)))
  })
})
