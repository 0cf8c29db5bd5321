/**
 * Trains on this machine: graphs run on the executor per micro-batch; gradients are accumulated and updates made in the
 * optimizer's thread.
 *
 * The split into micro-batches does not affect the loss. The same batches, settings and thread count give bit-identical
 * results on the CPU. A saved copy is `trainer_state.safetensors` (exact parameters and moments) next to the weights in
 * a format that other programs load. New weights go to the `publish` option.
 */
import { Effect, type FileSystem, Layer, Path, Scope } from "effect"
import * as Engine from "../engine/Engine.ts"
import { Executor, type DeviceKind, type DeviceTensor } from "../exec/Executor.ts"
import { type Computed, defaultOptimizer, LearnerEngine } from "../learn/LearnerEngine.ts"
import type { LearnerEngineShape, Learner, LoadOptions } from "../learn/LearnerEngine.ts"
import * as LossNodes from "../learn/LossNodes.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as WeightedBatch from "../learn/WeightedBatch.ts"
import * as Model from "../model/Model.ts"
import type { TrainableModel } from "../model/TrainableModel.ts"
import * as LocalWeights from "./LocalWeights.ts"
import * as MemoryPlan from "./MemoryPlan.ts"
import * as MicroBatch from "./MicroBatch.ts"
import type { Placement } from "./MicroBatchArrays.ts"
import * as OptimizerThread from "./OptimizerThread.ts"
import * as CompiledGraphs from "./CompiledGraphs.ts"
import * as Quantile from "./Quantile.ts"
import * as RouterReplay from "./RouterReplay.ts"
import * as TrainGraph from "./TrainGraph.ts"

export interface Weights {
  readonly version: number
  /** A copy that the receiver owns. */
  readonly parameters: Float32Array
  /** Logprobs of the probe sequence under these weights: of all tokens except the first, nats. */
  readonly probe?: { readonly tokens: ReadonlyArray<number>; readonly logprobs: ReadonlyArray<number> }
}

export type Publish = (weights: Weights) => Effect.Effect<void, { readonly message: string }>

export interface Options {
  readonly model: TrainableModel
  /** Graph options; default: chosen by `MemoryPlan` from model, device and token budget. */
  readonly graph?: Partial<TrainGraph.TrainGraphOptions>
  /** Receives new weights. Training waits for it. */
  readonly publish?: Publish
  /**
   * Token ids of a probe sequence; its logprobs accompany new weights, so that the receiver can verify that they
   * arrived.
   */
  readonly probe?: ReadonlyArray<number> | undefined
}

export interface LocalLearner extends Learner {
  /** A copy of the current parameters. */
  readonly parameters: Effect.Effect<Float32Array, TrainerError>
}

export interface LocalEngine extends LearnerEngineShape {
  readonly load: (options: LoadOptions) => Effect.Effect<LocalLearner, TrainerError, Scope.Scope>
}

/** Row length, in hidden sizes, at which attention over whole rows costs as much as everything else. */
const attentionLengths = 6

/** Plans how the training graph is built and how batches are packed; on GPUs rows have room for pairs. */
const planOf = ({ graph: input, model }: Options, options: LoadOptions, device: DeviceKind) => {
  const maxLength = options.maxLength ?? model.maxPositions
  const { rounded, shape } = model
  const { needsPairs } = options.objective
  const { remat, routerReplay = false } = options
  const sharesPrompts = model.policy.sharesPrompts === true && !needsPairs && !routerReplay
  const rowLength = MemoryPlan.rowLengthFor(maxLength, device, needsPairs)
  const workload = shape && { shape, rowLength, ...(rounded && { rounded }) }
  const memory = options.memory ?? MemoryPlan.memoryBytes(device)
  const tokenBudget =
    options.tokenBudget ?? (workload ? MemoryPlan.tokensFor(workload, device, memory) : MicroBatch.defaults.tokenBudget)
  const tokens = Math.max(tokenBudget, rowLength)
  const plan = workload && MemoryPlan.choose({ ...workload, tokens }, device, memory, remat)
  const { prepack = false, ...planned } = plan ?? {}
  const graph = {
    ...TrainGraph.defaults,
    ...planned,
    ...input,
    ...(remat !== undefined && { remat }),
    routerReplay,
    sharesPrompts
  }
  // In blocks a sequence's cost does not depend on its row, because masked blocks are skipped.
  const attentionLength = graph.attention === "blocks" ? Infinity : attentionLengths * model.hiddenSize
  return {
    prepack,
    graph,
    packing: {
      ...MicroBatch.defaults,
      maxLength: sharesPrompts ? rowLength : maxLength,
      tokenBudget,
      attentionLength,
      sharesPrompts,
      multiple: Math.max(graph.chunks, graph.feedForwardChunks ?? 1)
    }
  }
}

