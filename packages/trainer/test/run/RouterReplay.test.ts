/** The experts that a mixture passed at sampling, from the engine to the trainer that passes them again. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Environment, MemoryTrajectoryClient, PackedGroup, type ScoredGroup, ServerManager } from "@atropos/core"
import { Effect, FileSystem, Layer, References, Result, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as MixtureFolder from "../model/MixtureFolder.ts"
import * as Model from "../../src/model/Model.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"

const maxPositions = 256
const letters = "abcdefghijkl"

const mixture = Effect.gen(function* () {
  const root = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  // One expert a token: its weight is 1, so that nothing but the choice depends on the router.
  const folder = yield* MixtureFolder.write(`${root}/model`, {
    max_position_embeddings: maxPositions,
    num_experts_per_tok: 1,
    mlp_only_layers: []
  })
  return yield* PretrainedModel.load(folder, { trains: "all", seed: 1 })
})

/** Parameters in which every second expert's score is that of the one before it, a thousandth more or less. */
const withTies = ({ initial, layout }: Model.Model, sign: 1 | -1): Float32Array => {
  const parameters = initial.slice()
  for (const { name, offset, shape } of layout.slots) {
    if (!name.endsWith("mlp.gate.weight")) continue
    const [experts, width] = shape as [number, number]
    for (let expert = 1; expert < experts; expert += 2) {
      for (let i = 0; i < width; i++) {
        parameters[offset + expert * width + i] = parameters[offset + (expert - 1) * width + i]! * (1 + sign * 1e-3)
      }
    }
  }
  return parameters
}

/** Two turns: the second goes on from a prompt of more than a block and what was said to it. */
const turns = Effect.fnUntraced(function* (seed: number, stop: ReadonlyArray<string> = []) {
  const servers = yield* ServerManager.ServerManager
  const session = yield* servers.tracked()
  const prompt = Array.from({ length: 150 }, (_, i) => letters[(i * i + 3 * i) % letters.length]).join("")
  const [first] = yield* session.complete({ prompt, maxTokens: 12, seed, stop })
  yield* session.complete({ prompt: `${prompt}${first!.text}abc`, maxTokens: 12, seed: seed + 1 })
  return yield* session.trajectories
}, Effect.scoped)

const objective = Result.getOrThrow(Preset.resolve({ preset: "dr-grpo", baseline: "none" }))

const batchOf = (group: ScoredGroup.ScoredGroup, vocabSize: number) => {
  const { sequences } = TrainingSequence.ofGroups([group], objective)
  return WeightedBatch.choose(sequences, objective, { maxLength: maxPositions, vocabSize }).batch
}

/** Largest distance between what the trainer makes of sampled tokens and what the sampler said. */
const distance = (batch: WeightedBatch.WeightedBatch, logprobs: ReadonlyArray<Float32Array>): number => {
  let most = 0
  let count = 0
  for (const [index, item] of batch.items.entries()) {
    const { engineLogprobs, mask } = batch.sequences[item.sequence]!
    for (let t = 1; t <= item.length; t++) {
      if (mask[t] === 0) continue
      count++
      most = Math.max(most, Math.abs(logprobs[index]![t - 1]! - engineLogprobs![t]!))
    }
  }
  assert.isAbove(count, 20)
  return most
}

