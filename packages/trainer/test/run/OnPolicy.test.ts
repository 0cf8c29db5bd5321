/** The policy version of every trajectory, from the engine that samples it to the trainer that learns from it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { type Batch, Environment, MemoryTrajectoryClient, ServerManager, TrajectoryClient } from "@atropos/core"
import { Effect, FileSystem, Layer, Option, References, Stream } from "effect"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import type { StepMetrics } from "../../src/run/StepMetrics.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"

const letters = "abcd"
const model = TinyModel.make({ characters: letters, seed: 1, hiddenSize: 32, layers: 1, maxPositions: 16 })
const groupSize = 4
const batchSize = 16
const steps = 4

/** Two turns of a session: the second begins with what was said in the first. Rewarded is the prompt's letter. */
const environment = Environment.layer("letters", Environment.settings({}), () =>
  Effect.map(ServerManager.ServerManager, (servers) => ({
    items: (cursor: number) => Stream.iterate(cursor, (index) => index + 1),
    collectTrajectories: (index: number) =>
      Effect.forEach(
        Array.from({ length: groupSize }, (_, i) => i),
        (i) =>
          Effect.scoped(
            Effect.gen(function* () {
              const session = yield* servers.tracked()
              const prompt = letters[index % 4]!
              const seed = index * groupSize + i
              const [first] = yield* session.complete({ prompt, maxTokens: 2, seed })
              yield* session.complete({ prompt: `${prompt}${first!.text}d`, maxTokens: 3, seed })
              return yield* session.trajectories
            })
          ),
        { concurrency: "unbounded" }
      ).pipe(Effect.map((all) => all.flatMap((trajectories) => trajectories.slice(0, 1)))),
    score: (index: number, group: ReadonlyArray<{ readonly completion: string }>) =>
      Effect.succeed(group.map(({ completion }) => completion.split(letters[index % 4]!).length - 1))
  }))
)({ groupSize, ensureScoresAreNotSame: false, maxNumWorkers: 8 })

/** A run of four steps: the metrics, the batches, and the weights at its end. */
const run = Effect.fnUntraced(
  function* (stepsAhead: number) {
    const client = yield* TrajectoryClient.all
    const batches: Array<Batch.Batch> = []
    const noting: TrajectoryClient.TrajectoryClient = {
      ...client,
      claim: (options) =>
        Effect.tap(
          client.claim(options),
          Option.match({ onNone: () => Effect.void, onSome: (batch) => Effect.sync(() => void batches.push(batch)) })
        )
    }
    const savePath = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    const settings = TrainerSettings.complete({
      trainer: { savePath, trainingSteps: steps, batchSize, seqLen: 16, lr: 1e-2, checkpointInterval: 0 },
      loss: { preset: "dr-grpo" }
    })
    let parameters: Float32Array | undefined
    const publish = (weights: LocalLearner.Weights) => Effect.sync(() => void (parameters = weights.parameters.slice()))
    const { steps: stream } = yield* ClosedLoop.make({ settings, stepsAhead }).pipe(
      Effect.provide(TrajectoryClient.context(noting)),
      Effect.provide(LocalLearner.layerInProcess({ model, publish }))
    )
    const metrics = yield* Stream.runCollect(stream)
    return { metrics, batches, parameters }
  },
  Effect.scoped,
  Effect.provide(
    Layer.mergeAll(environment, MemoryTrajectoryClient.layer(), SharedOrt.layer).pipe(
      Layer.provideMerge(Layer.mergeAll(PolicyLayers.layerInProcess(model, { device: "cpu" }), NodeServices.layer)),
      Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
    ),
    { local: true }
  )
)

const curveOf = ({ metrics }: { readonly metrics: ReadonlyArray<StepMetrics> }) =>
  metrics.map(({ gradNorm, loss, rewardMean, rewardStd }) => ({ gradNorm, loss, rewardMean, rewardStd }))

const versionsOf = ({ groups }: Batch.Batch) => groups.flatMap(({ policyVersions }) => policyVersions ?? [])

describe("policy versions", () => {
  it.live("go with rollouts into batches, and on policy nothing is stale", () =>
    Effect.gen(function* () {
      const { batches, metrics } = yield* run(0)
      assert.deepStrictEqual(
        batches.slice(0, steps).map(versionsOf),
        Array.from({ length: steps }, (_, step) => Array.from({ length: batchSize }, () => step))
      )
      for (const one of metrics) {
        assert.deepInclude(one, { stalenessMean: 0, stalenessMax: 0, versionUnknown: 0, sequences: batchSize })
        // The engine's logprobs are those of the weights that are trained.
        assert.isBelow(one.mismatchMax!, 1e-4)
      }
      // Sequences that the token limit cut off are told from those that ended.
      const cut = batches[0]!.groups.flatMap(({ overrides = [] }) => overrides.map((one) => one["finish_reason"]))
      assert.include(cut, "length")
    })
  )

  it.live("tell how far sampling was ahead", () =>
    Effect.gen(function* () {
      const { batches, metrics } = yield* run(1)
      for (const [step, { stalenessMax, stalenessMean, versionUnknown }] of metrics.entries()) {
        const staleness = versionsOf(batches[step]!).map((version) => step - (version ?? Number.NaN))
        assert.strictEqual(stalenessMax, Math.max(...staleness))
        assert.closeTo(stalenessMean, staleness.reduce((sum, one) => sum + one, 0) / batchSize, 1e-12)
        assert.isAtMost(stalenessMax, 1)
        assert.strictEqual(versionUnknown, 0)
      }
      assert.isTrue(metrics.some(({ stalenessMax }) => stalenessMax === 1))
    })
  )

  it.live("on policy the same seed gives the same run, bit for bit, however rollouts interleave", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* run(0), yield* run(0)]
      assert.deepStrictEqual(curveOf(second), curveOf(first))
      assert.deepStrictEqual(second.parameters, first.parameters)
      assert.notDeepEqual(first.parameters, model.initial)
    })
  )
})
