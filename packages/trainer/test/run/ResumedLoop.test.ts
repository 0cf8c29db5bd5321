/**
 * A closed loop on whatever its engine can do: stopped and resumed, with an engine that knows nothing of what was
 * before, it makes the same weights to the bit.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Environment, MemoryTrajectoryClient, ServerManager, type Trajectory } from "@atropos/core"
import { Effect, FileSystem, Layer, References, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Engine from "../../src/engine/Engine.ts"
import type { EngineSettings } from "../../src/engine/EngineSettings.ts"
import { Executor } from "../../src/exec/Executor.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import type * as Model from "../../src/model/Model.ts"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as MixtureFolder from "../model/MixtureFolder.ts"
import * as LongRows from "./LongRows.ts"

const letters = "abcd"
const shape = { characters: letters, seed: 1, hiddenSize: 32, layers: 1 } as const
const groupSize = 4
const steps = 3

interface Kind {
  readonly model: Model.Model
  readonly rollOut: (
    servers: ServerManager.ServerManagerShape,
    index: number
  ) => Effect.Effect<ReadonlyArray<Trajectory.Trajectory>, ServerManager.InferenceError>
  readonly trainer: Partial<TrainerSettings.TrainerFields>
  readonly graph?: typeof LongRows.graph
}

/** An answer to a prompt that says the same again and again, so that there is something to guess. */
const answer: Kind["rollOut"] = (servers, index) =>
  servers.complete({ prompt: letters.slice(index % 4).repeat(4), n: groupSize, maxTokens: 12, seed: index })

const turnTokens = 40

/** Two turns; the second begins with all of the first, which lies in the prefix cache by then. */
const turns: Kind["rollOut"] = (servers, index) =>
  Effect.forEach(
    Array.from({ length: groupSize }, (_, i) => 2 * (groupSize * index + i)),
    (seed) =>
      Effect.gen(function* () {
        const session = yield* servers.tracked()
        const prompt = Array.from({ length: 290 }, (_, i) => letters[(i * i + index * i) % letters.length]).join("")
        const [first] = yield* session.complete({ prompt, maxTokens: turnTokens, seed, stop: ["abc"] })
        yield* session.complete({ prompt: `${prompt}${first!.text}ad`, maxTokens: turnTokens, seed: seed + 1 })
        return yield* session.trajectories
      }).pipe(Effect.scoped),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((all) => all.flat()))

const environmentOf = ({ rollOut }: Kind) =>
  Environment.layer("letters", Environment.settings({}), () =>
    Effect.map(ServerManager.ServerManager, (servers) => ({
      items: (cursor: number) => Stream.iterate(cursor, (index) => index + 1),
      collectTrajectories: (index: number) => rollOut(servers, index),
      score: (index: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => completion.split(letters[index % 4]!).length - 1))
    }))
  )({ groupSize, ensureScoresAreNotSame: false })

