/**
 * What the trainer promises, held where the engine changes its weights in the middle of answers and guesses tokens
 * ahead: a resumed run makes the same weights, and the age of an answer is that of its oldest token.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Environment, MemoryTrajectoryClient, type ScoredGroup, ServerManager, Trajectory } from "@atropos/core"
import { Effect, Fiber, FileSystem, Layer, References, Schedule, Stream } from "effect"
import * as Engine from "../../src/engine/Engine.ts"
import type { EngineSettings } from "../../src/engine/EngineSettings.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as Trainer from "../../src/run/Trainer.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as Toy from "./ToyTraining.ts"

const letters = "abcd"
const shape = { characters: letters, seed: 1, hiddenSize: 32, layers: 1 } as const
const groupSize = 4
const steps = 3

/** Prompts that say the same again and again, so that there is something to guess. */
const environment = Environment.layer("letters", Environment.settings({}), () =>
  Effect.map(ServerManager.ServerManager, (servers) => ({
    items: (cursor: number) => Stream.iterate(cursor, (index) => index + 1),
    collectTrajectories: (index: number) =>
      servers.complete({ prompt: "abcd".slice(index % 4).repeat(4), n: groupSize, maxTokens: 12, seed: index }),
    score: (index: number, group: ReadonlyArray<{ readonly completion: string }>) =>
      Effect.succeed(group.map(({ completion }) => completion.split(letters[index % 4]!).length - 1))
  }))
)({ groupSize, ensureScoresAreNotSame: false })

const settings = (savePath: string, trainer: Partial<TrainerSettings.TrainerFields> = {}) =>
  TrainerSettings.complete({
    trainer: { savePath, trainingSteps: steps, batchSize: 16, seqLen: 32, lr: 1e-2, checkpointInterval: 0, ...trainer },
    loss: { preset: "dr-grpo" }
  })

const around = (model: ReturnType<typeof TinyModel.make>, engine: Partial<EngineSettings>) =>
  Layer.mergeAll(environment, MemoryTrajectoryClient.layer(), SharedOrt.layer).pipe(
    Layer.provideMerge(
      Layer.mergeAll(PolicyLayers.layerInProcess(model, { device: "cpu", settings: engine }), NodeServices.layer)
    ),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
  )

describe("a loop on an engine with in-flight updates and prompt lookup", () => {
  const model = TinyModel.make({ ...shape, maxPositions: 32 })

  /** Steps of one folder, in as many runs as are told: the steps, their staleness, and the weights at the end. */
  const run = Effect.fnUntraced(
    function* (parts: ReadonlyArray<number>, engine: Partial<EngineSettings>) {
      const savePath = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      let parameters: Float32Array | undefined
      const publish = (weights: LocalLearner.Weights) =>
        Effect.sync(() => void (parameters = weights.parameters.slice()))
      const done: Array<readonly [number, number, number]> = []
      for (const count of parts) {
        yield* Effect.gen(function* () {
          const { steps } = yield* ClosedLoop.make({ settings: settings(savePath) })
          yield* Stream.runForEach(Stream.take(steps, count), ({ policyVersion, stalenessMax, step }) =>
            Effect.sync(() => done.push([step, policyVersion, stalenessMax]))
          )
        }).pipe(Effect.scoped, Effect.provide(LocalLearner.layerInProcess({ model, publish })))
      }
      const { guessedTokens } = yield* (yield* Engine.Engine).status
      return { parameters, done, guessedTokens, engine }
    },
    Effect.scoped,
    (effect, _, engine) => Effect.provide(effect, around(model, engine), { local: true })
  )

  it.live("stays on policy, and stopped and resumed makes the same weights to the bit", () =>
    Effect.gen(function* () {
      const both = { weightUpdates: "in_flight", speculativeTokens: 3 } as const
      const whole = yield* run([steps], both)
      const resumed = yield* run([2, steps - 2], both)
      assert.deepStrictEqual(
        whole.done,
        [1, 2, 3].map((step) => [step, step, 0])
      )
      assert.deepStrictEqual(resumed.done, whole.done)
      assert.isAbove(whole.guessedTokens, 0)
      assert.deepStrictEqual(resumed.parameters, whole.parameters)
      assert.notDeepEqual(whole.parameters, model.initial)
      // On policy no weights come while answers are under way: how they would be taken changes nothing.
      const inFlight = yield* run([steps], { weightUpdates: "in_flight" })
      const pinned = yield* run([steps], {})
      assert.deepStrictEqual(inFlight.parameters, pinned.parameters)
    })
  )
})

