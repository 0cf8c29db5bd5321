/**
 * An objective over logprobs that were computed elsewhere: the loss of a batch, its figures, and what a server that can
 * only weight logprobs needs for the gradient, dL/dlogprob of each position.
 *
 * The same nodes as in the training graph (`LossNodes`), so that loss, figures and, chained through the model, the
 * gradient are those of the local engine at these logprobs. Runs where the executor runs: the caller's thread only
 * gathers the trained positions. Entropies and the teacher's other candidates cannot be known from logprobs of sampled
 * tokens: an objective that needs them is refused.
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
  /** By name: sums over trained tokens, or largest values, as of the training graph. */
  readonly figures: ReadonlyMap<string, number>
  /** dL/dlogprob of each item's positions, (length); 0 where not trained. */
  readonly slopes: ReadonlyArray<Float32Array>
}

export interface HostObjective {
  /**
   * `logprobs` of each item's target tokens, (length) nats; `refLogprobs` likewise under the reference policy, for
   * objectives that need it, by default those that the sequences bring.
   */
  readonly evaluate: (
    batch: WeightedBatch,
    logprobs: ReadonlyArray<Float32Array>,
    refLogprobs?: ReadonlyArray<Float32Array>
  ) => Effect.Effect<Evaluated, TrainerError>
}

/** Why logprobs of sampled tokens are not enough for this objective; undefined where they are. */
export const problem = ({ candidates, entropyQuantile, name, needsEntropies }: Objective): string | undefined => {
  if (candidates === "teacher") {
    return `loss ${name} compares whole distributions with a teacher's, which logprobs of the sampled tokens do not tell`
  }
  return needsEntropies || entropyQuantile !== null
    ? `loss ${name} looks at entropies, which logprobs of the sampled tokens do not tell`
    : undefined
}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new TrainerError({ reason: "executor", message: `${what}: ${cause.message}`, cause })

/** The objective's program; `real` float64 is for checks of gradients. An objective with a `problem` is refused. */
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
      // Real by construction.
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
