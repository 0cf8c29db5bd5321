/**
 * Evaluates an objective on logprobs computed elsewhere: the loss of a batch, its metrics, and dL/dlogprob of each
 * position, for a server that can only weight logprobs.
 *
 * Uses the nodes of the training graph (`LossNodes`), so that results equal those of the local engine at these
 * logprobs. Runs on the executor. Rejects objectives that need the teacher's other candidates, and those that need
 * entropies unless it is made `withEntropies`.
 */
import { Effect, type Scope } from "effect"
import * as Pieces from "../base/Pieces.ts"
import { Executor, type HostTensor } from "../exec/Executor.ts"
import { Graph } from "../graph/Graph.ts"
import * as Onnx from "../graph/Onnx.ts"
import type { Objective } from "../loss/Objective.ts"
import * as HostFeeds from "./HostFeeds.ts"
import * as LossNodes from "./LossNodes.ts"
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
  /** dL/dentropy likewise, if the objective uses entropies. */
  readonly entropySlopes?: ReadonlyArray<Float32Array>
}

/** Entropies of each item's positions, (length) nats, and the objective's quantile of the batch's if it uses one. */
export interface Entropies {
  readonly values: ReadonlyArray<Float32Array>
  readonly threshold?: number | undefined
}

export interface HostObjective {
  /**
   * `logprobs` of each item's target tokens, (length) nats; `refLogprobs` likewise under the reference policy, for
   * objectives that need it (default: the sequences' own); `entropies` if it was made with them.
   */
  readonly evaluate: (
    batch: WeightedBatch,
    logprobs: ReadonlyArray<Float32Array>,
    refLogprobs?: ReadonlyArray<Float32Array>,
    entropies?: Entropies
  ) => Effect.Effect<Evaluated, TrainerError>
  /** The metrics of two parts of a batch as one: sums, or maxima. */
  readonly combine: (a: Evaluated["figures"], b: Evaluated["figures"]) => Evaluated["figures"]
}

/** Explains why sampled tokens' logprobs are insufficient for this objective; undefined if they suffice. */
export const problem = (
  { candidates, entropyQuantile, name, needsEntropies }: Objective,
  withEntropies = false
): string | undefined => {
  if (candidates === "teacher") {
    return `loss ${name} compares whole distributions with a teacher's, which need more than logprobs of the sampled tokens`
  }
  return !withEntropies && (needsEntropies || entropyQuantile !== null)
    ? `loss ${name} needs entropies, which need more than logprobs of the sampled tokens`
    : undefined
}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new TrainerError({ reason: "executor", message: `${what}: ${cause.message}`, cause })

/** Builds the objective's program; `real` float64 is for gradient checks. Fails for an objective with a `problem`. */
export const make = Effect.fn("HostObjective.make")(function* (
  objective: Objective,
  real: "float32" | "float64" = "float32",
  withEntropies = false
): Effect.fn.Return<HostObjective, TrainerError, Executor | Scope.Scope> {
  const message = problem(objective, withEntropies)
  if (message !== undefined) return yield* new TrainerError({ reason: "settings", message })
  const executor = yield* Executor
  const { graph, metrics } = yield* Pieces.yielding(() =>
    ObjectiveGraph.buildPieces(objective, new Graph(real), withEntropies)
  )
  const program = yield* Effect.mapError(
    executor.load(yield* Pieces.yielding(() => Onnx.toOnnxPieces(graph)), {
      optimization: real === "float64" ? "basic" : "all"
    }),
    failed(`loss ${objective.name} cannot be loaded`)
  )
  const nothing: Evaluated = { loss: 0, figures: new Map(metrics.map(({ name }) => [name, 0])), slopes: [] }

  return {
    combine: (a, b) => {
      const values = (figures: Evaluated["figures"]) => metrics.map(({ name }) => figures.get(name)!)
      const combined = LossNodes.combine(metrics, values(a), values(b))
      return new Map(metrics.map(({ name }, index) => [name, combined[index]!]))
    },
    evaluate: Effect.fn("HostObjective.evaluate")(function* (batch, logprobs, refLogprobs, entropies) {
      if (batch.items.length === 0) return nothing
      const problem = HostFeeds.problem(batch, objective, { logprobs, refLogprobs, entropies })
      if (problem !== undefined) return yield* new TrainerError({ reason: "engine", message: problem })
      const feeds = HostFeeds.gather(batch, objective, { logprobs, refLogprobs, entropies, real })
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
        slopes: HostFeeds.scatter(batch, reals("slopes")),
        ...(host["entropy_slopes"] && { entropySlopes: HostFeeds.scatter(batch, reals("entropy_slopes")) })
      }
    })
  }
})
