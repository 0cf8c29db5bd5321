/**
 * Learning engine on PyTorch, in a child process: every architecture of transformers, on one GPU, several, or the CPU.
 *
 * Per micro-batch the child returns the logprobs and entropies of the trained tokens and keeps their graph; the
 * objective is evaluated here (`HostObjective`), and its slopes go back for the backward pass: one forward and one
 * backward pass, whatever the loss (`TorchPasses`).
 *
 * A copy is a PEFT folder, or `model.safetensors`, and the optimizer's moments by parameter name; it does not depend on
 * the number of ranks.
 */
import { Effect, type FileSystem, Path, type Scope } from "effect"
import type { Executor } from "../exec/Executor.ts"
import * as HostObjective from "../learn/HostObjective.ts"
import { defaultOptimizer, type Kept, type Learner, type LoadOptions } from "../learn/LearnerEngine.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as WeightedBatch from "../learn/WeightedBatch.ts"
import type { LoraSettings } from "../model/Lora.ts"
import * as MemoryPlan from "../local/MemoryPlan.ts"
import * as TorchMemory from "./TorchMemory.ts"
import * as TorchProcess from "./TorchProcess.ts"
import * as TorchPasses from "./TorchPasses.ts"

export const engine = "torch"

export interface Weights {
  readonly version: number
  /** Writes them into a folder: a PEFT adapter, or a model without its tokenizer. */
  readonly write: (folder: string) => Effect.Effect<void, TrainerError>
  /** Logprobs of the probe text under them: of all tokens except the first, nats. */
  readonly probe?: { readonly tokens: ReadonlyArray<number>; readonly logprobs: ReadonlyArray<number> }
}

export type Publish = (weights: Weights) => Effect.Effect<void, { readonly message: string }>

export interface Options extends TorchProcess.Options {
  /** A folder. */
  readonly model: string
  readonly trains: LoraSettings | "all"
  readonly seed: number
  /** Computation; trained weights, gradients and moments stay in float32. `auto`: bfloat16 on GPUs. */
  readonly dtype: "auto" | "float32" | "bfloat16"
  /** If known, a model that cannot fit is refused before it is read. */
  readonly sizes?: TorchMemory.Sizes | undefined
  /** Bytes of this machine's memory that others need while it trains on the CPU. */
  readonly reserved?: number
  /** Frozen weights of linear layers in 8 or 4 bits (bitsandbytes). */
  readonly quantize: "none" | "int8" | "int4"
  /** How several GPUs share the work: each has all weights (`ddp`), or a part of them (`fsdp`). */
  readonly parallel: "ddp" | "fsdp"
  /** Receives new weights. Training waits for it. */
  readonly publish?: Publish
  /** Token ids of a text; its logprobs accompany new weights, so that the receiver can verify that they arrived. */
  readonly probe?: ReadonlyArray<number> | undefined
}

/** What the learners of an engine share. */
export interface Shared {
  /** The child process: started when it is first needed, and again after it ended. */
  readonly child: Effect.Effect<TorchProcess.TorchProcess, TrainerError>
  /** Positions of a micro-batch, halved when memory is full; 0 until the device is known. */
  readonly budget: { positions: number }
  /** Number of learners so far. */
  learners: number
  /** The last learner. */
  loaded?: Loaded
}

export interface Loaded {
  readonly dtype: string
  /** Parameters. */
  readonly trained: number
  readonly recomputes: boolean
  /** Sequences are packed into rows without padding. */
  readonly isPacked: boolean
}

export const defaultBudget = { cpu: 4096, gpu: 16_384 }

const settings = (message: string) => new TrainerError({ reason: "settings", message: `--engine torch: ${message}` })

/** Describes what this engine cannot do; undefined if it can. */
export const problem = ({ objective, routerReplay }: LoadOptions): string | undefined =>
  routerReplay === true ? "router_replay needs --engine local" : HostObjective.problem(objective, true)

const pathOf = (join: Path.Path["join"], kept: Kept | undefined) => {
  if (kept === undefined) return Effect.succeed(null)
  return kept.reference.engine === engine
    ? Effect.succeed(join(kept.folder, kept.reference.path))
    : Effect.fail(
        settings(
          `${kept.folder} holds weights of the engine ${kept.reference.engine}: train on with that engine, or use another save_path`
        )
      )
}

/** What the engine's processes need to hold for these options; `trained`: as measured, or estimated for an adapter. */
export const workloadOf = (
  { dtype, parallel, trains }: Pick<Options, "dtype" | "parallel" | "trains">,
  { hiddenSize, intermediateSize, layers }: TorchMemory.Sizes,
  { device, ranks }: Pick<TorchProcess.About, "device" | "ranks">,
  { objective, remat }: Pick<LoadOptions, "objective" | "remat">,
  trained?: number
): TorchMemory.Workload => ({
  trained: trains === "all" ? "all" : (trained ?? trains.r * layers * (11 * hiddenSize + 3 * intermediateSize)),
  isHalf: dtype === "bfloat16" || (dtype === "auto" && device !== "cpu"),
  recomputes: remat !== undefined && remat !== false,
  hasReference: objective.needsReference,
  shards: parallel === "fsdp" ? ranks : 1
})

