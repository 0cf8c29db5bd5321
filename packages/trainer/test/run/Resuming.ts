/** Runs a closed loop as a whole, and stopped and resumed with a new engine, which must make the same weights. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert } from "@effect/vitest"
import { Environment, MemoryTrajectoryClient, ServerManager, type Trajectory } from "@atropos/core"
import { Effect, FileSystem, Layer, References, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Engine from "../../src/engine/Engine.ts"
import type { EngineSettings } from "../../src/engine/EngineSettings.ts"
import { Executor } from "../../src/exec/Executor.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import type * as Model from "../../src/model/Model.ts"
import * as ClosedLoop from "../../src/run/ClosedLoop.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as PolicyLayers from "../../src/server/PolicyLayers.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as LongRows from "./LongRows.ts"

export const letters = "abcd"
export const shape = { characters: letters, seed: 1, hiddenSize: 32, layers: 1 } as const
const groupSize = 4
export const steps = 3

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
export const answer: Kind["rollOut"] = (servers, index) =>
  servers.complete({ prompt: letters.slice(index % 4).repeat(4), n: groupSize, maxTokens: 12, seed: index })

const turnTokens = 40

/** Two turns; the second begins with all of the first, which lies in the prefix cache by then. */
export const turns: Kind["rollOut"] = (servers, index) =>
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

/** Trains in one folder, one run for each count of steps in `parts`: the steps, their staleness, the final weights. */
export const run = Effect.fnUntraced(
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
export const resume = Effect.fnUntraced(function* (kind: Kind, engine: Partial<EngineSettings>) {
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

export const guessing = { weightUpdates: "in_flight", speculativeTokens: 3 } as const

export const services = Layer.mergeAll(
  SharedOrt.layer,
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(References.MinimumLogLevel, "None")
)
