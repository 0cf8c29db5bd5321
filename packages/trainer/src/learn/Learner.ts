/**
 * One step of learning: the gradient of a batch, micro-batch by micro-batch, then one update of the parameters.
 *
 * `compute` runs the graphs where the executor runs them and adds up the gradients in the optimizer's thread; `update`
 * makes the step there. Neither keeps the caller's thread busy for longer than it takes to hand over arrays. `compute`
 * may be interrupted or fail at any time: the parameters are untouched, and what was added up is forgotten. `update` is
 * whole or not at all.
 *
 * The denominators of the loss are the batch's, so it does not matter how it was cut into micro-batches.
 */
import { Effect, type Scope } from "effect"
import { Executor, type Program, type Resident } from "../exec/Executor.ts"
import * as Onnx from "../graph/Onnx.ts"
import * as Pieces from "../base/Pieces.ts"
import type { Objective } from "../loss/Objective.ts"
import type { MicroBatch, Packed } from "./MicroBatch.ts"
import type { Policy } from "../model/TrainableModel.ts"
import * as OptimizerThread from "./OptimizerThread.ts"
import { TrainerError } from "./TrainerError.ts"
import * as LossNodes from "./LossNodes.ts"
import * as Quantile from "./Quantile.ts"
import * as TrainFeeds from "./TrainFeeds.ts"
import * as TrainGraph from "./TrainGraph.ts"

export interface Options {
  readonly policy: Policy
  readonly objective: Objective
  /** Default: `TrainGraph.defaults`. */
  readonly graph?: Partial<TrainGraph.TrainGraphOptions>
  /** Frozen weights are rearranged (`LoadOptions.prepack`). */
  readonly prepack?: boolean
  /** Where training starts; its memory is taken. */
  readonly snapshot: OptimizerThread.Snapshot
  /**
   * Parameters of the reference policy, for objectives that have one and batches that do not bring its logprobs; gets
   * those of the snapshot, its default.
   */
  readonly reference?: (current: Float32Array) => Float32Array
  /** Default: `defaultOptimizer`. */
  readonly optimizer?: Omit<OptimizerThread.Options, "layout">
}

/** Where training starts when nothing was trained yet: these parameters, without moments. */
export const fresh = OptimizerThread.fresh

/** AdamW without decay; the gradient's norm is clipped to 1. */
export const defaultOptimizer: Omit<OptimizerThread.Options, "layout"> = {
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  maxNorm: 1
}

/** What the graphs made of a batch. */
export interface Computed {
  readonly loss: number
  /** By name: sums over trained tokens, or largest values. */
  readonly figures: ReadonlyMap<string, number>
  /** Whether loss and figures are numbers; the gradient is looked at in the update. */
  readonly isFinite: boolean
}

export type Look = (batch: MicroBatch, logprobs: Float32Array) => void

export interface Learner {
  /** `look` is shown the logprobs of each micro-batch, (B, T) nats; they are not kept. */
  readonly compute: (packed: Packed, look?: Look) => Effect.Effect<Computed, TrainerError>
  /** The step with the gradients of the last `compute`. */
  readonly update: (learningRate: number) => Effect.Effect<OptimizerThread.Updated, TrainerError>
  /** Forgets those gradients. */
  readonly discard: Effect.Effect<void, TrainerError>
  /** A copy. */
  readonly parameters: Effect.Effect<Float32Array, TrainerError>
  /** A copy. */
  readonly snapshot: Effect.Effect<OptimizerThread.Snapshot, TrainerError>
}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new TrainerError({ reason: "executor", message: `${what}: ${cause.message}`, cause })

/** A vector as an executor's input; its memory is given away. */
const vector = (data: Float32Array) => ({ dtype: "float32", shape: [data.length], data }) as const

