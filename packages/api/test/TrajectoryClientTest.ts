/** What every client of the trajectory service does, whatever lies between it and the store. */
import { assert, layer } from "@effect/vitest"
import { type TrajectoryClient, TrajectoryError } from "@atropos/core"
import { Effect, Fiber, type Layer, Option, type Scope, Stream } from "effect"
import * as SampleGroups from "./SampleGroups.ts"
import type { TrajectoryStore } from "../src/store/TrajectoryStore.ts"

type Client = TrajectoryClient.TrajectoryClient

const states = (client: TrajectoryClient.TrajectoryClient) => Effect.flatMap(client.savedStates, Effect.fromOption)
const telemetryOf = (client: TrajectoryClient.TrajectoryClient) => Effect.flatMap(client.telemetry, Effect.fromOption)

export interface Kind<R> {
  readonly name: string
  /** A client of a run nobody has used. */
  readonly client: (run: string) => Effect.Effect<Client, never, R | TrajectoryStore | Scope.Scope>
  /** False for the original's endpoints: no keys, leases, saved state or metrics, and one run. */
  readonly isVersioned: boolean
}

const spec = (name: string) => ({
  name,
  batchSize: 4,
  maxTokenLength: 64,
  startingStep: 7,
  numSteps: 100,
  checkpointDir: "/checkpoints",
  saveCheckpointInterval: 5,
  wandbGroup: "group",
  wandbProject: "project"
})

const environment = {
  desiredName: "add",
  weight: 1,
  groupSize: 2,
  maxTokenLength: 64,
  minBatchAllocation: null
}

const report = {
  running: 1,
  unsent: 0,
  itemsPerMinute: 0.5,
  failures: 0,
  lastError: null,
  servers: [
    {
      server: "http://a",
      split: "eval" as const,
      healthy: false,
      inFlight: 0,
      latencyMean: null,
      latencyP95: null,
      tokensPerSecond: null,
      failures: 3
    }
  ]
}

const claimed = { owner: "trainer", wait: 0, lease: "1 minute" } as const
const keyed = (group: Parameters<Client["submit"]>[1][number]["group"]) => ({ key: crypto.randomUUID(), group })

/** A started run with one environment. */
const started = Effect.fnUntraced(function* (client: Client, run: string) {
  yield* client.registerRun(spec(run))
  assert.isTrue(Option.isNone(yield* client.claim(claimed)))
  return (yield* Effect.flatMap(client.registerEnvironment(environment), Effect.fromOption)).envId
})

const claimOne = (client: Client) => Effect.flatMap(client.claim(claimed), Effect.fromOption)

