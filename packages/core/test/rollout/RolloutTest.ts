/** Parts for tests of rollouts: environments over numbers, a service that can go away, a folder of its own. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Fiber, FileSystem, Layer, Option, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Waits from "../base/Waits.ts"
import * as EnvironmentSettings from "../../src/definition/EnvironmentSettings.ts"
import * as Environment from "../../src/Environment.ts"
import type { ScoredGroup } from "../../src/trajectory/ScoredGroup.ts"
import { ServerManager } from "../../src/inference/ServerManager.ts"
import { bytes } from "../../src/inference/tokenizer/Tokenizer.ts"
import type { Trajectory } from "../../src/trajectory/Trajectory.ts"
import type { Telemetry, TelemetryClientShape } from "../../src/service/TelemetryClient.ts"
import * as TrajectoryClient from "../../src/service/TrajectoryClient.ts"
import * as TrajectoryError from "../../src/service/TrajectoryError.ts"
import * as Rollout from "../../src/rollout/Rollout.ts"
import * as InputOutput from "../base/InputOutput.ts"

/** A trajectory of four tokens, two of them trained; the first token tells the item. */
export const trajectory = (item: number, completion = "right"): Trajectory => ({
  messages: [
    { role: "user", content: `item ${item}` },
    { role: "assistant", content: completion }
  ],
  completion,
  finishReason: "stop",
  tokens: Int32Array.of(item, 1, 2, 3),
  mask: Uint8Array.of(0, 0, 1, 1),
  logprobs: Float32Array.of(1, 1, -0.5, -0.25)
})

/** A group of one item, scores 0, 1, 2, … */
export const group = (item: number, size = 2): ScoredGroup => ({
  tokens: Array.from({ length: size }, () => Int32Array.of(item, 1, 2, 3)),
  masks: Array.from({ length: size }, () => Uint8Array.of(0, 0, 1, 1)),
  scores: Float64Array.from({ length: size }, (_, index) => index)
})

export const itemOf = ({ tokens }: ScoredGroup): number => tokens[0]![0]!

export interface Numbers extends Partial<Environment.Definition<number, Error, never>> {
  readonly name?: string
  readonly settings?: Partial<EnvironmentSettings.Common>
}

const numbersLayer = ({ name = "numbers", ...definition }: Omit<Numbers, "settings">) =>
  Environment.layer(name, EnvironmentSettings.make({}), ({ groupSize }) =>
    Effect.succeed<Environment.Definition<number, Error, never>>({
      items: (cursor) => Stream.iterate(cursor, (n) => n + 1),
      collectTrajectories: (item) => Effect.succeed(Array.from({ length: groupSize }, () => trajectory(item))),
      score: (_, group) => Effect.succeed(group.map((_, index) => index)),
      ...definition
    })
  )

/** Items 0, 1, 2, …; groups of `groupSize` with scores 0, 1, …; whatever `definition` says otherwise. */
export const numbers = ({ settings, ...definition }: Numbers = {}): Effect.Effect<Environment.EnvironmentShape> =>
  Environment.Environment.pipe(
    Effect.provide(numbersLayer(definition)({ groupSize: 2, totalSteps: 1_000_000, ...settings }), {
      local: true
    }),
    // Whatever is wrong with the definition is the test's own mistake.
    Effect.orDie
  )

export interface Outage {
  /** What the network does to every request. */
  state: "up" | "unreachable" | "hanging"
  /** Requests that met the network, by name. */
  readonly requests: Array<string>
}

/**
 * The service behind a network that can fail; with `hanging` nothing ever comes back, as for a process that was killed.
 */
export const behindNetwork = (
  service: TrajectoryClient.TrajectoryClient
): { readonly client: TrajectoryClient.TrajectoryClient; readonly network: Outage } => {
  const network: Outage = { state: "up", requests: [] }
  const gate = (name: string): Effect.Effect<void, TrajectoryError.TrajectoryError> =>
    Effect.suspend(() => {
      network.requests.push(name)
      if (network.state === "hanging") return Effect.never
      if (network.state === "up") return Effect.void
      return Effect.fail(new TrajectoryError.TrajectoryError({ reason: "unreachable", message: "connection refused" }))
    })
  const through = <A>(name: string, effect: Effect.Effect<A, TrajectoryError.TrajectoryError>) =>
    Effect.andThen(gate(name), effect)
  return {
    network,
    client: {
      ...service,
      registerEnvironment: (spec) => through("registerEnvironment", service.registerEnvironment(spec)),
      runInfo: through("runInfo", service.runInfo),
      disconnectEnvironment: (envId) => through("disconnectEnvironment", service.disconnectEnvironment(envId)),
      submit: (envId, groups) => through("submit", service.submit(envId, groups)),
      status: (envId) => through("status", service.status(envId)),
      statusChanges: (envId) =>
        Stream.mapEffect(service.statusChanges(envId), (status) => Effect.as(gate("status"), status)),
      savedStates: {
        load: (name) => through("loadState", service.savedStates.load(name)),
        save: (name, state) => through("saveState", service.savedStates.save(name, state))
      },
      telemetry: Effect.map(
        service.telemetry,
        Option.map((telemetry) => ({
          ...telemetry,
          recordMetrics: (metrics) => through("recordMetrics", telemetry.recordMetrics(metrics))
        }))
      )
    }
  }
}

