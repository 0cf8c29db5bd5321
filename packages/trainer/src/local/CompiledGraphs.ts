/**
 * Loads a learner's graphs on the executor: the training graph for loss and gradient, and a lighter one for logprobs
 * only, built when first needed.
 */
import { Effect, Scope } from "effect"
import * as Pieces from "../base/Pieces.ts"
import { Executor, type Program, type DeviceTensor } from "../exec/Executor.ts"
import * as Onnx from "../graph/Onnx.ts"
import type * as LossNodes from "../learn/LossNodes.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import type { Objective } from "../loss/Objective.ts"
import type { Policy } from "../model/TrainableModel.ts"
import type { MicroBatch } from "./MicroBatch.ts"
import * as TrainFeeds from "./TrainFeeds.ts"
import * as TrainGraph from "./TrainGraph.ts"

export interface Gradient {
  readonly loss: number
  /** (P) */
  readonly gradient: Float32Array
  /** (M), in the order of `metrics`. */
  readonly figures: Float32Array
  /** (B, T) nats; untrained positions may be 0. */
  readonly logprobs: Float32Array | undefined
}

export interface CompiledGraphs {
  readonly metrics: ReadonlyArray<LossNodes.MetricName>
  /** `reference`: parameters of the reference policy, for micro-batches without its logprobs. */
  readonly gradient: (
    batch: MicroBatch,
    parameters: DeviceTensor,
    options: {
      readonly reference: DeviceTensor | undefined
      readonly withLogprobs: boolean
      /** For objectives that use the batch's highest entropies. */
      readonly entropyThreshold: number | undefined
    }
  ) => Effect.Effect<Gradient, TrainerError>
  /** (B, T) nats at trained positions; for the same objectives. */
  readonly entropies: (batch: MicroBatch, parameters: DeviceTensor) => Effect.Effect<Float32Array, TrainerError>
  /** (B, T) nats. */
  readonly logprobs: (batch: MicroBatch, parameters: DeviceTensor) => Effect.Effect<Float32Array, TrainerError>
  /** Transfers a flat vector to the executor, including its memory. */
  readonly put: (parameters: Float32Array) => Effect.Effect<DeviceTensor, TrainerError>
  readonly free: (parameters: DeviceTensor) => Effect.Effect<void>
}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new TrainerError({ reason: "executor", message: `${what}: ${cause.message}`, cause })

export const load = Effect.fn("CompiledGraphs.load")(function* (
  policy: Policy,
  objective: Objective,
  options: { readonly graph: TrainGraph.TrainGraphOptions; readonly prepack: boolean }
): Effect.fn.Return<CompiledGraphs, TrainerError, Executor | Scope.Scope> {
  const { graph, prepack } = options
  const routing = graph.routerReplay === true ? policy.routing : undefined
  const executor = yield* Executor
  // On a GPU sizes determine where nodes run.
  const form = { hidesSizes: executor.device.kind === "cpu" }
  const scope = yield* Scope.Scope
  const trainGraph = yield* Pieces.yielding(() => TrainGraph.buildPieces(policy, objective, graph))
  const train = yield* Effect.mapError(
    executor.load(yield* Pieces.yielding(() => Onnx.toOnnxPieces(trainGraph.graph, form)), { prepack }),
    failed("the training graph cannot be loaded")
  )
  const hasThreshold = objective.entropyQuantile !== null
  const lighter = yield* Effect.cached(
    Pieces.yielding(() =>
      Onnx.toOnnxPieces(TrainGraph.buildLogprobs(policy, { ...graph, entropy: hasThreshold }), form)
    ).pipe(
      Effect.flatMap((model) => executor.load(model)),
      Effect.mapError(failed("the logprob graph cannot be loaded")),
      Scope.provide(scope)
    )
  )
  // Loaded here if it is certain to be needed, rather than in the middle of a step.
  if (objective.needsReference || hasThreshold) yield* lighter

  const run = (program: Program, feeds: TrainFeeds.Feeds, theta: DeviceTensor, fetch: ReadonlyArray<string>) =>
    Effect.mapError(program.run({ ...feeds, theta }, { fetch }), failed("a micro-batch failed"))

  const ofLighter = (output: "logprobs" | "entropies", positions: TrainFeeds.Positions, isReplayed = true) =>
    Effect.fnUntraced(function* (batch: MicroBatch, parameters: DeviceTensor) {
      const feeds = {
        ...TrainFeeds.idFeeds(batch, positions),
        ...TrainFeeds.routingFeeds(batch, routing, isReplayed)
      }
      const { host } = yield* run(yield* lighter, feeds, parameters, [output])
      // The graphs' outputs are float32 by construction.
      return host[output]!.data as Float32Array
    })
  // The reference policy is another model with its own expert routing.
  const ofReference = ofLighter("logprobs", "trained", false)

  const complete = (batch: MicroBatch, reference: DeviceTensor | undefined) =>
    reference === undefined || batch.refLogprobs !== undefined
      ? Effect.succeed(batch)
      : Effect.map(ofReference(batch, reference), (refLogprobs) => TrainFeeds.withLogprobs(batch, { refLogprobs }))

  return {
    metrics: trainGraph.metrics,
    logprobs: ofLighter("logprobs", "all"),
    entropies: ofLighter("entropies", "trained"),
    gradient: Effect.fnUntraced(function* (batch, parameters, { entropyThreshold, reference, withLogprobs }) {
      const whole = TrainFeeds.withLogprobs(
        yield* complete(batch, reference),
        entropyThreshold === undefined ? {} : { entropyThreshold }
      )
      const feeds = { ...TrainFeeds.feeds(whole, objective), ...TrainFeeds.routingFeeds(whole, routing) }
      const { host } = yield* run(train, feeds, parameters, [
        "loss",
        "grad",
        "metrics",
        ...(withLogprobs ? ["logprobs"] : [])
      ])
      const [loss, gradient, figures] = ["loss", "grad", "metrics"].map((name) => host[name]!.data as Float32Array)
      return {
        loss: loss![0]!,
        gradient: gradient!,
        figures: figures!,
        logprobs: withLogprobs ? (host["logprobs"]!.data as Float32Array) : undefined
      }
    }),
    put: (data) =>
      Effect.mapError(
        executor.put({ dtype: "float32", shape: [data.length], data }),
        failed("the parameters cannot be copied to the executor")
      ),
    free: executor.free
  }
})