const ask = (maxTokens: number, seed: number) => ({
  promptTokens: [0, 1, 2, 3, 0, 1, 2, 3],
  n: groupSize,
  maxTokens,
  temperature: 1,
  topP: 1,
  topK: 0,
  stopTokenIds: [],
  seed
})

const groupOf = (
  request: ReturnType<typeof ask>,
  choices: ReadonlyArray<Engine.TokenCompletion>
): ScoredGroup.ScoredGroup => {
  const prompt = request.promptTokens
  return {
    tokens: choices.map(({ tokens }) => Int32Array.from([...prompt, ...tokens])),
    masks: choices.map(({ tokens }) => Trajectory.maskFrom(prompt.length, prompt.length + tokens.length)),
    scores: Float64Array.from(choices, (_, i) => i % 2),
    inferenceLogprobs: choices.map(({ logprobs }) =>
      Float32Array.from([...prompt.map(() => Trajectory.notSampled), ...logprobs])
    ),
    policyVersions: choices.map(({ policyVersion }) => policyVersion)
  }
}

describe("an answer that new weights came in the middle of", () => {
  const model = TinyModel.make({ ...shape, maxPositions: 512 })
  const secondStep = Effect.fnUntraced(
    function* (rule: { readonly maxStaleness: number; readonly onStale: "drop" | "mask" }) {
      const engine = yield* Engine.Engine
      const savePath = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const fields = { ...rule, trainingSteps: 2, batchSize: 8, seqLen: 512, maxMismatch: 100 }
      const trainer = yield* Trainer.make({ settings: settings(savePath, fields) })
      yield* trainer.publish
      const short = ask(4, 1)
      const first = groupOf(short, yield* engine.generate(short))
      const long = ask(400, 2)
      const running = yield* Effect.forkChild(engine.generate(long), { startImmediately: true })
      yield* Effect.repeat(engine.status, {
        until: ({ generatedTokens }) => generatedTokens > 80,
        schedule: Schedule.spaced("5 millis")
      })
      yield* Stream.runDrain(trainer.steps(Stream.make(Toy.batch(1, [first]))))
      const crossed = yield* Fiber.join(running)
      // Drawn from both, and as old as the first of them.
      for (const { policyVersion, policyVersions } of crossed) {
        assert.deepStrictEqual([policyVersion, policyVersions?.[0], policyVersions?.at(-1)], [0, 0, 1])
      }
      const fresh = groupOf(short, yield* engine.generate(short))
      assert.deepStrictEqual(fresh.policyVersions, [1, 1, 1, 1])
      const [metrics] = yield* Stream.runCollect(
        trainer.steps(Stream.make(Toy.batch(2, [groupOf(long, crossed), fresh])))
      )
      const { staleDropped, staleMasked, stalenessMax, stalenessMean } = metrics!
      return { staleDropped, staleMasked, stalenessMax, stalenessMean }
    },
    Effect.scoped,
    (effect) =>
      Effect.provide(
        effect,
        LocalLearner.layerInProcess({ model }).pipe(
          Layer.provideMerge(around(model, { weightUpdates: "in_flight", speculativeTokens: 3 }))
        ),
        { local: true }
      )
  )

  it.live("is as stale as its oldest token: dropped or masked by that", () =>
    Effect.gen(function* () {
      const seen = { stalenessMax: 1, stalenessMean: 0.5 }
      assert.deepStrictEqual(yield* secondStep({ maxStaleness: 0, onStale: "drop" }), {
        ...seen,
        staleDropped: groupSize,
        staleMasked: 0
      })
      assert.deepStrictEqual(yield* secondStep({ maxStaleness: 0, onStale: "mask" }), {
        ...seen,
        staleDropped: 0,
        staleMasked: groupSize
      })
    })
  )
})