export const suite = <R, E>(kind: Kind<R>, services: Layer.Layer<R | TrajectoryStore, E>) => {
  const run = (test: string) => (kind.isVersioned ? `${kind.name.replaceAll(/\W/g, "-")}-${test}` : "default")

  layer(services, { excludeTestServices: true })(`TrajectoryClient over ${kind.name}`, (it) => {
    it.effect("tells what the trainer registered, and that nothing is before", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("info"))
        assert.deepStrictEqual(yield* client.runInfo, { batchSize: -1, maxTokenLength: -1 })
        assert.deepStrictEqual(yield* client.wandbInfo, { group: null, project: null })
        yield* client.registerRun(spec(run("info")))
        assert.deepStrictEqual(yield* client.runInfo, { batchSize: 4, maxTokenLength: 64 })
        assert.deepStrictEqual(yield* client.wandbInfo, { group: "group", project: "project" })
      })
    )

    it.effect("lets environments in once the trainer asks for batches", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("register"))
        assert.isTrue(Option.isNone(yield* client.registerEnvironment(environment)))
        yield* client.registerRun(spec(run("register")))
        assert.isTrue(Option.isNone(yield* client.registerEnvironment(environment)))
        yield* client.claim(claimed)
        const first = yield* client.registerEnvironment(environment)
        const second = yield* client.registerEnvironment(environment)
        assert.deepInclude(Option.getOrThrow(first), {
          envId: 0,
          name: "add_0",
          startingStep: 7,
          numSteps: 100,
          checkpointDir: "/checkpoints",
          checkpointInterval: 5
        })
        assert.deepInclude(Option.getOrThrow(second), { envId: 1, name: "add_1" })
      })
    )

    it.effect("hands out what was sent, every field, in steps from the one after the run's first", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("fields"))
        const envId = yield* started(client, run("fields"))
        const outcomes = yield* client.submit(envId, [keyed(SampleGroups.full), keyed(SampleGroups.plain(2))])
        assert.deepStrictEqual(outcomes, [{ status: "received" }, { status: "received" }])
        const batch = yield* claimOne(client)
        assert.strictEqual(batch.step, 8)
        assert.strictEqual(batch.deliveries, 1)
        assert.deepStrictEqual(
          SampleGroups.plainValues(batch.groups),
          SampleGroups.plainValues([
            { ...SampleGroups.full, envId },
            { ...SampleGroups.plain(2), envId }
          ])
        )
        yield* client.ack(batch)
        yield* client.submit(envId, [keyed(SampleGroups.plain(2))])
        yield* client.submit(envId, [keyed(SampleGroups.plain(2))])
        assert.strictEqual((yield* claimOne(client)).step, 9)
      })
    )

    it.effect("wakes a waiting trainer as soon as a batch can be made", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("wait"))
        const envId = yield* started(client, run("wait"))
        const waiting = yield* Effect.forkChild(client.claim({ ...claimed, wait: "5 minutes" }), {
          startImmediately: true
        })
        yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
        const batch = yield* Fiber.join(waiting).pipe(Effect.timeout("4 minutes"))
        assert.isTrue(Option.isSome(batch))
      })
    )

    it.effect("answers without a batch when the wait is over", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("none"))
        yield* started(client, run("none"))
        assert.isTrue(Option.isNone(yield* client.claim({ ...claimed, wait: "50 millis" })))
      })
    )

    it.effect("tells the status, and pushes it when it changes", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("status"))
        const envId = yield* started(client, run("status"))
        const seen = yield* Effect.forkChild(
          client.statusChanges(envId).pipe(
            Stream.takeUntil(({ selfQueueSize }) => selfQueueSize === 1),
            Stream.runCollect
          ),
          { startImmediately: true }
        )
        const before = yield* client.status(envId)
        assert.deepStrictEqual(before, {
          currentStep: 7,
          queueSize: 0,
          selfQueueSize: 0,
          maxGroupSize: 1,
          envWeight: 1,
          unallocatedFraction: 1
        })
        yield* client.submit(envId, [keyed(SampleGroups.plain(2))])
        const statuses = yield* Fiber.join(seen)
        assert.deepStrictEqual(statuses.at(-1), { ...before, queueSize: 1, selfQueueSize: 1, maxGroupSize: 2 })
      })
    )

    it.effect("refuses a group with a number that is not finite, and names the field", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("bad"))
        const envId = yield* started(client, run("bad"))
        const bad = { ...SampleGroups.plain(2), scores: Float64Array.of(1, Number.NaN) }
        const error = yield* Effect.flip(client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(bad)]))
        assert.instanceOf(error, TrajectoryError.TrajectoryError)
        assert.strictEqual(error.reason, "rejected")
        assert.include(error.message, "scores.0.1")
        assert.strictEqual((yield* client.status(envId)).queueSize, 0)
      })
    )

    it.effect("says of an environment nobody registered that it is not there", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("unknown"))
        yield* started(client, run("unknown"))
        assert.strictEqual((yield* Effect.flip(client.status(99))).reason, "notFound")
        assert.strictEqual((yield* Effect.flip(client.disconnectEnvironment(99))).reason, "notFound")
        yield* client.disconnectEnvironment(0)
      })
    )

    if (!kind.isVersioned) {
      it.effect("says what the original's endpoints cannot do", () =>
        Effect.gen(function* () {
          const client = yield* kind.client("default")
          assert.isTrue(Option.isNone(yield* client.savedStates))
          assert.isTrue(Option.isNone(yield* client.telemetry))
          const { message, reason } = yield* Effect.flip(client.registerRun(spec("another")))
          assert.strictEqual(reason, "unsupported")
          assert.include(message, "needs a service with the /v1 API")
          yield* client.ack({ id: "0", leaseToken: "" })
          yield* client.nack({ id: "0", leaseToken: "" })
          yield* client.extend({ id: "0", leaseToken: "" }, "1 minute")
        })
      )
      return
    }

    it.effect("stores a key once, however often it is sent", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("keys"))
        const envId = yield* started(client, run("keys"))
        const one = keyed(SampleGroups.plain(2))
        assert.deepStrictEqual(yield* client.submit(envId, [one]), [{ status: "received" }])
        assert.deepStrictEqual(yield* client.submit(envId, [one, keyed(SampleGroups.plain(2))]), [
          { status: "duplicate" },
          { status: "received" }
        ])
        yield* client.ack(yield* claimOne(client))
        assert.isTrue(Option.isNone(yield* client.claim(claimed)))
      })
    )

    it.effect("keeps policy versions", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("policy"))
        const envId = yield* started(client, run("policy"))
        yield* client.submit(envId, [keyed({ ...SampleGroups.plain(2), policyVersions: [3, null] })])
        yield* client.submit(envId, [keyed({ ...SampleGroups.plain(2), policyVersions: [5, 4] })])
        const { groups } = yield* claimOne(client)
        assert.deepStrictEqual(
          groups.map(({ policyVersions }) => policyVersions),
          [
            [3, null],
            [5, 4]
          ]
        )
      })
    )

    it.effect("gives a batch that was handed back to the next, at once", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("nack"))
        const envId = yield* started(client, run("nack"))
        yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
        const first = yield* claimOne(client)
        assert.isTrue(Option.isNone(yield* client.claim(claimed)))
        const waiting = yield* Effect.forkChild(client.claim({ ...claimed, wait: "5 minutes" }), {
          startImmediately: true
        })
        yield* client.nack(first)
        const second = Option.getOrThrow(yield* Fiber.join(waiting).pipe(Effect.timeout("4 minutes")))
        assert.strictEqual(second.id, first.id)
        assert.strictEqual(second.step, first.step)
        assert.strictEqual(second.deliveries, 2)
        assert.strictEqual((yield* Effect.flip(client.ack(first))).reason, "leaseLost")
        yield* client.ack(second)
      })
    )

    it.effect("gives a batch whose lease ran out to the next, and refuses the first owner's ack", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("lease"))
        const envId = yield* started(client, run("lease"))
        yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
        const first = yield* Effect.flatMap(client.claim({ ...claimed, lease: "40 millis" }), Effect.fromOption)
        const second = yield* Effect.eventually(claimOne(client))
        assert.strictEqual(second.id, first.id)
        assert.strictEqual(second.deliveries, 2)
        assert.strictEqual((yield* Effect.flip(client.ack(first))).reason, "leaseLost")
        yield* client.ack(second)
        assert.strictEqual((yield* Effect.flip(client.ack(first))).reason, "leaseLost")
      })
    )

    it.effect("acknowledges again with the same token, as when the first answer was lost", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("ack-again"))
        const envId = yield* started(client, run("ack-again"))
        yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
        const batch = yield* claimOne(client)
        yield* client.ack(batch)
        yield* client.ack(batch)
        const other = { ...batch, leaseToken: crypto.randomUUID() }
        assert.strictEqual((yield* Effect.flip(client.ack(other))).reason, "leaseLost")
        assert.strictEqual((yield* Effect.flip(client.nack(batch))).reason, "leaseLost")
        assert.isTrue(Option.isNone(yield* client.claim(claimed)))
      })
    )

    it.effect("makes a lease last longer, as long as nobody else has the batch", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("extend"))
        const envId = yield* started(client, run("extend"))
        yield* client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(SampleGroups.plain(2))])
        const first = yield* Effect.flatMap(client.claim({ ...claimed, lease: "2 seconds" }), Effect.fromOption)
        yield* client.extend(first, "1 minute")
        // Beyond the first lease: whoever asks in the meantime gets nothing.
        assert.isTrue(Option.isNone(yield* client.claim({ ...claimed, wait: "2500 millis" })))
        yield* client.extend(first, "1 millis")
        const second = yield* Effect.eventually(claimOne(client))
        assert.strictEqual(second.id, first.id)
        assert.strictEqual((yield* Effect.flip(client.extend(first, "1 minute"))).reason, "leaseLost")
        yield* client.ack(second)
        assert.strictEqual((yield* Effect.flip(client.extend(second, "1 minute"))).reason, "leaseLost")
      })
    )

    it.effect("keeps an environment's state", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("state"))
        yield* started(client, run("state"))
        assert.isTrue(Option.isNone(yield* (yield* states(client)).load("add_0")))
        yield* (yield* states(client)).save("add_0", { step: 3, value: { cursor: 12, own: ["é", null, 0.5] } })
        yield* (yield* states(client)).save("add_0", { step: 4, value: { cursor: 13, own: ["é", null, 0.5] } })
        assert.deepStrictEqual(Option.getOrThrow(yield* (yield* states(client)).load("add_0")), {
          step: 4,
          value: { cursor: 13, own: ["é", null, 0.5] }
        })
        assert.isTrue(Option.isNone(yield* (yield* states(client)).load("add_1")))
      })
    )

    it.effect("records metrics", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("metrics"))
        yield* started(client, run("metrics"))
        yield* (yield* telemetryOf(client)).recordMetrics({
          source: "trainer",
          step: 1,
          values: { loss: 0.5, kl: Number.NaN, "reward.mean": 1 }
        })
      })
    )

    it.effect("keeps the text of tokens and reports, for people who look", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("viewed"))
        const envId = yield* started(client, run("viewed"))
        const { recordPieces, recordReport } = yield* telemetryOf(client)
        yield* recordPieces(
          new Map([
            [7, " the"],
            [0, ""]
          ])
        )
        yield* recordReport(envId, report)
        assert.strictEqual((yield* Effect.flip(recordReport(99, report))).reason, "notFound")
      })
    )

    it.effect("says of a run nobody registered that it is not there", () =>
      Effect.gen(function* () {
        const client = yield* kind.client(run("nobody"))
        assert.strictEqual((yield* Effect.flip(client.claim(claimed))).reason, "notFound")
        assert.strictEqual((yield* Effect.flip(client.status(0))).reason, "notFound")
      })
    )
  })
}