/** Fails if the model cannot fit into the device's memory. */
const checkMemory = Effect.fnUntraced(function* (
  options: Options,
  { device, memory, ranks }: TorchProcess.About,
  loading: LoadOptions
) {
  const { reserved = 0, sizes } = options
  if (sizes === undefined) return
  const message = TorchMemory.problem(sizes, workloadOf(options, sizes, { device, ranks }, loading), {
    memory: memory ?? MemoryPlan.memoryBytes("cpu") - reserved,
    processes: memory === null ? ranks : 1
  })
  if (message !== undefined) return yield* settings(`${options.model}: ${message}`)
})

/** Starts a learner in the child; it is unloaded with the scope. */
const start = Effect.fnUntraced(function* (options: Options, shared: Shared, loading: LoadOptions) {
  const { objective, remat } = loading
  const recomputes = remat !== undefined && remat !== false
  const { dirname, join } = yield* Path.Path
  const initial = yield* pathOf(join, loading.initial)
  const from = yield* pathOf(join, loading.from)
  const child = yield* shared.child
  yield* checkMemory(options, child.about, loading)
  const learner = ++shared.learners
  const ask = (request: TorchProcess.Request) =>
    Effect.flatten(child.send({ ...request, learner })).pipe(
      Effect.catchTag("OutOfMemory", ({ message }) => Effect.fail(settings(message)))
    )
  const { header } = yield* ask({
    op: "load",
    options: {
      model: options.model,
      trains: options.trains,
      seed: options.seed,
      dtype: options.dtype,
      parallel: options.parallel,
      chunk: TorchMemory.chunk,
      quantize: options.quantize,
      remat: recomputes,
      entropies: objective.needsEntropies,
      reference: objective.needsReference,
      optimizer: loading.optimizer ?? defaultOptimizer,
      initial,
      weights: from ?? initial,
      moments: from === null ? null : dirname(from)
    }
  })
  yield* Effect.addFinalizer(() => (child.isAlive() ? Effect.ignore(ask({ op: "unload" })) : Effect.void))
  const { device, ranks, torch } = child.about
  const { dtype, isChunked, isPacked, trained } = header
  shared.loaded = { dtype: String(dtype), trained: Number(trained), recomputes, isPacked: isPacked === true }
  yield* Effect.logInfo("PyTorch engine ready", { torch, device, ranks, dtype, trained, isChunked, isPacked })
  return { ask, child, learner, isPacked: isPacked === true }
})

export const load = Effect.fn("TorchLearner.load")(function* (
  options: Options,
  shared: Shared,
  maxPositions: number,
  loading: LoadOptions
): Effect.fn.Return<Learner, TrainerError, Executor | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const message = problem(loading)
  if (message !== undefined) return yield* settings(message)
  const { maxLength = maxPositions, objective, tokenBudget } = loading
  const host = yield* HostObjective.make(objective, "float32", true)
  const { ask, child, isPacked, learner } = yield* start(options, shared, loading)
  const { device } = child.about
  shared.budget.positions ||= Math.max(maxLength, tokenBudget ?? defaultBudget[device === "cpu" ? "cpu" : "gpu"])
  /** Gradient that the child has summed, completely or in part. */
  let pending: "none" | "whole" | "unknown" = "none"
  const discard = Effect.suspend(() => {
    pending = "none"
    return Effect.asVoid(ask({ op: "discard" }))
  })
  const passes = TorchPasses.make({
    child,
    learner,
    objective,
    host,
    isSharded: options.parallel === "fsdp" && child.about.ranks > 1,
    isPacked,
    budget: shared.budget,
    discard
  })

  return {
    forward: passes.logprobs,
    forwardBackward: Effect.fn("TorchLearner.forwardBackward")(function* (batch, look) {
      yield* discard
      pending = "unknown"
      const { logprobs, ...computed } = yield* passes.gradient(batch)
      for (const [item, row] of logprobs.entries()) look?.(item, row)
      if (computed.isFinite && batch.items.length > 0) pending = "whole"
      else yield* discard
      return computed
    }),
    optimizerStep: (learningRate) =>
      Effect.suspend(() => {
        if (pending !== "whole") {
          return Effect.fail(
            new TrainerError({ reason: "engine", message: "there is no gradient to make a step with" })
          )
        }
        pending = "none"
        return Effect.map(ask({ op: "step", learningRate }), ({ header }) => ({
          isApplied: header["isApplied"] === true,
          norm: header["norm"] === null ? Number.NaN : Number(header["norm"])
        }))
      }).pipe(Effect.uninterruptible),
    discard,
    save: (folder) =>
      Effect.map(ask({ op: "save", folder, moments: true }), ({ header }) => ({
        engine,
        path: String(header["path"])
      })),
    publish: Effect.fn("TorchLearner.publish")(function* (version) {
      const { probe: tokens, publish } = options
      if (publish === undefined) return
      const [logprobs = []] = tokens === undefined ? [] : yield* passes.logprobs(WeightedBatch.ofTokens(tokens))
      const write = (folder: string) => Effect.asVoid(ask({ op: "save", folder, moments: false }))
      const weights = { version, write, ...(tokens && { probe: { tokens, logprobs: Array.from(logprobs) } }) }
      yield* Effect.mapError(
        publish(weights),
        (cause) => new TrainerError({ reason: "publish", message: `weights not published: ${cause.message}`, cause })
      )
    })
  } satisfies Learner
})
