/**
 * One service, shared: environments and trainers of two runs over real HTTP at once, and trainers that die with batches
 * in their hands.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import {
  type Batch,
  Environment,
  Rollout,
  ServerManager,
  type Trajectory,
  TrajectoryClient,
  TrajectoryClientHttp
} from "@atropos/core"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Context, Effect, FileSystem, Layer, Option, References, Stream } from "effect"
import { HttpServer } from "effect/http"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as TestPostgres from "../../../api/test/TestPostgres.ts"
import type { KillPoint } from "../../../core/test/base/KillPoint.ts"
import * as ScriptProcess from "../../../core/test/base/ScriptProcess.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as ServiceTraining from "../../src/run/ServiceTraining.ts"
import type * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as Toy from "./ToyTraining.ts"

const program = new URL("trainerProcess.ts", import.meta.url)
const groupSize = 4
const batchSize = 8

const together = { concurrency: "unbounded" } as const

class ServiceUrl extends Context.Service<ServiceUrl, string>()("@atropos/trainer/test/SharedService/ServiceUrl") {}

const clientOf = Effect.fnUntraced(function* (run: string) {
  const url = yield* ServiceUrl
  const context = yield* Layer.build(Layer.fresh(TrajectoryClientHttp.layer({ url, run })))
  return yield* Effect.provide(TrajectoryClient.all, context)
})

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

/** Trajectories as the toy model could have sampled them. */
const rollOut = (seed: number): ReadonlyArray<Trajectory.Trajectory> => {
  const { inferenceLogprobs, masks, tokens } = Toy.group(seed)
  return tokens.map((sequence, i) => ({
    messages: [],
    completion: String(i),
    finishReason: "stop",
    tokens: sequence,
    mask: masks[i]!,
    logprobs: inferenceLogprobs![i]!
  }))
}

/** Where a group comes from: written into it by its sender, read from the batches. */
const source = "source"
const sourceOf = (name: string, item: number): string => `${name} ${item}`
const sourcesOf = ({ groups }: Batch.Batch): ReadonlyArray<string> =>
  groups.map(({ groupOverrides }) => String(groupOverrides?.[source]))

/** An environment of so many groups, which say whose they are. */
const environmentOf = (name: string, count: number, seed: number) =>
  Environment.Environment.pipe(
    Effect.provide(
      Environment.layer(name, Environment.settings({}), () =>
        Effect.succeed<Environment.Definition<number, never, never>>({
          items: (cursor) => Stream.range(cursor, count - 1),
          collectTrajectories: (item) =>
            Effect.succeed({
              groups: [{ trajectories: rollOut(seed + item), groupOverrides: { [source]: sourceOf(name, item) } }]
            }),
          score: (item, group) => Effect.succeed(group.map((_, i) => (item + i) % groupSize))
        })
      )({ groupSize, totalSteps: 1000 }),
      { local: true }
    )
  )

/** Rolls out to a run until all is sent. */
const sendFrom = Effect.fnUntraced(function* (run: string, name: string, count: number, seed: number) {
  const environment = yield* environmentOf(name, count, seed)
  yield* Rollout.run(environment, { spoolDirectory: yield* folder }).pipe(
    Effect.provide(TrajectoryClient.context(yield* clientOf(run))),
    Effect.provide(ServerManager.layerScripted([]))
  )
})

const settingsOf = (run: string, savePath: string, more: Parameters<typeof Toy.settings>[1] = {}) =>
  Toy.settings(savePath, { run, batchSize, leaseSeconds: 30, ...more })

/** Trains; answers with the metrics, and every batch as it was claimed. */
const train = Effect.fnUntraced(function* (settings: ReturnType<typeof Toy.settings>, more: Toy.More = {}) {
  const client = yield* clientOf(settings.trainer.run)
  const claimed: Array<Batch.Batch> = []
  const noting: TrajectoryClient.TrajectoryClient = {
    ...client,
    claim: (options) =>
      Effect.tap(
        client.claim(options),
        Option.match({
          onNone: () => Effect.void,
          onSome: (batch) => Effect.sync(() => void claimed.push(batch))
        })
      )
  }
  const outcome = yield* Effect.result(
    Effect.scoped(
      Effect.gen(function* () {
        const trainer = yield* Toy.trainer(settings, more)
        return yield* ServiceTraining.steps(trainer, { settings, owner: `trainer of ${settings.trainer.run}` }).pipe(
          Stream.provide(TrajectoryClient.context(noting)),
          Stream.runCollect
        )
      })
    )
  )
  return { outcome, claimed }
})

/** Sends these many groups at once, as soon as the run has begun. */
const fill = Effect.fnUntraced(function* (run: string, count: number) {
  const client = yield* clientOf(run)
  const registered = yield* Waits.until(
    "the run",
    client.registerEnvironment({
      desiredName: run,
      weight: 1,
      groupSize,
      maxTokenLength: 16,
      minBatchAllocation: null
    }),
    Option.isSome
  )
  const { envId } = Option.getOrThrow(registered)
  yield* client.submit(
    envId,
    Array.from({ length: count }, (_, i) => ({
      key: crypto.randomUUID(),
      group: Toy.group(i, { groupOverrides: { [source]: sourceOf(run, i) } })
    }))
  )
})

/** A trainer's process, which dies before its third step; without a checkpoint, all that it trained on is lost. */
const killedTrainer = Effect.fnUntraced(function* ({
  batchSize,
  run,
  savePath,
  trainingSteps
}: ReturnType<typeof Toy.settings>["trainer"]) {
  const point: KillPoint = "before gradient 3"
  const args = [yield* ServiceUrl, run, savePath, trainingSteps, 1000, batchSize, point]
  const { lines, signal } = yield* ScriptProcess.run(program, args)
  assert.strictEqual(signal, "SIGKILL", lines.join())
  return lines
})

