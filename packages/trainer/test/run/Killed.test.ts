import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Clock, Context, Effect, FileSystem, Layer, Option, Schedule } from "effect"
import { HttpServer } from "effect/http"
import * as MovableClock from "../../../api/test/MovableClock.ts"
import type { KillPoint } from "../../../core/test/base/KillPoint.ts"
import * as ScriptProcess from "../../../core/test/base/ScriptProcess.ts"
import * as Checkpoints from "../../src/checkpoint/Checkpoints.ts"
import * as StateFile from "../../src/local/StateFile.ts"
import * as Toy from "./ToyTraining.ts"

const program = new URL("trainerProcess.ts", import.meta.url)

const steps = 15
const interval = 3
const batchSize = 8
const groupsPerBatch = 2

/**
 * One life of the trainer for each, in this order; each counts from its own start. The step is that of the checkpoint
 * which it leaves.
 */
const kills: ReadonlyArray<readonly [point: KillPoint, savedStep: number]> = [
  // Leased, and written down nowhere.
  ["after claim 1", 0],
  ["after journal 2", 0],
  ["in prepare 1", 0],
  ["after gradient 1", 0],
  ["after update 1", 0],
  // Of the step that a checkpoint is due after: the first publish is of the weights that it begins with.
  ["after publish 4", 0],
  // All of it is on the disk, and has no name.
  ["after save 1", 0],
  ["after checkpoint 1", 3],
  ["after inherited-ack 1", 3],
  ["after ack 2", 6],
  ["after save 2", 9]
]

const leaseMillis = 30_000

/** The service of this file: where it listens, and its clock. */
class Service extends Context.Service<Service, { readonly url: string } & MovableClock.MovableClock>()(
  "@atropos/trainer/test/Killed/Service"
) {}

const layerService = Layer.unwrap(
  Effect.map(MovableClock.make, (clock) =>
    Layer.effect(
      Service,
      HttpServer.addressFormattedWith((url) => Effect.succeed({ url, ...clock }))
    ).pipe(
      Layer.provide(TrajectoryService.serve({ host: "127.0.0.1", port: 0 })),
      Layer.provide([PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())), Auth.layerOpen]),
      Layer.provide(Layer.succeed(Clock.Clock, clock.clock))
    )
  )
)

const clientOf = Effect.fnUntraced(function* (run: string) {
  const { url } = yield* Service
  const context = yield* Layer.build(Layer.fresh(TrajectoryClientHttp.layer({ url, run })))
  return yield* Effect.provide(TrajectoryClient.all, context)
})

/** Sends the run's groups as soon as a trainer has begun it. */
const fill = Effect.fnUntraced(function* (run: string) {
  const client = yield* clientOf(run)
  const environment = client.registerEnvironment({
    desiredName: "toy",
    weight: 1,
    groupSize: 4,
    maxTokenLength: 16,
    minBatchAllocation: null
  })
  const { envId } = yield* Effect.repeat(environment, {
    until: Option.isSome,
    schedule: Schedule.spaced("10 millis")
  }).pipe(Effect.map(Option.getOrThrow))
  yield* client.submit(
    envId,
    Array.from({ length: steps * groupsPerBatch }, (_, i) => ({ key: crypto.randomUUID(), group: Toy.group(i) }))
  )
})

/** A trainer's process, until it dies at the point; without one until all steps are taken. */
const train = Effect.fnUntraced(function* (run: string, folder: string, point = "") {
  const { url } = yield* Service
  const ended = yield* ScriptProcess.run(program, [url, run, folder, steps, interval, batchSize, point])
  const { code, lines, signal } = ended
  assert.strictEqual(String(signal ?? code), point === "" ? "0" : "SIGKILL", `${point}: ${lines.join()}`)
  return lines.filter((line) => line.startsWith("step"))
})

const newest = (folder: string) =>
  Effect.map(
    Checkpoints.newest(folder, (checkpoint) =>
      Effect.result(
        Effect.mapError(
          StateFile.read(`${checkpoint.folder}/${checkpoint.state.weights.path}`, Toy.model.policy.layout),
          ({ message }) => message
        )
      )
    ),
    (found) => found.newest
  )

const final = (folder: string) => Effect.map(newest(folder), Option.getOrThrow)

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

layer(Layer.mergeAll(layerService, NodeServices.layer), { excludeTestServices: true })(
  "a trainer that is killed",
  (it) => {
    it.effect(
      "at every point of its steps ends with the parameters of one that was not, with every batch trained on once",
      () =>
        Effect.gen(function* () {
          const { advance } = yield* Service
          const [whole, killed] = [yield* folder, yield* folder]
          yield* Effect.forkScoped(Effect.all([fill("whole"), fill("killed")], { concurrency: 2 }))
          yield* train("whole", whole)
          const expected = yield* final(whole)
          assert.strictEqual(expected.state.step, steps)

          const said: Array<string> = []
          for (const [point, savedStep] of kills) {
            said.push(...(yield* train("killed", killed, point)))
            const saved = yield* newest(killed)
            assert.strictEqual(Option.match(saved, { onNone: () => 0, onSome: ({ state }) => state.step }), savedStep)
            // A lease that is written down nowhere runs out.
            if (point === "after claim 1") yield* advance(leaseMillis)
          }
          said.push(...(yield* train("killed", killed)))
          // Steps were lost and done again, or this would test nothing.
          assert.isAbove(said.length, steps)

          const found = yield* final(killed)
          assert.deepStrictEqual(found.opened, expected.opened)
          assert.deepStrictEqual(
            found.state.consumed.map(({ step }) => step),
            Array.from({ length: steps }, (_, i) => i + 1)
          )
          assert.strictEqual(new Set(found.state.consumed.map(({ id }) => id)).size, steps)
          assert.strictEqual(found.state.policyVersion, steps)
          const client = yield* clientOf("killed")
          // Every batch was acknowledged: none comes again, even after the leases have run out.
          yield* advance(leaseMillis)
          assert.isTrue(Option.isNone(yield* client.claim({ owner: "another", wait: 0, lease: "1 second" })))
        })
    )
  }
)