/** A service that takes metrics, and forgets the rest of what is told for viewers. */
export const takingMetrics = (recordMetrics: Telemetry["recordMetrics"]): TelemetryClientShape => ({
  telemetry: Effect.succeedSome({
    recordMetrics,
    recordPieces: () => Effect.void,
    recordReport: () => Effect.void,
    recordEvaluation: () => Effect.void,
    recordLogprobs: () => Effect.void,
    recordSettings: () => Effect.void
  })
})

/** A folder for one test's files. */
export const folder = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.makeTempDirectoryScoped({ prefix: "atropos-rollout-" })
})

export const weights: Array<number> = []

export const layerServers = Layer.mock(ServerManager, {
  tokenizer: bytes,
  serverCount: 1,
  modelName: "scripted",
  metrics: Effect.succeed([]),
  setWeight: (weight) => Effect.sync(() => void weights.push(weight)),
  refresh: () => Effect.void
})

/** Platform and inference side of a run. */
export const layerParts = Layer.mergeAll(
  NodeServices.layer,
  layerServers,
  Layer.succeed(References.MinimumLogLevel, "None")
)

/** Runs an environment against a client in a fiber. */
export const launch = (
  environment: Environment.EnvironmentShape,
  client: TrajectoryClient.TrajectoryClient,
  options: Rollout.Options
) => Rollout.run(environment, options).pipe(Effect.provide(TrajectoryClient.context(client)), Effect.forkChild)

/** The same, and waits until it is at work (or has failed): what it does before is real input and output. */
export const start = Effect.fnUntraced(function* (
  environment: Environment.EnvironmentShape,
  client: TrajectoryClient.TrajectoryClient,
  options: Rollout.Options
) {
  const seen = { status: false }
  const statusChanges = (envId: number) =>
    client.statusChanges(envId).pipe(Stream.tap(() => Effect.sync(() => (seen.status = true))))
  const fiber = yield* launch(environment, { ...client, statusChanges }, options)
  yield* Waits.untilTrue("the environment to be at work", () => seen.status || fiber.pollUnsafe() !== undefined)
  return fiber
})

/** Lets everything that needs no more than real input and output come to rest; time stands still. */
export const settle = InputOutput.atRest(50)

/** Time passes in small steps, real input and output in between. */
export const pass = (seconds: number) =>
  Effect.gen(function* () {
    for (let i = 0; i < seconds * 4; i++) {
      yield* TestClock.adjust("250 millis")
      yield* InputOutput.atRest(10)
    }
  })

/** Lets time pass until something holds, however long real input and output take. */
export const passUntil = <E, R>(holds: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.gen(function* () {
    while (!(yield* holds)) yield* pass(0.25)
  })

/** Waits for a fiber's end while time passes, however long real input and output take. */
export const finish = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.gen(function* () {
    for (let i = 0; i < 5000 && fiber.pollUnsafe() === undefined; i++) yield* pass(0.25)
    return yield* Fiber.join(fiber)
  })

/** The next batch, if one is ready. */
export const claim = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(client.claim({ owner: "trainer", wait: 0, lease: "1 hour" }))
    yield* TestClock.adjust(0)
    const batch = yield* Fiber.join(fiber)
    return Option.getOrUndefined(batch)
  })

/** Takes batches as they come, `settle`ing in between, until there is none. */
export const drain = (client: TrajectoryClient.TrajectoryClient, limit = 1000) =>
  Effect.gen(function* () {
    const groups: Array<ScoredGroup> = []
    for (let i = 0; i < limit; i++) {
      const batch = yield* claim(client)
      if (batch === undefined) break
      yield* client.ack(batch)
      groups.push(...batch.groups)
    }
    return groups
  })