/** Steps of one folder, in as many runs as are told: the steps, their staleness, and the weights at the end. */
const run = Effect.fnUntraced(
  function* (kind: Kind, parts: ReadonlyArray<number>, settings: Partial<EngineSettings>) {
    const { graph, model, trainer } = kind
    const { executor, runs } = yield* LongRows.watched
    const savePath = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
    let parameters: Float32Array | undefined
    const publish = (weights: LocalLearner.Weights) => Effect.sync(() => void (parameters = weights.parameters.slice()))
    const done: Array<readonly [number, number, number]> = []
    let [guessedTokens, cachedTokens] = [0, 0]
    for (const count of parts) {
      yield* Effect.gen(function* () {
        const { steps: taken } = yield* ClosedLoop.make({
          settings: TrainerSettings.complete({
            trainer: { savePath, trainingSteps: steps, batchSize: 16, lr: 1e-2, checkpointInterval: 0, ...trainer },
            loss: { preset: "dr-grpo" }
          })
        })
        yield* Stream.runForEach(Stream.take(taken, count), ({ policyVersion, stalenessMax, step }) =>
          Effect.sync(() => done.push([step, policyVersion, stalenessMax]))
        )
        const status = yield* (yield* Engine.Engine).status
        guessedTokens += status.guessedTokens
        cachedTokens += status.cachedPromptTokens
      }).pipe(
        Effect.scoped,
        Effect.provide(
          LocalLearner.layerInProcess({ model, publish, ...(graph && { graph }) }).pipe(
            Layer.merge(environmentOf(kind)),
            Layer.provideMerge(
              PolicyLayers.layerInProcess(model, {
                device: "cpu",
                settings,
                recordsExperts: trainer.routerReplay === true
              })
            ),
            Layer.provide(Layer.succeed(Executor, executor))
          ),
          { local: true }
        )
      )
    }
    return { parameters, done, guessedTokens, cachedTokens, runs }
  },
  Effect.scoped,
  (effect) => Effect.provide(effect, MemoryTrajectoryClient.layer(), { local: true })
)

/** The run as a whole, and in two parts, which are the same. */
const resume = Effect.fnUntraced(function* (kind: Kind, engine: Partial<EngineSettings>) {
  const whole = yield* run(kind, [steps], engine)
  const resumed = yield* run(kind, [2, steps - 2], engine)
  assert.deepStrictEqual(
    whole.done,
    [1, 2, 3].map((step) => [step, step, 0])
  )
  assert.deepStrictEqual(resumed.done, whole.done)
  assert.deepStrictEqual(resumed.parameters, whole.parameters)
  assert.notDeepEqual(whole.parameters, kind.model.initial)
  return whole
})

const guessing = { weightUpdates: "in_flight", speculativeTokens: 3 } as const

const services = Layer.mergeAll(
  SharedOrt.layer,
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)

const long = { trainer: LongRows.settings, graph: LongRows.graph, rollOut: turns }

describe("a closed loop that is stopped and resumed", () => {
  it.live("stays on policy and makes the same weights, with in-flight updates and guessed tokens", () =>
    Effect.gen(function* () {
      const model = TinyModel.make({ ...shape, maxPositions: 32 })
      const kind = { model, rollOut: answer, trainer: { seqLen: 32 } }
      const { guessedTokens } = yield* resume(kind, guessing)
      assert.isAbove(guessedTokens, 0)
      // On policy no weights come while answers are under way: how they would be taken changes nothing.
      const inFlight = yield* run(kind, [steps], { weightUpdates: "in_flight" })
      const pinned = yield* run(kind, [steps], {})
      assert.deepStrictEqual(inFlight.parameters, pinned.parameters)
    }).pipe(Effect.provide(services))
  )

  it.live("does so on long rows, whose second turns begin in the prefix cache", () =>
    Effect.gen(function* () {
      const model = TinyModel.make({ ...shape, maxPositions: LongRows.longest })
      const { cachedTokens, guessedTokens, runs } = yield* resume({ ...long, model }, guessing)
      assert.isAbove(cachedTokens, 0)
      assert.isAbove(guessedTokens, 0)
      LongRows.check(runs, { attention: 1, dense: 1, head: "chunks" })
    }).pipe(Effect.provide(services))
  )

  it.live("does so with the experts that were passed at sampling (router replay), on such rows", () =>
    Effect.gen(function* () {
      const root = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const folder = yield* MixtureFolder.write(`${root}/model`, { max_position_embeddings: LongRows.longest })
      const model = yield* PretrainedModel.load(folder, { trains: "all", seed: 1 })
      const kind = { ...long, model, trainer: { ...long.trainer, routerReplay: true } }
      const { cachedTokens, runs } = yield* resume(kind, guessing)
      assert.isAbove(cachedTokens, 0)
      LongRows.check(runs, { attention: 2, dense: 1, head: "chunks" })
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
