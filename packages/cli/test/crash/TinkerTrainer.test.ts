/**
 * A trainer killed in the middle of its steps on a Tinker server, at every point where the two could come to differ,
 * and started again each time: it trains on no batch twice and loses none, so that the run's parameters and moments are
 * bit for bit those of a run that nothing happened to.
 */
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { type EnvironmentClient, Trajectory, TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Path, Schedule } from "effect"
import type { IncomingMessage } from "node:http"
import * as Atropos from "./Atropos.ts"
import * as KillingProxy from "./KillingProxy.ts"
import * as Service from "./Service.ts"

const steps = 12
const groupSize = 4
const groupsPerBatch = 2
const characters = "abcdefghij"
const interval = 3

const isPost =
  (path: string) =>
  ({ method, url = "" }: IncomingMessage): boolean =>
    method === "POST" && url.endsWith(path)

/** A question about the result of an operation of this kind. */
const isAwaited =
  (kind: string) =>
  (request: IncomingMessage): boolean =>
    isPost("/retrieve_future")(request) && request.headers["x-tinker-request-type"] === kind

interface Kill extends KillingProxy.Moment {
  readonly server: "tinker" | "service"
}

/** In the order in which they happen to one run; each `nth` counts from the trainer's start before it. */
const kills: ReadonlyArray<Kill> = [
  // The probe of the reduction makes seven gradients and six steps of its own.
  { server: "tinker", name: "before a gradient's answer", is: isAwaited("ForwardBackward"), nth: 9, at: "answered" },
  { server: "tinker", name: "between gradient and step", is: isPost("/optim_step"), nth: 12, at: "asked" },
  { server: "tinker", name: "before a step's answer", is: isAwaited("OptimStep"), nth: 9, at: "answered" },
  { server: "tinker", name: "before weights are saved", is: isPost("/save_weights"), nth: 1, at: "asked" },
  { server: "tinker", name: "after weights were saved", is: isAwaited("SaveWeights"), nth: 1, at: "answered" },
  { server: "service", name: "before a batch is acknowledged", is: isPost("/ack"), nth: 1, at: "asked" },
  { server: "service", name: "after a batch was acknowledged", is: isPost("/ack"), nth: 1, at: "answered" }
]

/** Numbers that look random, and are the same each time. */
const stream = (seed: number) => {
  let state = (seed * 2654435761) >>> 0
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
}

const groupOf = (number: number): EnvironmentClient.KeyedGroup => {
  const next = stream(number + 1)
  for (let i = 0; i < 8; i++) next()
  const tokens = Array.from({ length: groupSize }, () =>
    Int32Array.from({ length: 5 + Math.floor(8 * next()) }, () => Math.floor(characters.length * next()))
  )
  const group = {
    tokens,
    masks: tokens.map(({ length }) => Trajectory.maskFrom(2, length)),
    scores: Float64Array.from(tokens, () => next())
  }
  return { key: crypto.randomUUID(), group }
}

/** Sends all groups of the run, in their order, as soon as a trainer has begun it. */
const fill = Effect.fnUntraced(function* (client: TrajectoryClient.TrajectoryClient) {
  const environment = client.registerEnvironment({
    desiredName: "numbers",
    weight: 1,
    groupSize,
    maxTokenLength: 16,
    minBatchAllocation: null
  })
  const registered = yield* Effect.repeat(environment, {
    until: Option.isSome,
    schedule: Schedule.spaced("20 millis")
  })
  const { envId } = Option.getOrThrow(registered)
  yield* client.submit(
    envId,
    Array.from({ length: steps * groupsPerBatch }, (_, number) => groupOf(number))
  )
})

interface Place {
  readonly cwd: string
  readonly service: string
  readonly tinker: string
}

const train = ({ cwd, service, tinker }: Place, run: string) => {
  const flags = {
    engine: `tinker+${tinker}`,
    model: "./model",
    atropos_url: service,
    run,
    save_path: `./${run}`,
    steps: String(steps),
    batch_size: String(groupSize * groupsPerBatch),
    checkpoint_interval: String(interval),
    seq_len: "16",
    lr: "0.01",
    seed: "3",
    "lora.r": "4",
    threads: "1",
    // A batch that was claimed and not yet written down comes again when its lease is over.
    lease_seconds: "5"
  }
  const words = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])
  return Atropos.start(["train", ...words], { cwd })
}

/** The weights and moments of the run's last checkpoint, as the server keeps them. */
const lastSaved = Effect.fnUntraced(function* (cwd: string, run: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const written = yield* fs.readFileString(join(cwd, run, `step_${steps}`, "trainer.json"))
  const { policy_version, step, weights } = JSON.parse(written)
  assert.deepStrictEqual({ policy_version, step }, { policy_version: steps, step: steps })
  const [, model, kind, name] = /^tinker:\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(weights.path)!
  const files = yield* fs.readDirectory(join(cwd, ".atropos", "tinker"), { recursive: true })
  const folder = files.find((file) => file.endsWith(join(model!.replaceAll(":", "~"), kind!, name!)))
  assert.isDefined(folder, files.join("\n"))
  return yield* fs.readFile(join(cwd, ".atropos", "tinker", folder, "trainer_state.safetensors"))
})

it.live(
  "a trainer that is killed anywhere in a step on a Tinker server, and started again, comes to the same bits",
  () =>
    Effect.gen(function* () {
      const { join } = yield* Path.Path
      const cwd = yield* Atropos.folder
      const model = TinyModel.make({ characters, seed: 1, maxPositions: 16 })
      yield* model.write(join(cwd, "model"), model.initial)
      const service = yield* Service.start(yield* Service.fastest.make, yield* Atropos.freePort)
      const port = yield* Atropos.freePort
      const tinker = yield* Atropos.start(["tinker", "--model", "./model", "--port", String(port), "--threads", "1"], {
        cwd
      })
      yield* tinker.says("Tinker's API for")
      const proxies = {
        tinker: yield* KillingProxy.make(port),
        service: yield* KillingProxy.make(Number(new URL(service.url).port))
      }
      const place = { cwd, service: proxies.service.url, tinker: proxies.tinker.url }
      const filled = (run: string) =>
        Layer.build(TrajectoryClientHttp.layer({ url: service.url, run })).pipe(
          Effect.flatMap((context) => Effect.provide(TrajectoryClient.all, context)),
          Effect.flatMap(fill),
          Effect.forkScoped
        )

      yield* filled("undisturbed")
      const straight = yield* (yield* train(place, "undisturbed")).ended
      assert.strictEqual(straight.code, 0, straight.out + straight.err)

      yield* filled("killed")
      for (const kill of kills) {
        const victim = yield* train(place, "killed")
        yield* proxies[kill.server]
          .await(kill, victim.killNow)
          .pipe(
            Effect.raceFirst(
              Effect.flatMap(victim.ended, ({ err, out }) =>
                Effect.die(new Error(`not killed ${kill.name}: ${out}${err}`))
              )
            )
          )
        assert.strictEqual((yield* victim.ended).signal, "SIGKILL", kill.name)
      }
      const last = yield* (yield* train(place, "killed")).ended
      assert.strictEqual(last.code, 0, last.out + last.err)
      assert.deepStrictEqual(yield* lastSaved(cwd, "killed"), yield* lastSaved(cwd, "undisturbed"))
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)))
)
