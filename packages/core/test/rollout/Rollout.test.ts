import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, FileSystem, Logger, Option, References, Schema, Stream, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import * as Dataset from "../../src/data/Dataset.ts"
import * as Environment from "../../src/Environment.ts"
import { InferenceError } from "../../src/inference/wire/Inference.ts"
import * as MemoryTrajectoryClient from "../../src/service/memory/MemoryTrajectoryClient.ts"
import * as Options from "../../src/rollout/Options.ts"
import * as EvaluationRun from "../../src/rollout/EvaluationRun.ts"
import * as Rollout from "../../src/rollout/Rollout.ts"
import { bytes, Tokenizer, type TokenizerShape } from "../../src/inference/tokenizer/Tokenizer.ts"
import type { Telemetry } from "../../src/service/TelemetryClient.ts"
import * as TrajectoryClient from "../../src/service/TrajectoryClient.ts"
import { TrajectoryError } from "../../src/service/TrajectoryError.ts"
import * as Growth from "../base/Growth.ts"
import {
  behindNetwork,
  claim,
  drain,
  finish,
  folder,
  itemOf,
  launch,
  layerParts,
  numbers,
  pass,
  passUntil,
  settle,
  start,
  takingMetrics,
  trajectory,
  weights
} from "./RolloutTest.ts"

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: to - from }, (_, index) => from + index)

const pair = (item: number) => ({ trajectories: [trajectory(item), trajectory(item)] })

/** An environment's own error. */
class Mishap extends Schema.TaggedError<Mishap>()("Mishap", { message: Schema.String }) {}