const ofItem = (
  { length: rowLength }: MicroBatch.MicroBatch,
  { length, row, shared, sharedStart, start }: Placement,
  logprobs: Float32Array
): Float32Array => {
  const own = row * rowLength + start
  if (shared === 0) return logprobs.subarray(own, own + length)
  const prompt = row * rowLength + sharedStart
  const whole = new Float32Array(length)
  whole.set(logprobs.subarray(prompt, prompt + shared))
  whole.set(logprobs.subarray(own, own + length - shared), shared)
  return whole
}

/** The parameters on the executor, uploaded again when the optimizer has newer ones. */
const presentOf = (programs: CompiledGraphs.CompiledGraphs, optimizer: OptimizerThread.OptimizerThread) => {
  let theta: DeviceTensor | undefined
  return {
    present: Effect.suspend(() =>
      theta === undefined
        ? Effect.map(Effect.flatMap(optimizer.parameters, programs.put), (resident) => (theta = resident))
        : Effect.succeed(theta)
    ),
    outdate: Effect.suspend(() => {
      const old = theta
      theta = undefined
      return old === undefined ? Effect.void : programs.free(old)
    })
  }
}

const loadWith = Effect.fn("LocalLearner.load")(function* (
  options: Options,
  weights: LocalWeights.LocalWeights,
  loading: LoadOptions
): Effect.fn.Return<LocalLearner, TrainerError, Executor | Scope.Scope> {
  const { model, probe: probed, publish } = options
  const { objective } = loading
  const { device } = yield* Executor
  const { routing } = model.policy
  if (loading.routerReplay === true && routing === undefined) {
    return yield* new TrainerError({
      reason: "settings",
      message: `router_replay needs a mixture of experts, which ${model.name} is not: remove it`
    })
  }
  // First, so that an unreadable copy fails before a graph is built.
  const { reference, snapshot } = yield* weights.start(loading)
  const { packing, ...plan } = planOf(options, loading, device.kind)
  const programs = yield* CompiledGraphs.load(model.policy, objective, plan)
  const { metrics } = programs
  const referencePolicy = objective.needsReference ? yield* Effect.flatMap(reference, programs.put) : undefined
  const optimizer = yield* OptimizerThread.make(snapshot, {
    ...(loading.optimizer ?? defaultOptimizer),
    layout: model.policy.layout
  })
  const { outdate, present } = presentOf(programs, optimizer)

  const packed = (batch: WeightedBatch.WeightedBatch) =>
    Effect.map(
      loading.routerReplay === true && routing !== undefined ? RouterReplay.check(routing, batch) : Effect.void,
      () => MicroBatch.pack(batch, packing)
    )

  const forward = Effect.fn("LocalLearner.forward")(function* (batch: WeightedBatch.WeightedBatch) {
    const parameters = yield* present
    const logprobs: Array<Float32Array> = []
    for (const microBatch of yield* packed(batch)) {
      const ofRows = yield* programs.logprobs(microBatch, parameters)
      for (const placement of microBatch.placements) {
        logprobs[placement.item] = ofItem(microBatch, placement, ofRows).slice()
      }
    }
    return logprobs
  })

  const { entropyQuantile } = objective
  /** The objective's quantile of the entropies of all trained tokens; undefined if it uses none. */
  const thresholdOf = Effect.fnUntraced(function* (
    microBatches: ReadonlyArray<MicroBatch.MicroBatch>,
    parameters: DeviceTensor
  ) {
    if (entropyQuantile === null) return undefined
    const entropies: Array<number> = []
    for (const batch of microBatches) {
      const values = yield* programs.entropies(batch, parameters)
      batch.lossMask.forEach((trained, at) => trained === 1 && entropies.push(values[at]!))
    }
    return Quantile.of(Float64Array.from(entropies), entropyQuantile)
  })

  const forwardBackward: Learner["forwardBackward"] = Effect.fn("LocalLearner.forwardBackward")(
    function* (batch, look) {
      yield* optimizer.discard
      const problem = WeightedBatch.truncationProblem(batch, "--engine local")
      if (problem !== undefined) return yield* new TrainerError({ reason: "settings", message: problem })
      const parameters = yield* present
      const microBatches = yield* packed(batch)
      const entropyThreshold = yield* thresholdOf(microBatches, parameters)
      let loss = 0
      let sums: ArrayLike<number> = new Float64Array(metrics.length)
      for (const microBatch of microBatches) {
        const part = yield* programs.gradient(microBatch, parameters, {
          reference: referencePolicy,
          entropyThreshold,
          withLogprobs: look !== undefined
        })
        for (const placement of look === undefined ? [] : microBatch.placements) {
          look?.(placement.item, ofItem(microBatch, placement, part.logprobs!))
        }
        loss += part.loss
        sums = LossNodes.combine(metrics, sums, part.figures)
        if (!Number.isFinite(loss)) break
        yield* optimizer.accumulate(part.gradient)
      }
      return {
        loss,
        figures: new Map(metrics.map(({ name }, index) => [name, sums[index]!])),
        isFinite: Number.isFinite(loss),
        microBatches: microBatches.length,
        positions: MicroBatch.positions(microBatches),
        saved: MicroBatch.saved(microBatches)
      } satisfies Computed
    },
    Effect.onError(() => Effect.ignore(optimizer.discard))
  )

  return {
    forward,
    forwardBackward,
    optimizerStep: (learningRate) =>
      Effect.uninterruptible(
        Effect.tap(optimizer.update(learningRate), ({ isApplied }) => (isApplied ? outdate : Effect.void))
      ),
    discard: optimizer.discard,
    save: (folder) => Effect.flatMap(optimizer.snapshot, (snapshot) => weights.save(folder, snapshot)),
    publish: (version) =>
      publish === undefined
        ? Effect.void
        : Effect.gen(function* () {
            const [logprobs = []] = probed === undefined ? [] : yield* forward(WeightedBatch.ofTokens(probed))
            const probe = probed && { probe: { tokens: probed, logprobs: Array.from(logprobs) } }
            yield* Effect.mapError(
              publish({ version, parameters: yield* optimizer.parameters, ...probe }),
              (cause) =>
                new TrainerError({ reason: "publish", message: `weights not published: ${cause.message}`, cause })
            )
          }),
    parameters: optimizer.parameters
  }
})

