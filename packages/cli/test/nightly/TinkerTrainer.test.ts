/**
 * A trainer killed in the middle of its steps on a Tinker server, at every point where the two could come to differ,
 * and started again each time: it trains on no batch twice and loses none, so that the run's parameters and moments are
 * bit for bit those of a run that nothing happened to.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type EnvironmentClient, Trajectory, TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Path, Schedule } from "effect"
import * as InProcess from "../InProcess.ts"
import * as Atropos from "../crash/Atropos.ts"
import type * as KillMoment from "../crash/KillMoment.ts"

const steps = 12
const groupSize = 4
const groupsPerBatch = 2
const characters = "abcdefghij"
const interval = 3

/**
 * One life of the trainer for each, in this order. The probe of the reduction makes seven gradients and six steps of
 * its own.
 */
const kills: ReadonlyArray<KillMoment.KillMoment> = [
  // It has its gradient, and no step is made of it.
  { of: "asked", when: "before", what: /^POST .*\/optim_step$/, nth: 9 },
  // The step is made, and it does not know.
  { of: "asked", when: "after", what: /^POST .*\/optim_step$/, nth: 9 },
  // The server has the weights, and no checkpoint has their name.
  { of: "renamed", when: "before", what: /\/step_3$/ },
  { of: "asked", when: "before", what: /^POST .*\/ack$/ },
  { of: "asked", when: "after", what: /^POST .*\/ack$/, nth: 5 }
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
  readonly service: string
  readonly tinker: string
}

const training = ({ service, tinker }: Place, run: string) => {
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
    lease_seconds: "30"
  }
  return ["train", ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])]
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
      const cwd = yield* InProcess.folder
      const model = TinyModel.make({ characters, seed: 1, maxPositions: 16 })
      yield* model.write(join(cwd, "model"), model.initial)
      const api = yield* InProcess.start(["api", "--port", "0"])
      const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
      const server = yield* InProcess.start(["tinker", "--model", "./model", "--port", "0", "--threads", "1"])
      const [, tinker = ""] = yield* server.says(/Tinker's API for .*?(http:\/\/[^\s/]+:\d+)/)
      const place = { service, tinker }
      const filled = (run: string) =>
        Layer.build(TrajectoryClientHttp.layer({ url: service, run })).pipe(
          Effect.flatMap((context) => Effect.provide(TrajectoryClient.all, context)),
          Effect.flatMap(fill),
          Effect.forkScoped
        )

      yield* filled("undisturbed")
      const straight = yield* InProcess.run(training(place, "undisturbed"))
      assert.strictEqual(straight.code, 0, straight.stdout + straight.stderr)

      yield* filled("killed")
      for (const killAt of kills) yield* (yield* Atropos.start(training(place, "killed"), { cwd, killAt })).killed
      const last = yield* InProcess.run(training(place, "killed"))
      assert.strictEqual(last.code, 0, last.stdout + last.stderr)
      assert.deepStrictEqual(yield* lastSaved(cwd, "killed"), yield* lastSaved(cwd, "undisturbed"))
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)))
)
