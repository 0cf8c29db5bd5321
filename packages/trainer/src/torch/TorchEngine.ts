/**
 * Trains with PyTorch in a child process.
 *
 *     TorchEngine.layer({ python: "python3", ranks: 1, threads: 8, model: "./Qwen3-0.6B", trains: lora, seed: 0,
 *       dtype: "bfloat16", parallel: "ddp", vocabSize, maxPositions })
 *
 * provides `LearnerEngine`. The interpreter has torch, transformers, peft and safetensors.
 */
import type { TokenizerIdentity } from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import { Effect, type FileSystem, Layer, type Path, Scope, Semaphore } from "effect"
import { Executor } from "../exec/Executor.ts"
import { LearnerEngine, type LearnerEngineShape } from "../learn/LearnerEngine.ts"
import type { TrainerError } from "../learn/TrainerError.ts"
import * as TorchLearner from "./TorchLearner.ts"
import * as TorchProcess from "./TorchProcess.ts"

export interface Options extends TorchLearner.Options {
  /** The model's name; `model` is its folder. */
  readonly name: string
  readonly tokenizer?: TokenizerIdentity
  readonly vocabSize: number
  readonly maxPositions: number
}

/** The child process of a scope: started when it is first needed, and again after it ended. */
export const child = Effect.fnUntraced(function* (options: TorchProcess.Options) {
  const owner = yield* Effect.scope
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const one = yield* Semaphore.make(1)
  let present: TorchProcess.TorchProcess | undefined
  return Effect.suspend(() =>
    present?.isAlive() === true
      ? Effect.succeed(present)
      : TorchProcess.make(options).pipe(
          Effect.tap((made) => Effect.sync(() => (present = made))),
          Effect.provideContext(context),
          Scope.provide(owner)
        )
  ).pipe(one.withPermits(1))
})

/** What the engine computes with, and the memory that it took so far. */
export interface Usage extends Pick<TorchProcess.About, "device" | "memory" | "ranks" | "torch"> {
  /** Of the last learner; undefined before the first. */
  readonly loaded: TorchLearner.Loaded | undefined
  /** Max positions of a micro-batch. */
  readonly positions: number
  /** Bytes of each process at its peak: of its GPU, or of this machine's memory. */
  readonly peaks: ReadonlyArray<number>
}

export interface TorchEngine extends LearnerEngineShape {
  readonly usage: Effect.Effect<Usage, TrainerError>
}

/** `process`: its child process. Default: one of its own, for as long as the scope. */
export const make = Effect.fn("TorchEngine.make")(function* (
  { maxPositions, name, tokenizer, vocabSize, ...options }: Options,
  process?: TorchLearner.Shared["child"]
): Effect.fn.Return<TorchEngine, never, Executor | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const context = yield* Effect.context<Executor | FileSystem.FileSystem | Path.Path>()
  const shared: TorchLearner.Shared = {
    child: process ?? (yield* child(options)),
    budget: { positions: 0 },
    learners: 0
  }
  return {
    name: TorchLearner.engine,
    model: { name, vocabSize, maxPositions, ...(tokenizer && { tokenizer }) },
    load: (loading) => Effect.provideContext(TorchLearner.load(options, shared, maxPositions, loading), context),
    usage: Effect.gen(function* () {
      const { about, send } = yield* shared.child
      const { header } = yield* Effect.catchTag(Effect.flatten(send({ op: "usage" })), "OutOfMemory", Effect.die)
      const { device, memory, ranks, torch } = about
      // Written by our own program.
      const peaks = header["peaks"] as ReadonlyArray<number>
      return { device, memory, ranks, torch, loaded: shared.loaded, positions: shared.budget.positions, peaks }
    })
  }
})

export const layer = (
  options: Options
): Layer.Layer<LearnerEngine, never, Executor | FileSystem.FileSystem | Path.Path> =>
  Layer.effect(LearnerEngine, make(options))