const untilVersion2 = ({ version }: LocalLearner.Weights) =>
  version < 2 ? Effect.void : Effect.fail({ message: "the samplers are gone" })

const itemsOf = (name: string, count: number) => Array.from({ length: count }, (_, item) => sourceOf(name, item))

const numbersOf = (batches: ReadonlyArray<Batch.Batch>) => batches.map(({ deliveries, step }) => [step, deliveries])

/** What the next trainer would be given at once. */
const remaining = Effect.fnUntraced(function* (run: string) {
  const client = yield* clientOf(run)
  return Option.getOrUndefined(yield* client.claim({ owner: "another", wait: 0, lease: "1 second" }))
})

const databases: ReadonlyArray<readonly [name: string, layer: Layer.Layer<Database.Provides, unknown>]> = [
  ["PGlite", Database.layerPglite()],
  ...(TestPostgres.serverUrl === undefined ? [] : [["Postgres", TestPostgres.layer] as const])
]

for (const [name, database] of databases) {
  const layerService = Layer.effect(ServiceUrl, HttpServer.addressFormattedWith(Effect.succeed)).pipe(
    Layer.provide(TrajectoryService.serve({ host: "127.0.0.1", port: 0 })),
    Layer.provide([PgTrajectoryStore.layer.pipe(Layer.provide(database)), Auth.layerOpen])
  )
  const layerTest = Layer.mergeAll(
    layerService,
    SharedOrt.layer,
    NodeServices.layer,
    // Trainers die here.
    Layer.succeed(References.MinimumLogLevel, "None")
  )

  layer(layerTest, { excludeTestServices: true })(`a shared service (${name})`, (it) => {
    it.effect("gives each run's trainer what was sent to that run, from all of its environments, each group once", () =>
      Effect.gen(function* () {
        const sent = { first: 7, second: 3, third: 8 }
        const [alpha, beta] = yield* Effect.all(
          [
            train(settingsOf("alpha", yield* folder, { trainingSteps: 5 })),
            train(settingsOf("beta", yield* folder, { trainingSteps: 4 })),
            sendFrom("alpha", "first", sent.first, 0),
            sendFrom("alpha", "second", sent.second, 1000),
            sendFrom("beta", "third", sent.third, 2000)
          ],
          together
        )
        const expected = {
          alpha: [...itemsOf("first", sent.first), ...itemsOf("second", sent.second)],
          beta: itemsOf("third", sent.third)
        }
        assert.deepStrictEqual(alpha.claimed.flatMap(sourcesOf).toSorted(), expected.alpha)
        assert.deepStrictEqual(beta.claimed.flatMap(sourcesOf).toSorted(), expected.beta)
        for (const { claimed, outcome } of [alpha, beta]) {
          assert.deepStrictEqual(
            numbersOf(claimed),
            claimed.map((_, place) => [place + 1, 1])
          )
          assert.isTrue(outcome._tag === "Success")
          if (outcome._tag === "Success") assert.strictEqual(outcome.success.length, claimed.length)
        }
        assert.isUndefined(yield* remaining("alpha"))
        assert.isUndefined(yield* remaining("beta"))
      }).pipe(Effect.scoped)
    )

    it.effect("gives a successor, once, the batches of a trainer that failed before it saved", () =>
      Effect.gen(function* () {
        const settings = settingsOf("failed", yield* folder, { trainingSteps: 3, checkpointInterval: 1000 })
        const [victim] = yield* Effect.all([train(settings, { publish: untilVersion2 }), fill("failed", 6)], together)
        assert.isTrue(victim.outcome._tag === "Failure")
        assert.deepStrictEqual(numbersOf(victim.claimed), [
          [1, 1],
          [2, 1]
        ])

        const successor = yield* train(settings)
        assert.isTrue(successor.outcome._tag === "Success")
        assert.deepStrictEqual(numbersOf(successor.claimed), [
          [1, 2],
          [2, 2],
          [3, 1]
        ])
        assert.deepStrictEqual(
          successor.claimed.slice(0, 2).map(({ groups, id }) => ({ groups, id })),
          victim.claimed.map(({ groups, id }) => ({ groups, id }))
        )
        assert.isUndefined(yield* remaining("failed"))
      }).pipe(Effect.scoped)
    )

    it.effect("gives a successor, once, the batches of a trainer that was killed", () =>
      Effect.gen(function* () {
        const settings = settingsOf("killed", yield* folder, { trainingSteps: 4 })
        const [said] = yield* Effect.all([killedTrainer(settings.trainer), fill("killed", 8)], together)
        assert.strictEqual(said.filter((line) => line.startsWith("step")).length, 2)

        const successor = yield* train(settings)
        assert.isTrue(successor.outcome._tag === "Success")
        if (successor.outcome._tag === "Success") {
          assert.deepStrictEqual(
            successor.outcome.success.map(({ step }) => step),
            [1, 2, 3, 4]
          )
        }
        const trained = successor.claimed.filter(
          ({ deliveries, id, step }, at) =>
            !successor.claimed.some((later, index) => index > at && later.id === id && later.deliveries > deliveries) &&
            step <= 4
        )
        assert.deepStrictEqual(
          trained.map(({ step }) => step),
          [1, 2, 3, 4]
        )
        // What the victim had.
        assert.isTrue(trained.slice(0, 2).every(({ deliveries }) => deliveries >= 2))
        const all = trained.flatMap(sourcesOf)
        assert.strictEqual(new Set(all).size, 8)
        assert.isUndefined(yield* remaining("killed"))
      }).pipe(Effect.scoped)
    )
  })
}