const services = Layer.mergeAll(
  SharedOrt.layer,
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

describe("router replay", () => {
  it.live("passes the sampler's experts where a change of a thousandth would choose others", () =>
    Effect.gen(function* () {
      const model = yield* mixture
      const sampled = yield* Effect.forEach([0, 3], (speculativeTokens) =>
        Effect.forEach([1, 5, 9], (seed) => turns(seed, ["ab", "cd"])).pipe(
          Effect.provide(
            PolicyLayers.layerInProcess(model, {
              device: "cpu",
              parameters: withTies(model, 1),
              recordsExperts: true,
              settings: { speculativeTokens }
            })
          )
        )
      )
      const trajectories = sampled.flat(2)
      const group: ScoredGroup.ScoredGroup = {
        tokens: trajectories.map(({ tokens }) => tokens),
        masks: trajectories.map(({ mask }) => mask),
        scores: Float64Array.from(trajectories, (_, i) => i + 1),
        inferenceLogprobs: trajectories.map(({ logprobs }) => logprobs!),
        routedExperts: trajectories.map(({ routedExperts }) => routedExperts!)
      }
      // One of twelve experts in each of two layers: a word for each position but the last.
      assert.deepStrictEqual(
        group.routedExperts!.map(({ length }) => length),
        group.tokens.map(({ length }) => length - 1)
      )
      const sent = Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(group)))
      const batch = batchOf(sent, model.config.vocabSize)
      const trained = { ...model, initial: withTies(model, -1) }
      const learnerOf = (routerReplay: boolean) =>
        Effect.flatMap(LocalLearner.make({ model: Model.trainable(trained) }), (engine) =>
          engine.load({ objective, maxLength: maxPositions, routerReplay })
        )
      const [plain, replaying] = yield* Effect.forEach([false, true], learnerOf)
      assert.isAbove(distance(batch, yield* plain!.forward(batch)), 0.01)
      assert.isBelow(distance(batch, yield* replaying!.forward(batch)), 1e-4)
      const looked: Array<Float32Array> = []
      const { isFinite } = yield* replaying!.forwardBackward(batch, (item, logprobs) => {
        looked[item] = logprobs.slice()
      })
      assert.isTrue(isFinite)
      assert.isBelow(distance(batch, looked), 1e-4)

      const without = yield* Effect.flip(
        replaying!.forward(batchOf({ ...group, routedExperts: group.tokens.map(() => new Int32Array()) }, 16))
      )
      assert.match(without.message, /lack them: sample with the engine of this process/)
      const [first, ...others] = group.routedExperts!
      const beyond = first!.map((word, t) => (t === 3 ? word | 0xff : word))
      const other = yield* Effect.flip(
        replaying!.forward(batchOf({ ...group, routedExperts: [beyond, ...others] }, model.config.vocabSize))
      )
      assert.match(other.message, /are not those of this model/)
    }).pipe(Effect.scoped, Effect.provide(services))
  )

  const environment = Environment.layer("turns", Environment.settings({}), ({ groupSize }) =>
    Effect.map(Effect.context<ServerManager.ServerManager>(), (context) => ({
      items: (cursor: number) => Stream.iterate(cursor, (index) => index + 1),
      collectTrajectories: (index: number) =>
        Effect.forEach(
          Array.from({ length: groupSize }, (_, i) => 10 * (index * groupSize + i)),
          (seed) => Effect.map(turns(seed), (all) => all.slice(0, 1))
        ).pipe(
          Effect.map((all) => all.flat()),
          Effect.provideContext(context)
        ),
      score: (_: number, group: ReadonlyArray<unknown>) => Effect.succeed(group.map((_, i) => i))
    }))
  )({ groupSize: 2 })

  const loop = Effect.fnUntraced(function* (model: Model.Model, recordsExperts: boolean) {
    const savePath = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    const settings = TrainerSettings.complete({
      trainer: {
        savePath,
        trainingSteps: 3,
        batchSize: 4,
        seqLen: maxPositions,
        lr: 1e-3,
        checkpointInterval: 0,
        routerReplay: true
      },
      loss: { preset: "dr-grpo" }
    })
    return yield* Effect.gen(function* () {
      const { steps } = yield* ClosedLoop.make({ settings })
      return yield* Stream.runCollect(steps)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Layer.mergeAll(environment, MemoryTrajectoryClient.layer(), LocalLearner.layerInProcess({ model })).pipe(
          Layer.provideMerge(
            PolicyLayers.layerInProcess(model, {
              device: "cpu",
              recordsExperts,
              parameters: model.adapter ? model.initial : withTies(model, 1)
            })
          )
        )
      )
    )
  })

  it.live("is a setting of the closed loop, which says what it cannot work with", () =>
    Effect.gen(function* () {
      const model = yield* mixture
      const steps = yield* loop({ ...model, initial: withTies(model, -1) }, true)
      assert.strictEqual(steps.length, 3)
      for (const { mismatchOnPolicy } of steps) assert.isBelow(mismatchOnPolicy!, 5e-5)
      const silent = yield* Effect.flip(loop(model, false))
      assert.match(silent.message, /router_replay needs the experts/)
      const dense = TinyModel.make({ characters: letters, seed: 1, maxPositions })
      const refused = yield* Effect.flip(loop(dense, false))
      assert.match(refused.message, /router_replay needs a mixture of experts/)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