describe("Rollout", () => {
  it.effect("fills exact batches in the order of the items, until its items are through", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 8 })
      const environment = yield* numbers({ items: (cursor) => Stream.fromIterable(range(cursor, 24)) })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      const seen: Array<number> = []
      for (let step = 0; step < 6; step++) {
        yield* settle
        const batch = yield* claim(client)
        assert.strictEqual(batch?.step, step + 1)
        seen.push(...batch!.groups.map(itemOf))
      }
      assert.deepStrictEqual(
        seen.sort((a, b) => a - b),
        range(0, 24)
      )
      const summary = yield* finish(running)
      assert.strictEqual(summary.groupsSent, 24)
      assert.strictEqual(summary.duplicates, 0)
      assert.deepStrictEqual(summary.items, { succeeded: 24 })
    }).pipe(Effect.provide(layerParts))
  )

  it.effect.each([0, 1])("on policy, %i steps ahead: rolls out for a step once its weights are there", (stepsAhead) =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 8 })
      const version = yield* SubscriptionRef.make(0)
      const started: Array<number> = []
      const environment = yield* numbers({
        collectTrajectories: (item) => Effect.sync(() => (started.push(item), pair(item).trajectories))
      })
      const running = yield* start(environment, client, {
        spoolDirectory: yield* folder,
        onPolicy: { versions: SubscriptionRef.changes(version), stepsAhead }
      })
      for (let step = 0; step < 4; step++) {
        yield* settle
        // Four groups of two make a batch of eight.
        assert.strictEqual(started.length, 4 * (step + 1 + stepsAhead))
        assert.strictEqual((yield* claim(client))?.step, step + 1)
        yield* settle
        // The batch is being trained on: its weights are still the old ones.
        assert.strictEqual(started.length, 4 * (step + 1 + stepsAhead))
        yield* SubscriptionRef.set(version, step + 1)
      }
      yield* Fiber.interrupt(running)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("waits for the service and then for the trainer, whoever starts first", () =>
    Effect.gen(function* () {
      const { client, network } = behindNetwork(MemoryTrajectoryClient.make())
      network.state = "unreachable"
      const running = yield* launch(yield* numbers(), client, { spoolDirectory: yield* folder })
      yield* pass(120)
      assert.isBelow(network.requests.length, 40)
      assert.isAbove(network.requests.length, 10)
      network.state = "up"
      yield* pass(15)
      assert.strictEqual(running.pollUnsafe(), undefined)
      yield* client.registerRun(runSpec)
      const trainer = yield* Effect.forkChild(client.claim({ owner: "trainer", wait: "1 hour", lease: "1 hour" }))
      yield* pass(3)
      const batch = yield* Fiber.join(trainer)
      assert.deepStrictEqual(Option.getOrThrow(batch).groups.map(itemOf), [0, 1])
      yield* Fiber.interrupt(running)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("refuses a group larger than a batch, and says what would be right", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 4 })
      const environment = yield* numbers({ settings: { groupSize: 8 } })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      const error = yield* Effect.flip(finish(running))
      assert.strictEqual(error.reason, "settings")
      assert.match(error.message, /group_size is 8.*4 sequences.*lower group_size to 4/)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("warns of a group size that never fills a batch alone", () =>
    Effect.gen(function* () {
      const warnings: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void warnings.push(message))])
      for (const groupSize of [1, 4, 16]) {
        yield* Options.checkSettings("numbers", groupSize, 16, 10).pipe(Effect.provide(logger))
      }
      assert.deepStrictEqual(warnings, [])
      yield* Options.checkSettings("numbers", 6, 16, 10).pipe(Effect.provide(logger))
      assert.match(JSON.stringify(warnings), /never fill a batch.*"group_size":6,"batch_size":16/)
    })
  )

  it.effect("never has more under way and queued than max_batches_offpolicy allows, and cancels nothing", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 4 })
      let running = 0
      let most = 0
      let interrupted = 0
      const environment = yield* numbers({
        settings: { maxBatchesOffpolicy: 2, maxNumWorkers: 64, maxNumWorkersPerNode: 64 },
        collectTrajectories: (item) =>
          Effect.sync(() => {
            running++
            most = Math.max(most, running)
          }).pipe(
            Effect.andThen(Effect.sleep("10 seconds")),
            Effect.as([trajectory(item), trajectory(item)]),
            Effect.onInterrupt(() => Effect.sync(() => void interrupted++)),
            Effect.ensuring(Effect.sync(() => void running--))
          )
      })
      const fiber = yield* start(environment, client, { spoolDirectory: yield* folder })
      const { envId } = yield* waitForRegistration(client)
      for (let round = 0; round < 5; round++) {
        yield* pass(11)
        assert.strictEqual((yield* client.status(envId)).queueSize, 4)
        assert.strictEqual(running, 0)
        yield* claim(client)
        yield* settle
        assert.strictEqual(running, 2)
      }
      assert.strictEqual(most, 4)
      assert.strictEqual(interrupted, 0)
      yield* finish(yield* Effect.forkChild(Fiber.interrupt(fiber)))
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("with max_batches_offpolicy 0 rolls out one batch at a time", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 8 })
      const environment = yield* numbers({ settings: { maxBatchesOffpolicy: 0 } })
      const fiber = yield* start(environment, client, { spoolDirectory: yield* folder })
      const { envId } = yield* waitForRegistration(client)
      for (let step = 0; step < 3; step++) {
        yield* settle
        assert.strictEqual((yield* client.status(envId)).queueSize, 4)
        assert.strictEqual((yield* claim(client))?.step, step + 1)
      }
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("makes exactly the data of total_steps, and ends when the last batch is taken", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 4, startingStep: 5 })
      let rolledOut = 0
      const environment = yield* numbers({
        settings: { totalSteps: 8, maxBatchesOffpolicy: 10 },
        collectTrajectories: (item) => {
          rolledOut++
          // Every third group has equal scores and is dropped: the rule counts what arrives.
          return Effect.succeed([trajectory(item), trajectory(item)])
        },
        score: (item) => Effect.succeed(item % 3 === 0 ? [1, 1] : [0, 1])
      })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      yield* settle
      assert.strictEqual((yield* drain(client)).length, 6)
      const summary = yield* finish(running)
      assert.strictEqual(summary.groupsSent, 6)
      assert.strictEqual(summary.step, 8)
      assert.strictEqual(rolledOut, 6 + (summary.dropped.identical_scores ?? 0))
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("keeps failures, defects and timeouts to their own item, tries again, then writes a dead letter", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const spoolDirectory = yield* folder
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const attempts = new Map<number, number>()
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 8)),
        settings: { workerTimeout: 5, maxBatchesOffpolicy: 100 },
        collectTrajectories: (item) =>
          Effect.suspend(() => {
            const attempt = (attempts.get(item) ?? 0) + 1
            attempts.set(item, attempt)
            if (item === 1) return Effect.fail(new Mishap({ message: "no answer" }))
            if (item === 2) return Effect.die(new TypeError("undefined is not a function"))
            if (item === 3) return Effect.never
            if (item === 4 && attempt < 3) return Effect.fail(new Mishap({ message: "flaky" }))
            if (item === 5) return Effect.interrupt
            return Effect.succeed([trajectory(item), trajectory(item)])
          })
      })
      const running = yield* start(environment, client, { spoolDirectory })
      yield* pass(40)
      const summary = yield* finish(running)
      assert.strictEqual(summary.items.succeeded, 4)
      assert.strictEqual(summary.items.given_up, 4)
      assert.strictEqual(summary.items.timeout, 3)
      assert.deepStrictEqual(
        range(0, 8).map((item) => attempts.get(item)),
        [1, 3, 3, 3, 3, 3, 1, 1]
      )
      const letters = (yield* fs.readFileString(`${spoolDirectory}/numbers/dead-letters.jsonl`)).trim().split("\n")
      const reasons = Object.fromEntries(
        letters.map((line) => {
          const { item, reason } = JSON.parse(line)
          return [item, reason]
        })
      )
      assert.strictEqual(reasons["1"], "no answer")
      assert.match(
        reasons["2"],
        /^collectTrajectories threw TypeError: undefined is not a function \(.*Rollout\.test\.ts:/
      )
      assert.strictEqual(reasons["3"], "took longer than 5 seconds")
      assert.strictEqual((yield* drain(client)).length, 4)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("gives no item up because the inference servers are away", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      let isAway = true
      let asked = 0
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 20)),
        settings: { maxBatchesOffpolicy: 100 },
        collectTrajectories: (item) =>
          Effect.suspend(() => {
            asked++
            return isAway
              ? Effect.fail(new InferenceError({ reason: "noServer", server: "all", message: "no healthy server" }))
              : Effect.succeed([trajectory(item), trajectory(item)])
          })
      })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      yield* pass(240)
      assert.isBelow(asked, 60)
      isAway = false
      const summary = yield* finish(running)
      assert.strictEqual(summary.groupsSent, 20)
      assert.strictEqual(summary.items.given_up, undefined)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("after a kill goes on where it was: no item lost, no group twice", () =>
    Effect.gen(function* () {
      const service = MemoryTrajectoryClient.make({ batchSize: 2 })
      const items = (cursor: number) => Stream.fromIterable(range(cursor, 40))
      const arrived: Array<number> = []
      for (let life = 0; life < 8; life++) {
        const { client, network } = behindNetwork(service)
        const environment = yield* numbers({
          items,
          settings: { maxNumWorkers: 5, maxBatchesOffpolicy: 4 },
          // Items end out of order, so that finished ones lie above the frontier.
          collectTrajectories: (item) =>
            Effect.sleep((item % 4) * 700).pipe(Effect.as([trajectory(item), trajectory(item)]))
        })
        // Every life on a fresh disk: only what the service keeps survives.
        const running = yield* start(environment, client, { spoolDirectory: yield* folder })
        if (life === 7) {
          while (running.pollUnsafe() === undefined) {
            yield* pass(1)
            arrived.push(...(yield* drain(service)).map(itemOf))
          }
          break
        }
        yield* pass(2)
        arrived.push(...(yield* drain(service)).map(itemOf))
        network.state = "hanging"
        yield* finish(yield* Effect.forkChild(Fiber.interrupt(running)))
      }
      assert.deepStrictEqual(
        arrived.sort((a, b) => a - b),
        range(0, 40)
      )
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("loses nothing in an outage of a minute, nor when it is restarted during one", () =>
    Effect.gen(function* () {
      const service = MemoryTrajectoryClient.make({ batchSize: 2 })
      const { client, network } = behindNetwork(service)
      const spoolDirectory = yield* folder
      let rolledOut = 0
      const definition = {
        items: (cursor: number) => Stream.fromIterable(range(cursor, 30)),
        settings: { maxBatchesOffpolicy: 50, maxNumWorkers: 2 },
        collectTrajectories: (item: number) => {
          rolledOut++
          return Effect.sleep("1 seconds").pipe(Effect.as([trajectory(item), trajectory(item)]))
        }
      }
      const first = yield* start(yield* numbers(definition), client, { spoolDirectory })
      yield* pass(4)
      network.state = "unreachable"
      yield* pass(4)
      yield* finish(yield* Effect.forkChild(Fiber.interrupt(first)))
      const second = yield* launch(yield* numbers(definition), client, { spoolDirectory })
      yield* pass(30)
      network.state = "up"
      yield* pass(60)
      const summary = yield* finish(second)
      assert.deepStrictEqual(
        (yield* drain(service)).map(itemOf).sort((a, b) => a - b),
        range(0, 30)
      )
      // What was spooled is not rolled out again; only what was answered for after the last save is, and stored once,
      // and what the two workers had not yet handed to the spool.
      const again = rolledOut - 30 - summary.duplicates
      assert.isTrue(again >= 0 && again <= 2, String(again))
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("pauses instead of losing groups when the spool is full", () =>
    Effect.gen(function* () {
      const service = MemoryTrajectoryClient.make({ batchSize: 2 })
      const { client, network } = behindNetwork(service)
      let rolledOut = 0
      const environment = yield* numbers({
        settings: { maxBatchesOffpolicy: 1000, maxNumWorkers: 1 },
        collectTrajectories: (item) => {
          rolledOut++
          return Effect.sleep("100 millis").pipe(Effect.as([trajectory(item), trajectory(item)]))
        }
      })
      const running = yield* start(environment, client, {
        spoolDirectory: yield* folder,
        spoolMaxBytes: 4000,
        maxGroupsInMemory: 5
      })
      yield* pass(1)
      network.state = "unreachable"
      yield* pass(60)
      const before = rolledOut
      assert.isBelow(before, 60)
      yield* pass(20)
      assert.strictEqual(rolledOut, before)
      network.state = "up"
      yield* pass(40)
      assert.isAbove(rolledOut, before)
      const items = (yield* drain(service)).map(itemOf)
      assert.deepStrictEqual(items, range(0, items.length))
      yield* finish(yield* Effect.forkChild(Fiber.interrupt(running)))
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("singles out a group the service rejects, and sends the others of the request", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const spoolDirectory = yield* folder
      const service = MemoryTrajectoryClient.make({ batchSize: 2 })
      const client = {
        ...service,
        submit: (envId: number, groups: Parameters<typeof service.submit>[1]) =>
          groups.some(({ group }) => itemOf(group) === 3)
            ? Effect.fail(new TrajectoryError({ reason: "rejected", message: "tokens: 3 is too odd" }))
            : service.submit(envId, groups)
      }
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 6)),
        settings: { maxBatchesOffpolicy: 100 }
      })
      const summary = yield* Fiber.join(yield* start(environment, client, { spoolDirectory }))
      assert.deepStrictEqual((yield* drain(service)).map(itemOf), [0, 1, 2, 4, 5])
      assert.strictEqual(summary.dropped.rejected_by_service, 1)
      const letter = JSON.parse(yield* fs.readFileString(`${spoolDirectory}/numbers/dead-letters.jsonl`))
      assert.strictEqual(letter.reason, "tokens: 3 is too odd")
      assert.deepStrictEqual(letter.group.tokens[0], [3, 1, 2, 3])
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("registers again when the service has forgotten it, and sends what it had", () =>
    Effect.gen(function* () {
      let service = MemoryTrajectoryClient.make({ batchSize: 2 })
      const first = service
      const gone = new TrajectoryError({ reason: "notFound", message: "no such environment" })
      const client: typeof service = {
        ...first,
        registerEnvironment: (spec) => Effect.suspend(() => service.registerEnvironment(spec)),
        submit: (envId, groups) => Effect.suspend(() => service.submit(envId, groups)),
        statusChanges: (envId) =>
          first.statusChanges(envId).pipe(
            Stream.mapEffect((status) => (service === first ? Effect.succeed(status) : Effect.fail(gone))),
            Stream.catch(() => Stream.unwrap(Effect.sync(() => service.statusChanges(envId))))
          )
      }
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 12)),
        settings: { maxBatchesOffpolicy: 100, maxNumWorkers: 1 },
        collectTrajectories: (item) => Effect.sleep("1 seconds").pipe(Effect.as([trajectory(item), trajectory(item)]))
      })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      yield* pass(5)
      // Another service, as after a restart without its data.
      service = MemoryTrajectoryClient.make({ batchSize: 2 })
      yield* pass(20)
      yield* finish(running)
      const items = [...(yield* drain(first)), ...(yield* drain(service))].map(itemOf)
      assert.deepStrictEqual(items, range(0, 12))
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("puts requeued items before new ones, and holds the cursor until they are through", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const order: Array<number> = []
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 4)),
        settings: { maxNumWorkers: 1, maxBatchesOffpolicy: 100 },
        collectTrajectories: (item) => {
          order.push(item)
          return Effect.succeed({
            groups: [{ trajectories: [trajectory(item), trajectory(item)] }],
            requeue: item < 10 ? [item + 10] : []
          })
        }
      })
      yield* Fiber.join(yield* start(environment, client, { spoolDirectory: yield* folder }))
      assert.deepStrictEqual(order, [0, 10, 1, 11, 2, 12, 3, 13])
      const saved = Option.getOrThrow(yield* savedState(client)).value
      assert.deepInclude(saved, { cursor: { frontier: 4, finished: [] } })
      assert.strictEqual((yield* drain(client)).length, 8)
    }).pipe(Effect.provide(layerParts))
  )

  /**
   * Items below 10 put back two of their own, which put back one each; `rolled` tells what was rolled out, `blocked`
   * never ends.
   */
  const following = (
    rolled: Array<number>,
    blocked: (item: number) => boolean,
    requeued?: Schema.Codec<number, unknown>
  ) =>
    numbers({
      items: (cursor) => Stream.fromIterable(range(cursor, 4)),
      settings: { maxNumWorkers: 8, maxBatchesOffpolicy: 100 },
      ...(requeued !== undefined && { requeued }),
      collectTrajectories: (item) => {
        rolled.push(item)
        const follow = item < 10 ? [item + 10, item + 20] : item < 20 ? [item + 100] : []
        const rolledOut = { groups: [pair(item)], requeue: follow }
        return blocked(item) ? Effect.never : Effect.succeed(rolledOut)
      }
    })

  it.effect("goes on with items that were put back, after a kill, without rolling out again what they came from", () =>
    Effect.gen(function* () {
      const service = MemoryTrajectoryClient.make({ batchSize: 2 })
      const { client, network } = behindNetwork(service)
      const before: Array<number> = []
      // Item 1's follow-ups and item 12's hang, item 3 does itself.
      const hanging = new Set([11, 21, 112, 3])
      const first = yield* following(before, (item) => hanging.has(item), Schema.Finite)
      const killed = yield* start(first, client, { spoolDirectory: yield* folder })
      yield* pass(5)
      // Nothing comes out of a process that was killed.
      network.state = "hanging"
      yield* finish(yield* Effect.forkChild(Fiber.interrupt(killed)))
      const sent = (yield* drain(service)).map(itemOf).toSorted((a, b) => a - b)
      assert.deepStrictEqual(sent, [0, 1, 2, 10, 12, 20, 22, 110])

      const after: Array<number> = []
      const second = yield* following(after, () => false, Schema.Finite)
      const running = yield* start(second, service, { spoolDirectory: yield* folder })
      const summary = yield* finish(running)
      assert.deepStrictEqual(
        after.toSorted((a, b) => a - b),
        [3, 11, 13, 21, 23, 111, 112, 113]
      )
      assert.strictEqual(summary.duplicates, 0)
      const items = (yield* drain(service)).map(itemOf)
      assert.sameMembers(items, after)
      const saved = Option.getOrThrow(yield* savedState(service)).value
      assert.deepEqual(Object.keys(saved as object).toSorted(), ["cursor", "lineage"])
      assert.deepInclude(saved, { cursor: { frontier: 4, finished: [] } })
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("rolls an item out again where what it put back cannot be saved or read", () =>
    Effect.gen(function* () {
      const unwritable = Schema.Finite.check(Schema.isLessThan(10))
      for (const [codec, other] of [
        [undefined, undefined],
        [unwritable, Schema.Finite],
        [Schema.Finite, Schema.String as unknown as Schema.Codec<number, unknown>]
      ] as const) {
        const service = MemoryTrajectoryClient.make({ batchSize: 2 })
        const { client, network } = behindNetwork(service)
        const first = yield* following([], (item) => item === 11, codec)
        const killed = yield* start(first, client, { spoolDirectory: yield* folder })
        yield* pass(5)
        network.state = "hanging"
        yield* finish(yield* Effect.forkChild(Fiber.interrupt(killed)))
        const after: Array<number> = []
        const second = yield* following(after, () => false, other)
        const summary = yield* finish(yield* start(second, service, { spoolDirectory: yield* folder }))
        // Its first group and that of 21 are known to the service by their keys.
        assert.deepStrictEqual([after.toSorted((a, b) => a - b), summary.duplicates], [[1, 11, 21, 111], 2])
        assert.strictEqual((yield* drain(service)).length, 16)
      }
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("counts the groups of an item that cannot be judged, and sends the others", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 4)),
        settings: { maxBatchesOffpolicy: 100 },
        collectTrajectories: (item) => Effect.succeed({ groups: [pair(item), pair(item + 100)] }),
        score: (_, group) =>
          group[0]!.tokens[0]! >= 100
            ? Effect.fail(new Environment.Unscorable({ message: "undecided" }))
            : Effect.succeed([0, 1])
      })
      const summary = yield* Fiber.join(yield* start(environment, client, { spoolDirectory: yield* folder }))
      assert.strictEqual(summary.groupsSent, 4)
      assert.deepStrictEqual(summary.dropped, { unscorable: 4 })
      assert.deepStrictEqual(summary.items, { succeeded: 4 })
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("shows the first group that is dropped for a reason, and what the reason means", () =>
    Effect.gen(function* () {
      const shown: Array<string> = []
      const remember = Logger.make(({ logLevel, message }) => void shown.push(`${logLevel} ${JSON.stringify(message)}`))
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 4)),
        collectTrajectories: (item) => Effect.succeed([trajectory(item)])
      })
      const client = MemoryTrajectoryClient.make({ batchSize: 4 })
      const summary = yield* Effect.flatMap(
        start(environment, client, { spoolDirectory: yield* folder }),
        Fiber.join
      ).pipe(Effect.provide(Logger.layer([remember])), Effect.provideService(References.MinimumLogLevel, "Warn"))
      assert.deepStrictEqual(summary.dropped, { wrong_size: 4 })
      assert.strictEqual(shown.length, 1)
      assert.include(shown[0], "its number of sequences is not group_size")
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("says again, ever more sparsely, that every group is dropped", () =>
    Effect.gen(function* () {
      const shown: Array<string> = []
      const remember = Logger.make(({ logLevel, message }) => void shown.push(`${logLevel} ${JSON.stringify(message)}`))
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 1_099)),
        score: (_, group) => Effect.succeed(group.map(() => Number.NaN))
      })
      const client = MemoryTrajectoryClient.make({ batchSize: 4 })
      const summary = yield* Effect.flatMap(
        start(environment, client, { spoolDirectory: yield* folder }),
        Fiber.join
      ).pipe(Effect.provide(Logger.layer([remember])), Effect.provideService(References.MinimumLogLevel, "Warn"))
      assert.deepStrictEqual(summary.dropped, { not_finite: 1_099 })
      assert.deepStrictEqual(
        shown.flatMap((line) => /all groups are dropped; nothing is sent.*"inARow":(\d+)/.exec(line)?.[1] ?? []),
        ["100", "1000"]
      )
      // On a slow machine the test's clock, which stands still here, has something to say too.
      assert.strictEqual(shown.filter((line) => !line.includes("test clock")).length, 3, shown.join("\n"))
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("goes on when the outcome of a rollout cannot be handled, and keeps its item for the next start", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const unreadable: TokenizerShape = {
        ...bytes,
        decode: () => {
          throw new RangeError("no such token")
        }
      }
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, 3)),
        settings: { includeMessages: true, maxBatchesOffpolicy: 100 },
        collectTrajectories: (item) => {
          const one = item === 1 ? { ...trajectory(item), messages: [] } : trajectory(item)
          return Effect.succeed([one, one])
        }
      })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder }).pipe(
        Effect.provideService(Tokenizer, unreadable)
      )
      assert.strictEqual((yield* Fiber.join(running)).groupsSent, 2)
      const saved = Option.getOrThrow(yield* savedState(client)).value
      assert.deepInclude(saved, { cursor: { frontier: 1, finished: [[2, 2]] } })
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("saves and restores an environment's own state", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const run = Effect.fnUntraced(function* (to: number) {
        let level = 0
        const environment = yield* numbers({
          items: (cursor) => Stream.fromIterable(range(cursor, to)),
          settings: { maxBatchesOffpolicy: 100 },
          collectTrajectories: (item) => {
            level++
            return Effect.succeed([trajectory(item), trajectory(item)])
          },
          state: {
            save: Effect.sync(() => ({ level })),
            restore: (saved) => Effect.sync(() => void (level = (saved as { level: number }).level))
          }
        })
        yield* Fiber.join(yield* start(environment, client, { spoolDirectory: yield* folder }))
        return level
      })
      assert.strictEqual(yield* run(3), 3)
      assert.strictEqual(yield* run(7), 7)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("reports an environment that cannot read its items, and lets the others go on", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const settings = { maxBatchesOffpolicy: 100 }
      const broken = yield* numbers({
        name: "broken",
        settings,
        items: () => Stream.fail(new Error("rows.jsonl: line 3 has no field question"))
      })
      const sound = yield* numbers({ settings, items: (cursor) => Stream.fromIterable(range(cursor, 5)) })
      const spoolDirectory = yield* folder
      const both = yield* Rollout.runAll([broken, sound, sound], { spoolDirectory }).pipe(
        Effect.provide(TrajectoryClient.context(client)),
        Effect.forkChild
      )
      yield* pass(20)
      assert.deepStrictEqual(
        (yield* finish(both)).map(({ environment, groupsSent }) => [environment, groupsSent]),
        [
          ["numbers", 5],
          ["numbers-2", 5]
        ]
      )
      const alone = yield* start(broken, client, { spoolDirectory })
      yield* pass(20)
      const error = yield* Effect.flip(finish(alone))
      assert.strictEqual(error.reason, "items")
      assert.match(error.message, /line 3 has no field question/)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("ends an environment that reports itself as unusable, in training and in an evaluation", () =>
    Effect.gen(function* () {
      let rolledOut = 0
      const unusable = new Environment.EnvironmentUnusable({ message: "no run reached the model" })
      const environment = yield* numbers({
        settings: { maxBatchesOffpolicy: 1000, maxNumWorkers: 4 },
        collectTrajectories: (item) =>
          Effect.suspend(() => (++rolledOut > 10 ? Effect.fail(unusable) : Effect.succeed(pair(item).trajectories))),
        evaluation: { items: Stream.make(0, 1, 2), collectTrajectories: () => Effect.fail(unusable) }
      })
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      yield* pass(20)
      assert.strictEqual((yield* Effect.flip(finish(running))).message, "no run reached the model")
      // Four workers may have begun at once.
      assert.isAtMost(rolledOut, 14)
      const evaluated = yield* Effect.flip(EvaluationRun.evaluate(environment))
      assert.strictEqual(evaluated.message, "no run reached the model")
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("starts over where the rows that its cursor counted were replaced, in any way", () => {
    const warnings: Array<unknown> = []
    const logger = Logger.layer([Logger.make(({ message }) => void warnings.push(message))])
    return Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const run = Effect.fnUntraced(function* (rows: ReadonlyArray<{ readonly n: number }>, count: number, seed = 0) {
        const items = Dataset.shuffle(rows, { seed })
        const environment = yield* numbers({
          items: Object.assign(
            (cursor: number) =>
              items(cursor).pipe(
                Stream.take(Math.max(0, count - cursor)),
                Stream.map(({ n }) => n)
              ),
            { digest: items.digest }
          ),
          settings: { maxBatchesOffpolicy: 100 }
        })
        yield* Fiber.join(yield* start(environment, client, { spoolDirectory: yield* folder }))
        return (yield* drain(client)).map(itemOf)
      })
      const rows = (from: number) => range(from, from + 8).map((n) => ({ n }))
      assert.lengthOf(yield* run(rows(0), 3), 3)
      // The same rows: it goes on.
      assert.lengthOf(yield* run(rows(0), 5), 2)
      const told = () => warnings.filter((one) => JSON.stringify(one).includes("differ from those of its saved cursor"))
      assert.lengthOf(told(), 0)
      // Others, one that was corrected, one more, another order: it starts over.
      assert.lengthOf(yield* run(rows(10), 5), 5)
      const corrected = rows(10).with(3, { n: 99 })
      assert.lengthOf(yield* run(corrected, 5), 5)
      assert.lengthOf(yield* run([...corrected, { n: 100 }], 5), 5)
      assert.lengthOf(yield* run([...corrected, { n: 100 }], 5, 1), 5)
      assert.lengthOf(told(), 4)
      assert.lengthOf(yield* run([...corrected, { n: 100 }], 6, 1), 1)
    }).pipe(
      Effect.provide(logger),
      Effect.provideService(References.MinimumLogLevel, "Warn"),
      Effect.provide(layerParts)
    )
  })

  it.effect("gives the inference servers the environments' shares", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const one = yield* numbers({ name: "one", settings: { inferenceWeight: 3 } })
      const two = yield* client.registerEnvironment({
        desiredName: "elsewhere",
        weight: 1,
        groupSize: 2,
        maxTokenLength: 2048,
        minBatchAllocation: null
      })
      assert.isTrue(Option.isSome(two))
      weights.length = 0
      const running = yield* start(one, client, { spoolDirectory: yield* folder })
      yield* settle
      assert.deepStrictEqual([...new Set(weights)], [0.75])
      yield* Fiber.interrupt(running)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("records the figures of a step, with the original's names", () =>
    Effect.gen(function* () {
      const service = MemoryTrajectoryClient.make({ batchSize: 4 })
      const recorded: Array<Parameters<Telemetry["recordMetrics"]>[0]> = []
      const client = {
        ...service,
        ...takingMetrics((metrics) => Effect.sync(() => void recorded.push(metrics)))
      }
      const environment = yield* numbers({
        score: (item) => Effect.succeed(item % 2 === 0 ? [1, 1] : [0, 1]),
        metrics: Effect.succeed({ "curriculum/level": 3 }),
        settings: { totalSteps: 2, maxBatchesOffpolicy: 2 }
      })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      yield* settle
      yield* claim(client)
      yield* settle
      const [first] = recorded
      assert.strictEqual(first?.source, "numbers_0")
      assert.strictEqual(first?.step, 1)
      assert.deepInclude(first?.values, {
        "train/items_sent_to_api": 4,
        "train/completion_lengths": 2,
        "train/completion_lengths_std": 0,
        "train/completion_lengths_p95": 2,
        "curriculum/level": 3
      })
      assert.strictEqual(first?.values["train/items_rejected/identical_scores"], first?.values["train/items_rejected"])
      yield* Fiber.interrupt(running)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("evaluates at every multiple crossed while training waits, and keeps each step's files", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const client = MemoryTrajectoryClient.make({ batchSize: 4 })
      const evals = yield* folder
      let started = 0
      let isEvaluating = false
      let startedMeanwhile = 0
      const environment = yield* numbers({
        settings: { stepsPerEval: 1, totalSteps: 3, maxBatchesOffpolicy: 1, dataDirToSaveEvals: evals },
        collectTrajectories: (item) => {
          started++
          if (isEvaluating) startedMeanwhile++
          return Effect.succeed([trajectory(item), trajectory(item)])
        },
        score: (item, group) => Effect.succeed(group.map((_, index) => (item < 2 ? index : 0) + (index === 0 ? 0 : 1))),
        isCorrect: (score) => score > 0,
        evaluation: {
          items: Stream.make(0, 1, 2, 3),
          collectTrajectories: (item) =>
            Effect.gen(function* () {
              isEvaluating = true
              yield* Effect.sleep("5 seconds")
              isEvaluating = false
              if (item === 3) return yield* new Mishap({ message: "judge is away" })
              return [trajectory(item), trajectory(item)]
            })
        }
      })
      const options = { spoolDirectory: yield* folder, evaluateAtStart: true }
      const running = yield* start(environment, client, options)
      const evaluated = (step: number) => fs.exists(`${evals}/numbers/step-${step}/metrics.json`)
      for (let step = 0; step < 3; step++) {
        yield* passUntil(evaluated(step))
        yield* passUntil(Effect.map(claim(client), (batch) => batch !== undefined))
      }
      const summary = yield* finish(running)
      assert.strictEqual(summary.evaluations, 4)
      assert.strictEqual(startedMeanwhile, 0)
      assert.isAbove(started, 5)
      assert.deepStrictEqual(
        (yield* fs.readDirectory(`${evals}/numbers`)).sort(),
        range(0, 4).map((step) => `step-${step}`)
      )
      const report = JSON.parse(yield* fs.readFileString(`${evals}/numbers/step-2/metrics.json`))
      assert.strictEqual(report.results.all["eval/percent_correct"], 0.5)
      assert.strictEqual(report.results.all["eval/pass@2"], 1)
      assert.deepStrictEqual(report.failures, [{ item: "3", reason: "judge is away" }])
      const samples = (yield* fs.readFileString(`${evals}/numbers/step-2/samples.jsonl`)).trim().split("\n")
      assert.strictEqual(samples.length, 6)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("logs the first failures of an evaluation, then how many there were", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const environment = yield* numbers({
        evaluation: {
          items: Stream.range(0, 19),
          collectTrajectories: (item) =>
            item < 12 ? Effect.die(new Error(`no luck with ${item}`)) : Effect.succeed([trajectory(item)])
        }
      })
      const { failures } = Option.getOrThrow(
        yield* EvaluationRun.evaluate(environment).pipe(
          Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(JSON.stringify(message)))])),
          Effect.provideService(References.MinimumLogLevel, "Warn")
        )
      )
      assert.strictEqual(failures.length, 12)
      const about = (text: string) => logged.filter((line) => line.includes(text))
      assert.strictEqual(about("evaluation of an item failed").length, 5)
      assert.match(about("in total").join(), /"failed":12,"items":20/)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("leaves an evaluation item that takes too long out, and says so", () =>
    Effect.gen(function* () {
      const environment = yield* numbers({
        settings: { workerTimeout: 5 },
        evaluation: {
          items: Stream.make(0, 1),
          collectTrajectories: (item) => (item === 1 ? Effect.never : Effect.succeed([trajectory(item)]))
        }
      })
      const running = yield* Effect.forkChild(EvaluationRun.evaluate(environment))
      yield* TestClock.adjust("5 seconds")
      const { failures, items } = Option.getOrThrow(yield* Fiber.join(running))
      assert.strictEqual(items.length, 1)
      assert.deepStrictEqual(failures, [{ item: "1", reason: "took longer than 5 seconds" }])
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("gives results that come at the same time folders of their own", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const options = { directory, name: "numbers", step: 3, modelName: "tiny", maxTokenLength: 8 }
      const save = EvaluationRun.save({ items: [], failures: [], seconds: 1 }, options)
      const folders = yield* Effect.all([save, save, save], { concurrency: "unbounded" })
      assert.deepStrictEqual(folders.map((one) => one.slice(directory.length)).sort(), [
        "/numbers/step-3",
        "/numbers/step-3_1",
        "/numbers/step-3_2"
      ])
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("writes accepted groups to a file of its own", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* folder}/deep/groups.jsonl`
      const run = Effect.gen(function* () {
        const client = MemoryTrajectoryClient.make({ batchSize: 2 })
        const environment = yield* numbers({
          items: (cursor) => Stream.fromIterable(range(cursor, 3)),
          settings: { dataPathToSaveGroups: file, includeMessages: true, maxBatchesOffpolicy: 100 }
        })
        yield* Fiber.join(yield* start(environment, client, { spoolDirectory: yield* folder }))
      })
      yield* run
      yield* run
      for (const name of [file, file.replace(".jsonl", "_1.jsonl")]) {
        const lines = (yield* fs.readFileString(name)).trim().split("\n")
        assert.strictEqual(lines.length, 3)
        assert.strictEqual(JSON.parse(lines[0]!).messages[1][1].content, "right")
      }
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("is refused where another process has its spool, and told what to do", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const environment = yield* numbers()
      const options = { spoolDirectory: yield* folder }
      const running = yield* start(environment, client, options)
      let registrations = 0
      const counted = {
        ...client,
        registerEnvironment: (spec: Parameters<typeof client.registerEnvironment>[0]) =>
          Effect.tap(client.registerEnvironment(spec), () => Effect.sync(() => registrations++))
      }
      const second = yield* launch(environment, counted, options)
      const error = yield* Effect.flip(finish(second))
      assert.strictEqual(registrations, 0)
      assert.strictEqual(error.reason, "state")
      assert.include(
        error.message,
        `is in use by a running process (id ${process.pid}): stop that environment, or give`
      )
      // Another name has a place of its own.
      const other = yield* start(yield* numbers({ name: "others" }), client, options)
      yield* Fiber.interrupt(other)
      yield* Fiber.interrupt(running)
    }).pipe(Effect.provide(layerParts))
  )

  it.effect("stopped, it finishes what is under way, saves and disconnects", () =>
    Effect.gen(function* () {
      const { client, network } = behindNetwork({
        ...MemoryTrajectoryClient.make({ batchSize: 2 }),
        ...takingMetrics(() => Effect.void)
      })
      const environment = yield* numbers({
        settings: { maxNumWorkers: 3, maxBatchesOffpolicy: 100 },
        collectTrajectories: (item) => Effect.sleep("2 seconds").pipe(Effect.as([trajectory(item), trajectory(item)]))
      })
      const running = yield* start(environment, client, { spoolDirectory: yield* folder })
      yield* pass(1)
      const stopping = yield* Effect.forkChild(Fiber.interrupt(running))
      yield* pass(3)
      yield* finish(stopping)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(running)))
      const requests = network.requests.filter((request) => request !== "status")
      assert.deepStrictEqual(requests.slice(-3), ["saveState", "recordMetrics", "disconnectEnvironment"])
      assert.deepStrictEqual((yield* drain(client)).map(itemOf), [0, 1, 2])
      assert.deepInclude(Option.getOrThrow(yield* savedState(client)).value, {
        cursor: { frontier: 3, finished: [] }
      })
    }).pipe(Effect.provide(layerParts))
  )

  it.live("takes no longer for a group of eight, from item to trainer, if many came before", () => {
    const rollOut = Effect.fnUntraced(function* (groups: number) {
      const client = MemoryTrajectoryClient.make({ batchSize: 64 })
      const environment = yield* numbers({
        items: (cursor) => Stream.fromIterable(range(cursor, groups)),
        settings: { groupSize: 8, maxBatchesOffpolicy: 8, maxNumWorkers: 64 }
      })
      const before = process.cpuUsage()
      const running = yield* launch(environment, client, { spoolDirectory: yield* folder })
      let taken = 0
      while (taken < groups) {
        const batch = yield* client.claim({ owner: "trainer", wait: "1 hour", lease: "1 hour" })
        yield* client.ack(Option.getOrThrow(batch))
        taken += Option.getOrThrow(batch).groups.length
      }
      yield* Fiber.join(running)
      assert.strictEqual(taken, groups)
      const { system, user } = process.cpuUsage(before)
      return (system + user) / 1000
    }, Effect.scoped)
    return Effect.gen(function* () {
      const context = yield* Effect.context<Effect.Services<ReturnType<typeof rollOut>>>()
      const measure = (groups: number) => Effect.runPromiseWith(context)(rollOut(groups))
      assert.isTrue(yield* Effect.promise(() => Growth.isLinearLater(1024, measure)))
    }).pipe(Effect.provide(layerParts))
  })

  it.effect("drops nothing the environment made when a layer of several is closed", () =>
    Effect.gen(function* () {
      const client = MemoryTrajectoryClient.make({ batchSize: 2 })
      const environment = yield* numbers({ settings: { maxBatchesOffpolicy: 3 } })
      const spoolDirectory = yield* folder
      yield* Rollout.Rollout.pipe(
        Effect.andThen(settle),
        Effect.provide(Rollout.layer({ spoolDirectory })),
        Effect.provide(TrajectoryClient.context(client)),
        Effect.provideService(Environment.Environments, [environment])
      )
      assert.deepStrictEqual((yield* drain(client)).map(itemOf), [0, 1, 2])
    }).pipe(Effect.provide(layerParts))
  )
})

const runSpec = {
  name: "default",
  batchSize: 4,
  maxTokenLength: 100,
  startingStep: 0,
  numSteps: 10,
  checkpointDir: "",
  saveCheckpointInterval: -1,
  wandbGroup: "",
  wandbProject: ""
}

const savedState = (client: TrajectoryClient.TrajectoryClient) => client.savedStates.load("numbers")

/** The first environment's id, once it is there. */
const waitForRegistration = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.gen(function* () {
    yield* settle
    yield* client.status(0)
    yield* TestClock.adjust(0)
    return { envId: 0 }
  })
