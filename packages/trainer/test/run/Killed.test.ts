import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Context, Effect, FileSystem, Layer, Option, Schedule } from "effect"
import { HttpServer } from "effect/http"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as Checkpoints from "../../src/checkpoint/Checkpoints.ts"
import * as StateFile from "../../src/local/StateFile.ts"
import { uniforms } from "../loss/ToyPolicy.ts"
import * as Toy from "./ToyTraining.ts"

const program = fileURLToPath(new URL("trainerProcess.ts", import.meta.url))

const steps = 36
const interval = 3
const batchSize = 8
const groupsPerBatch = 2

/** Where the service of this file listens. */
class ServiceUrl extends Context.Service<ServiceUrl, string>()("@atropos/trainer/test/ServiceUrl") {}

const layerService = Layer.effect(ServiceUrl, HttpServer.addressFormattedWith(Effect.succeed)).pipe(
  Layer.provide(TrajectoryService.serve({ host: "127.0.0.1", port: 0 })),
  Layer.provide([PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())), Auth.layerOpen])
)

const clientOf = Effect.fnUntraced(function* (run: string) {
  const url = yield* ServiceUrl
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

interface Ended {
  readonly code: number | null
  readonly lines: ReadonlyArray<string>
}

/** A trainer's process, killed so many milliseconds after it has said so many lines; not at all without a moment. */
const trainerProcess = Effect.fnUntraced(function* (
  run: string,
  folder: string,
  kill?: { readonly lines: number; readonly millis: number }
) {
  const url = yield* ServiceUrl
  return yield* Effect.callback<Ended>((resume) => {
    const given = [url, run, folder, steps, interval, batchSize].map(String)
    const child = spawn(process.execPath, ["--conditions=atropos-src", program, ...given], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const lines: Array<string> = []
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line)
      if (lines.length === kill?.lines) setTimeout(() => child.kill("SIGKILL"), kill.millis)
    })
    child.once("close", (code) => resume(Effect.succeed({ code, lines })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
})

const final = Effect.fnUntraced(function* (folder: string) {
  const { newest } = yield* Checkpoints.newest(folder, (checkpoint) =>
    Effect.result(
      Effect.mapError(
        StateFile.read(`${checkpoint.folder}/${checkpoint.state.weights.path}`, Toy.model.policy.layout),
        ({ message }) => message
      )
    )
  )
  return Option.getOrThrow(newest)
})

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

layer(Layer.mergeAll(layerService, NodeServices.layer), { excludeTestServices: true })(
  "a trainer that is killed",
  (it) => {
    it.effect(
      "six times at random moments ends with the parameters of one that was not, with every batch trained on once",
      () =>
        Effect.gen(function* () {
          const [whole, killed] = [yield* folder, yield* folder]
          yield* Effect.forkScoped(Effect.all([fill("whole"), fill("killed")], { concurrency: 2 }))
          const undisturbed = yield* trainerProcess("whole", whole)
          assert.strictEqual(undisturbed.code, 0)
          const expected = yield* final(whole)
          assert.strictEqual(expected.state.step, steps)

          const uniform = uniforms(20)
          const said: Array<string> = []
          for (let round = 0; round < 6; round++) {
            const moment = { lines: 1 + Math.floor(uniform() * 6), millis: Math.floor(uniform() * 25) }
            const { code, lines } = yield* trainerProcess("killed", killed, moment)
            assert.isNull(code, `round ${round} was to be killed, and ended by itself: ${lines.join()}`)
            said.push(...lines.filter((line) => line.startsWith("step")))
          }
          const { code, lines } = yield* trainerProcess("killed", killed)
          assert.strictEqual(code, 0)
          said.push(...lines.filter((line) => line.startsWith("step")))
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
          assert.isTrue(
            Option.isNone(yield* client.claim({ owner: "another", wait: "2500 millis", lease: "1 second" }))
          )
        })
    )
  }
)
