/**
 * The trainer takes a stream of batches and returns a stream of metrics: here between your own source and consumer,
 * without a trajectory service.
 *
 * Batches are cut from the environment's own stream of groups; metrics go to a file, one JSON line each; training stops
 * when the reward is good enough. Run it: `npx node --conditions=atropos-src examples/07-training-stream.ts`.
 */
import { NodeServices } from "@effect/platform-node"
import { type Batch, Environment } from "@atropos/core"
import { LocalLearner, OrtWorker, PolicyLayers, StepMetrics, Trainer } from "@atropos/trainer"
import { Console, Effect, FileSystem, Layer, References, Stream } from "effect"
import * as NextLetter from "./06-train-your-own.ts"

const { model } = NextLetter

/** 16 groups of 16, without leases. */
const batches = Effect.map(Environment.Environment, ({ groups }) =>
  groups.pipe(
    Stream.grouped(16),
    Stream.zipWithIndex,
    Stream.map(([groups, step]): Batch.Batch => ({
      id: `batch-${step}`,
      step,
      leaseToken: "",
      leaseUntil: Number.POSITIVE_INFINITY,
      deliveries: 1,
      groups
    }))
  )
).pipe(Stream.unwrap)

/** Trains until the mean reward of a batch is at least `goal`. */
export const program = (goal: number) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    const trainer = yield* Trainer.make({ settings: NextLetter.settings(folder) })
    const file = `${folder}/figures.jsonl`
    const last = yield* trainer.steps(batches).pipe(
      Stream.tap((metrics) =>
        fs.writeFileString(file, `${JSON.stringify(StepMetrics.values(metrics))}\n`, { flag: "a" })
      ),
      Stream.takeUntil(({ rewardMean }) => rewardMean >= goal),
      Stream.runFold(
        () => 0,
        (_, { rewardMean }) => rewardMean
      )
    )
    const lines = (yield* fs.readFileString(file)).trimEnd().split("\n")
    yield* Console.log(`reward ${last.toFixed(2)} after ${lines.length} steps`)
    return lines
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(NextLetter.environment, LocalLearner.layerInProcess({ model })).pipe(
        Layer.provide(OrtWorker.layer({ threads: 1 })),
        Layer.provideMerge(Layer.mergeAll(PolicyLayers.layerInProcess(model, { device: "cpu" }), NodeServices.layer))
      )
    ),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )

if (import.meta.main) await Effect.runPromise(program(0.8))