export const make = Effect.fn("Learner.make")(function* (
  options: Options
): Effect.fn.Return<Learner, TrainerError, Executor | Scope.Scope> {
  const { objective, optimizer: hyperparameters = defaultOptimizer, policy, reference: referenceOf } = options
  const graph = { ...TrainGraph.defaults, ...options.graph }
  const executor = yield* Executor
  const trainGraph = yield* Pieces.yielding(() => TrainGraph.buildPieces(policy, objective, graph))
  const { metrics } = trainGraph
  const train = yield* Effect.mapError(
    executor.load(yield* Pieces.yielding(() => Onnx.toOnnxPieces(trainGraph.graph)), {
      prepack: options.prepack ?? false
    }),
    failed("the training graph cannot be loaded")
  )
  // For the reference policy, and where the loss looks at the batch's highest entropies, for those.
  const hasThreshold = objective.entropyQuantile !== null
  const logprobs: Program | undefined =
    objective.needsReference || hasThreshold
      ? yield* Effect.mapError(
          executor.load(
            yield* Pieces.yielding(() =>
              Onnx.toOnnxPieces(TrainGraph.buildLogprobs(policy, { ...graph, entropy: hasThreshold }))
            )
          ),
          failed("the reference graph cannot be loaded")
        )
      : undefined

  const put = (values: Float32Array) =>
    Effect.mapError(executor.put(vector(values)), failed("the parameters cannot be given to the executor"))
  const initial = !objective.needsReference ? undefined : options.snapshot.parameters.slice()
  const reference = initial === undefined ? undefined : yield* put(referenceOf?.(initial) ?? initial)
  const optimizer = yield* OptimizerThread.make(options.snapshot, { ...hyperparameters, layout: policy.layout })

  /** The parameters at the executor; undefined where the optimizer has newer ones. */
  let theta: Resident | undefined
  const current = Effect.suspend(() =>
    theta === undefined
      ? Effect.map(Effect.flatMap(optimizer.parameters, put), (resident) => (theta = resident))
      : Effect.succeed(theta)
  )
  const outdate = Effect.suspend(() => {
    const old = theta
    theta = undefined
    return old === undefined ? Effect.void : executor.free(old)
  })

  const run = (program: Program, feeds: TrainFeeds.Feeds, parameters: Resident, fetch: ReadonlyArray<string>) =>
    Effect.mapError(program.run({ ...feeds, theta: parameters }, { fetch }), failed("a micro-batch failed"))

  /** The micro-batch with the logprobs its objective compares with. */
  const complete = Effect.fnUntraced(function* (batch: MicroBatch) {
    if (logprobs === undefined || reference === undefined || batch.refLogprobs !== undefined) return batch
    const { host } = yield* run(logprobs, TrainFeeds.idFeeds(batch), reference, ["logprobs"])
    return TrainFeeds.withLogprobs(batch, { refLogprobs: host["logprobs"]!.data as Float32Array })
  })

  /** The objective's quantile of the entropies of all trained tokens; nothing where it looks at none. */
  const entropyThreshold = Effect.fnUntraced(function* (microBatches: ReadonlyArray<MicroBatch>, parameters: Resident) {
    if (logprobs === undefined || objective.entropyQuantile === null) return {}
    const entropies: Array<number> = []
    for (const batch of microBatches) {
      const { host } = yield* run(logprobs, TrainFeeds.idFeeds(batch), parameters, ["entropies"])
      const values = host["entropies"]!.data as Float32Array
      batch.lossMask.forEach((trained, at) => trained === 1 && entropies.push(values[at]!))
    }
    return { entropyThreshold: Quantile.of(Float64Array.from(entropies), objective.entropyQuantile) }
  })

  const compute = Effect.fn("Learner.compute")(
    function* ({ microBatches }: Packed, look?: Look) {
      yield* optimizer.discard
      const parameters = yield* current
      const threshold = yield* entropyThreshold(microBatches, parameters)
      let loss = 0
      let sums: ArrayLike<number> = new Float64Array(metrics.length)
      for (const microBatch of microBatches) {
        const batch = TrainFeeds.withLogprobs(yield* complete(microBatch), threshold)
        const feeds = TrainFeeds.feeds(batch, objective)
        const { host } = yield* run(train, feeds, parameters, [
          "loss",
          "grad",
          "metrics",
          ...(look ? ["logprobs"] : [])
        ])
        // The graph's outputs are float32 vectors by construction.
        const [part, gradient, figures] = ["loss", "grad", "metrics"].map((name) => host[name]!.data as Float32Array)
        look?.(microBatch, host["logprobs"]!.data as Float32Array)
        loss += part![0]!
        sums = LossNodes.combine(metrics, sums, figures!)
        if (!Number.isFinite(loss)) break
        yield* optimizer.accumulate(gradient!)
      }
      return {
        loss,
        figures: new Map(metrics.map(({ name }, index) => [name, sums[index]!])),
        isFinite: Number.isFinite(loss)
      } satisfies Computed
    },
    Effect.onError(() => Effect.ignore(optimizer.discard))
  )

  return {
    compute,
    update: (learningRate) =>
      Effect.uninterruptible(
        Effect.tap(optimizer.update(learningRate), ({ isApplied }) => (isApplied ? outdate : Effect.void))
      ),
    discard: optimizer.discard,
    parameters: optimizer.parameters,
    snapshot: optimizer.snapshot
  }
})
