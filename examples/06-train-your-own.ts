/**
 * Trains your own environment from code: a small model learns from a reward alone which letter follows which.
 *
 * Environment, trajectory service, policy and trainer are layers of one program; every batch is sampled from the
 * weights being trained. Run it: `npx node --conditions=atropos-src examples/06-train-your-own.ts`.
 */
import { NodeServices } from "@effect/platform-node"
import { Environment, MemoryTrajectoryClient, ServerManager, type Trajectory } from "@atropos/core"
import { ClosedLoop, LocalLearner, OrtWorker, PolicyLayers, TinyModel, TrainerSettings } from "@atropos/trainer"
import { Console, Effect, FileSystem, Layer, References, Stream } from "effect"

const letters = "abcdefghijklmnop"
const letterAt = (index: number) => letters[index % letters.length]!

export const environment = Environment.layer("next-letter", Environment.settings({}), ({ groupSize }) =>
  Effect.map(ServerManager.ServerManager, (servers) => ({
    items: (cursor: number) => Stream.range(cursor, Number.MAX_SAFE_INTEGER),
    // Seeded, so that a run is reproducible.
    collectTrajectories: (index: number) =>
      servers.complete({ prompt: letterAt(index), n: groupSize, maxTokens: 1, seed: index }),
    score: (index: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
      Effect.succeed(group.map(({ completion }) => (completion === letterAt(index + 1) ? 1 : 0)))
  }))
)({ groupSize: 16, ensureScoresAreNotSame: false })

/** Random initial weights. */
export const model = TinyModel.make({ characters: letters, seed: 1, maxPositions: 16 })

export const settings = (savePath: string) =>
  TrainerSettings.complete({
    trainer: { savePath, trainingSteps: 40, batchSize: 256, seqLen: 16, lr: 3e-3, checkpointInterval: 20 },
    loss: { preset: "dr-grpo" }
  })

/** Prints the mean reward of every tenth batch. */
export const program = Effect.gen(function* () {
  const savePath = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const { steps } = yield* ClosedLoop.make({ settings: settings(savePath) })
  yield* steps.pipe(
    Stream.filter(({ step }) => step === 1 || step % 10 === 0),
    Stream.runForEach(({ rewardMean, step }) => Console.log(`step ${step}: reward ${rewardMean.toFixed(2)}`))
  )
}).pipe(
  Effect.scoped,
  Effect.provide(
    Layer.mergeAll(environment, MemoryTrajectoryClient.layer(), LocalLearner.layerInProcess({ model })).pipe(
      Layer.provide(OrtWorker.layer({ threads: 1 })),
      Layer.provideMerge(Layer.mergeAll(PolicyLayers.layerInProcess(model, { device: "cpu" }), NodeServices.layer))
    )
  ),
  Effect.provideService(References.MinimumLogLevel, "Warn")
)

if (import.meta.main) await Effect.runPromise(program)