export const make = Effect.fn("LocalLearner.make")(function* (
  options: Options
): Effect.fn.Return<LocalEngine, never, Executor | FileSystem.FileSystem | Path.Path> {
  const { maxPositions, name, tokenizer, vocabSize } = options.model
  const executor = yield* Executor
  const weights = yield* LocalWeights.make(options.model)
  return {
    name: LocalWeights.engine,
    model: { name, vocabSize, maxPositions, ...(tokenizer && { tokenizer }) },
    load: (loading) => Effect.provideService(loadWith(options, weights, loading), Executor, executor)
  }
})

export const layer = (
  options: Options
): Layer.Layer<LearnerEngine, never, Executor | FileSystem.FileSystem | Path.Path> =>
  Layer.effect(LearnerEngine, make(options))

/**
 * Layer of an engine whose model is sampled in this process: new weights go to the sampling engine, under the model's
 * name in `PolicyLayers`, then to `publish`.
 */
export const layerInProcess = ({
  model,
  publish = () => Effect.void,
  ...options
}: Omit<Options, "model"> & { readonly model: Model.Model }): Layer.Layer<
  LearnerEngine,
  never,
  Engine.Engine | Executor | FileSystem.FileSystem | Path.Path
> =>
  Layer.effect(
    LearnerEngine,
    Effect.flatMap(Engine.Engine, (engine) =>
      make({
        ...options,
        model: Model.trainable(model),
        publish: (weights) =>
          Effect.andThen(engine.load(model.name, weights.version, weights.parameters), publish(weights))
      })
    )
  )
