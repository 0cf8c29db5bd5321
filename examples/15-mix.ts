/**
 * Three environments train one policy in one run: two to one to one by weight, and an eighth of every batch reserved
 * for the last.
 *
 * Their texts share one vocabulary of characters, and their groups fill the batches by their weights. Run it: `npx node
 * --conditions=atropos-src examples/15-mix.ts`.
 */
import { NodeServices } from "@effect/platform-node"
import { Environment, MemoryTrajectoryClient, ServerManager, TrajectoryClient, type Trajectory } from "@atropos/core"
import { ClosedLoop, LocalLearner, OrtWorker, PolicyLayers, TinyModel, TrainerSettings } from "@atropos/trainer"
import { Console, Effect, FileSystem, Layer, Option, References, Stream } from "effect"

const letters = "abcdefgh"
const letterAt = (index: number) => letters[index % letters.length]!

/** Asks for the letter `distance` after another; the sign identifies the task. */
const shift = (name: string, sign: string, distance: number) =>
  Environment.layer(name, Environment.settings({}), ({ groupSize }) =>
    Effect.map(ServerManager.ServerManager, (servers) => ({
      items: (cursor: number) => Stream.range(cursor, Number.MAX_SAFE_INTEGER),
      collectTrajectories: (index: number) =>
        servers.complete({ prompt: `${letterAt(index)}${sign}`, n: groupSize, maxTokens: 1, seed: index }),
      score: (index: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => (completion === letterAt(index + distance) ? 1 : 0)))
    }))
  )

const common = { groupSize: 8, ensureScoresAreNotSame: false }
const environments = Environment.merge(
  shift("same", "=", 0)({ ...common, inferenceWeight: 2 }),
  shift("next", "+", 1)({ ...common, inferenceWeight: 1 }),
  shift("last", "-", letters.length - 1)({ ...common, inferenceWeight: 1, minBatchAllocation: 0.125 })
)

const model = TinyModel.make({ characters: `${letters}=+-`, seed: 1, maxPositions: 8 })

const settings = (savePath: string) =>
  TrainerSettings.complete({
    trainer: { savePath, trainingSteps: 60, batchSize: 256, seqLen: 8, lr: 3e-3, checkpointInterval: 0 },
    loss: { preset: "dr-grpo" }
  })

/** Counts the groups of every environment in the delivered batches. */
const counting = (counts: Map<string, number>) =>
  TrajectoryClient.layer(
    Effect.map(TrajectoryClient.all, (client) => {
      const names = new Map<number, string>()
      return {
        ...client,
        registerEnvironment: (spec) =>
          Effect.tap(client.registerEnvironment(spec), (registered) =>
            Effect.sync(() => Option.map(registered, ({ envId, name }) => names.set(envId, name)))
          ),
        claim: (options) =>
          Effect.tap(client.claim(options), (batch) =>
            Effect.sync(() => {
              for (const { envId = -1 } of Option.isSome(batch) ? batch.value.groups : []) {
                const name = names.get(envId) ?? "unknown"
                counts.set(name, (counts.get(name) ?? 0) + 1)
              }
            })
          )
      }
    })
  ).pipe(Layer.provide(MemoryTrajectoryClient.layer()))

const mean = (metrics: ReadonlyArray<{ readonly rewardMean: number }>) =>
  metrics.reduce((sum, { rewardMean }) => sum + rewardMean, 0) / metrics.length

/** The share of every environment in the batches, and the mean reward of the first and the last ten. */
export const mix = Effect.gen(function* () {
  const savePath = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const counts = new Map<string, number>()
  const loop = ClosedLoop.makeOf(yield* Environment.Environments, { settings: settings(savePath) })
  const metrics = yield* Effect.flatMap(loop, ({ steps }) => Stream.runCollect(steps)).pipe(
    Effect.provide(counting(counts))
  )
  const groups = Array.from(counts.values()).reduce((sum, count) => sum + count, 0)
  return {
    shares: new Map(Array.from(counts, ([name, count]) => [name, count / groups] as const)),
    first: mean(metrics.slice(0, 10)),
    last: mean(metrics.slice(-10))
  }
}).pipe(
  Effect.scoped,
  Effect.provide(
    Layer.mergeAll(environments, LocalLearner.layerInProcess({ model })).pipe(
      Layer.provide(OrtWorker.layer({ threads: 1 })),
      Layer.provideMerge(Layer.mergeAll(PolicyLayers.layerInProcess(model, { device: "cpu" }), NodeServices.layer))
    )
  ),
  Effect.provideService(References.MinimumLogLevel, "Warn")
)

export const program = Effect.flatMap(mix, ({ first, last, shares }) =>
  Console.log(
    `shares of the batches: ${Array.from(shares, ([name, share]) => `${name} ${share.toFixed(3)}`).join(", ")}; reward ${first.toFixed(2)} at first, ${last.toFixed(2)} at last`
  )
)

if (import.meta.main) await Effect.runPromise(program)
