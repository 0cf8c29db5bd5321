/**
 * Evaluates an objective on logprobs computed elsewhere: the loss of a batch, its metrics, and dL/dlogprob of each
 * position, for a server that can only weight logprobs.
 *
 * Uses the nodes of the training graph (`LossNodes`), so that results equal those of the local engine at these
 * logprobs. Runs on the executor. Rejects objectives that need entropies or the teacher's other candidates.
 */
import { Effect, type Scope } from "effect"
import * as Pieces from "../base/Pieces.ts"
import { Executor, type HostTensor } from "../exec/Executor.ts"
import { Graph } from "../graph/Graph.ts"
import * as Onnx from "../graph/Onnx.ts"
import type { Objective } from "../loss/Objective.ts"
import * as HostFeeds from "./HostFeeds.ts"
import * as ObjectiveGraph from "./ObjectiveGraph.ts"
import { TrainerError } from "./TrainerError.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

export interface Evaluated {
  /** Σ items weight · Σ trained positions ℓ. */
  readonly loss: number
  /** By name: sums over trained tokens, or maxima, as in the training graph. */
  readonly figures: ReadonlyMap<string, number>
  /** dL/dlogprob of each item's positions, (length); 0 where not trained. */
  readonly slopes: ReadonlyArray<Float32Array>
}

export interface HostObjective {
  /**
   * `logprobs` of each item's target tokens, (length) nats; `refLogprobs` likewise under the reference policy, for
   * objectives that need it. Default: the sequences' own.
   */
  readonly evaluate: (
    batch: WeightedBatch,
    logprobs: ReadonlyArray<Float32Array>,
    refLogprobs?: ReadonlyArray<Float32Array>
  ) => Effect.Effect<Evaluated, TrainerError>
}

/** Explains why sampled tokens' logprobs are insufficient for this objective; undefined if they suffice. */
export const problem = ({ candidates, entropyQuantile, name, needsEntropies }: Objective): string | undefined => {
  if (candidates === "teacher") {
    return `loss ${name} compares whole distributions with a teacher's, which need more than logprobs of the sampled tokens`
  }
  return needsEntropies || entropyQuantile !== null
    ? `loss ${name} needs entropies, which need more than logprobs of the sampled tokens`
    : undefined
}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new TrainerError({ reason: "executor", message: `${what}: ${cause.message}`, cause })

/** Builds the objective's program; `real` float64 is for gradient checks. Fails for an objective with a `problem`. */
export const make = Effect.fn("HostObjective.make")(function* (
  objective: Objective,
  real: "float32" | "float64" = "float32"
): Effect.fn.Return<HostObjective, TrainerError, Executor | Scope.Scope> {
  const message = problem(objective)
  if (message !== undefined) return yield* new TrainerError({ reason: "settings", message })
  const executor = yield* Executor
  const { graph, metrics } = yield* Pieces.yielding(() => ObjectiveGraph.buildPieces(objective, new Graph(real)))
  const program = yield* Effect.mapError(
    executor.load(yield* Pieces.yielding(() => Onnx.toOnnxPieces(graph)), {
      optimization: real === "float64" ? "basic" : "all"
    }),
    failed(`loss ${objective.name} cannot be loaded`)
  )
  const nothing: Evaluated = { loss: 0, figures: new Map(metrics.map(({ name }) => [name, 0])), slopes: [] }

  return {
    evaluate: Effect.fn("HostObjective.evaluate")(function* (batch, logprobs, refLogprobs) {
      if (batch.items.length === 0) return nothing
      const problem = HostFeeds.problem(batch, objective, logprobs, refLogprobs)
      if (problem !== undefined) return yield* new TrainerError({ reason: "engine", message: problem })
      const feeds = HostFeeds.gather(batch, objective, { logprobs, refLogprobs, real })
      const { host } = yield* Effect.mapError(
        program.run(feeds, { transfer: true }),
        failed(`loss ${objective.name} cannot be computed`)
      )
      // Floating-point by construction.
      const reals = (name: string) => host[name]!.data as Extract<HostTensor["data"], Float32Array | Float64Array>
      const sums = reals("metrics")
      return {
        loss: reals("loss")[0]!,
        figures: new Map(metrics.map(({ name }, index) => [name, sums[index]!])),
        slopes: HostFeeds.scatter(batch, reals("slopes"))
      }
    })
  }
})
