/** Tests every client's functions for environments, regardless of the transport. */
import { assert } from "@effect/vitest"
import { TrajectoryError } from "@atropos/core"
import { Effect, Fiber, Option, Stream } from "effect"
import * as SampleGroups from "../SampleGroups.ts"
import {
  type Client,
  type ClientTests,
  claimed,
  claimOne,
  environment,
  keyed,
  type Kind,
  runOf,
  spec,
  started
} from "./ClientValues.ts"

const telemetryOf = (client: Client) => Effect.flatMap(client.telemetry, Effect.fromOption)

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

export const environments = <R>(kind: Kind<R>, it: ClientTests<R>): void => {
  it.effect("lets environments in once the trainer asks for batches", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "register"))
      assert.isTrue(Option.isNone(yield* client.registerEnvironment(environment)))
      yield* client.registerRun(spec(runOf(kind, "register")))
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
      const client = yield* kind.client(runOf(kind, "fields"))
      const envId = yield* started(client, runOf(kind, "fields"))
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

  it.effect("tells the status, and pushes it when it changes", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "status"))
      const envId = yield* started(client, runOf(kind, "status"))
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
      const client = yield* kind.client(runOf(kind, "bad"))
      const envId = yield* started(client, runOf(kind, "bad"))
      const bad = { ...SampleGroups.plain(2), scores: Float64Array.of(1, Number.NaN) }
      const error = yield* Effect.flip(client.submit(envId, [keyed(SampleGroups.plain(2)), keyed(bad)]))
      assert.instanceOf(error, TrajectoryError.TrajectoryError)
      assert.strictEqual(error.reason, "rejected")
      assert.include(error.message, "scores.1")
      assert.strictEqual((yield* client.status(envId)).queueSize, 0)
    })
  )

  it.effect("says of an environment nobody registered that it is not there", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "unknown"))
      yield* started(client, runOf(kind, "unknown"))
      assert.strictEqual((yield* Effect.flip(client.status(99))).reason, "notFound")
      assert.strictEqual((yield* Effect.flip(client.disconnectEnvironment(99))).reason, "notFound")
      yield* client.disconnectEnvironment(0)
    })
  )

  it.effect("stores a key once, however often it is sent", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "keys"))
      const envId = yield* started(client, runOf(kind, "keys"))
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
      const client = yield* kind.client(runOf(kind, "policy"))
      const envId = yield* started(client, runOf(kind, "policy"))
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

  it.effect("keeps an environment's state", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "state"))
      yield* started(client, runOf(kind, "state"))
      assert.isTrue(Option.isNone(yield* client.savedStates.load("add_0")))
      yield* client.savedStates.save("add_0", { step: 3, value: { cursor: 12, own: ["é", null, 0.5] } })
      yield* client.savedStates.save("add_0", { step: 4, value: { cursor: 13, own: ["é", null, 0.5] } })
      assert.deepStrictEqual(Option.getOrThrow(yield* client.savedStates.load("add_0")), {
        step: 4,
        value: { cursor: 13, own: ["é", null, 0.5] }
      })
      assert.isTrue(Option.isNone(yield* client.savedStates.load("add_1")))
    })
  )

  it.effect("keeps the text of tokens and reports, for people who look", () =>
    Effect.gen(function* () {
      const client = yield* kind.client(runOf(kind, "viewed"))
      const envId = yield* started(client, runOf(kind, "viewed"))
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
}
