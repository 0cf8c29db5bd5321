/** What every trajectory store keeps to, whatever database it is on. */
import type { TrajectoryApi } from "@atropos/core"
import { assert, layer as layerOf } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import * as RolloutReader from "../../src/store/RolloutReader.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"

export const spec = (name: string, batchSize = 8): TrajectoryApi.RunSpec => ({
  name,
  batchSize,
  maxTokenLength: 512,
  startingStep: 3,
  numSteps: 100,
  checkpointDir: "/checkpoints",
  saveCheckpointInterval: 5,
  wandbGroup: "group",
  wandbProject: "project"
})

export const environment = (
  desiredName: string,
  more: Partial<TrajectoryApi.EnvironmentSpec> = {}
): TrajectoryApi.EnvironmentSpec => ({
  desiredName,
  weight: 1,
  groupSize: 4,
  maxTokenLength: 100,
  minBatchAllocation: null,
  ...more
})

/** A group of `sequences` whose payload says `text`. */
export const submission = (
  sequences: number,
  envId: number | null,
  text: string,
  key: string | null = randomUUID()
): TrajectoryStore.Submission => ({
  sequences,
  tokens: sequences * 10,
  scores: Array.from({ length: sequences }, (_, i) => i / 2),
  envId,
  policyStep: null,
  key,
  payload: { format: "json", bytes: new TextEncoder().encode(JSON.stringify({ text, filling: "x".repeat(700) })) }
})

export const textOf = (group: TrajectoryStore.StoredGroup): string =>
  (JSON.parse(new TextDecoder().decode(group.payload.bytes)) as { text: string }).text

const trainer = { owner: "trainer", lease: "60 seconds" } as const

export const suite = <E>(
  name: string,
  layer: Layer.Layer<TrajectoryStore.TrajectoryStore | RolloutReader.RolloutReader, E>
) =>
  layerOf(layer, { timeout: "60 seconds" })(name, (it) => {
    let runs = 0
    /** A started run of its own for every test. */
    const started = Effect.fnUntraced(function* (batchSize = 8) {
      const store = yield* TrajectoryStore.TrajectoryStore
      const run = `run-${runs++}`
      yield* store.registerRun(spec(run, batchSize))
      yield* store.start(run)
      return { store, run, reader: yield* RolloutReader.RolloutReader }
    })
    const claimed = Effect.fnUntraced(function* (store: TrajectoryStore.TrajectoryStoreShape, run: string) {
      return Option.getOrUndefined(yield* store.claim(run, trainer))
    })

    it.effect("hands out what was submitted, oldest first, in steps that begin after the run's", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        for (let i = 0; i < 5; i++) {
          assert.deepStrictEqual(yield* store.submit(run, [submission(4, null, `${i}`)]), [{ status: "received" }])
        }
        const first = yield* claimed(store, run)
        const second = yield* claimed(store, run)
        assert.deepStrictEqual(
          [first, second].map((batch) => [batch?.step, batch?.deliveries, batch?.groups.map(textOf)]),
          [
            [4, 1, ["0", "1"]],
            [5, 1, ["2", "3"]]
          ]
        )
        assert.deepStrictEqual(first?.groups[0]?.scores, [0, 0.5, 1, 1.5])
        assert.isUndefined(yield* claimed(store, run))
        const summary = yield* store.summary(run)
        assert.deepInclude(summary, {
          currentStep: 5,
          queuedGroups: 1,
          queuedSequences: 4,
          leasedBatches: 2,
          stuck: []
        })
      })
    )

    it.effect("registers a run once; a second registration changes nothing", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const again = yield* store.registerRun({ ...spec(run), batchSize: 77, startingStep: 9 })
        assert.deepInclude(again, { batchSize: 8, currentStep: 3, registered: true, started: true })
        assert.include(
          (yield* store.runs).map(({ name }) => name),
          run
        )
      })
    )

    it.effect("knows how a run's trainer makes advantages, as the one that registered last told it", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const known = Effect.map(store.run(run), (found) => Option.getOrThrow(found).advantages)
        assert.isNull(yield* known)
        const rule = { loss: "dapo", baseline: "group", advantageScale: "none", isUsed: true } as const
        assert.deepStrictEqual((yield* store.registerRun({ ...spec(run), advantages: rule })).advantages, rule)
        const other = { ...rule, loss: "grpo", advantageScale: "sample-std" } as const
        assert.deepStrictEqual((yield* store.registerRun({ ...spec(run), advantages: other })).advantages, other)
        // A trainer that says nothing takes nothing back.
        yield* store.registerRun(spec(run))
        assert.deepStrictEqual(yield* known, other)
      })
    )

    it.effect("numbers environments of one name, and lets them in once the trainer has asked for a batch", () =>
      Effect.gen(function* () {
        const store = yield* TrajectoryStore.TrajectoryStore
        const run = `run-${runs++}`
        assert.isTrue(Option.isNone(yield* store.registerEnvironment(run, environment("x"))))
        yield* store.registerRun(spec(run))
        assert.isTrue(Option.isNone(yield* store.registerEnvironment(run, environment("x"))))
        yield* store.start(run)
        const names = yield* Effect.forEach(
          ["x", "x", "y", "x"],
          (desired) => store.registerEnvironment(run, environment(desired)),
          { concurrency: "unbounded" }
        )
        const registrations = names.map(Option.getOrThrow)
        assert.deepStrictEqual(new Set(registrations.map(({ envId }) => envId)), new Set([0, 1, 2, 3]))
        assert.deepStrictEqual(registrations.map(({ name }) => name).toSorted(), ["x_0", "x_1", "x_2", "y_0"])
        assert.deepInclude(registrations[0], { startingStep: 3, numSteps: 100, checkpointInterval: 5 })
        yield* store.disconnectEnvironment(run, 1)
        assert.deepStrictEqual(
          (yield* store.environments(run)).map(({ connected }) => connected),
          [true, false, true, true]
        )
        const error = yield* Effect.flip(store.disconnectEnvironment(run, 9))
        assert.deepInclude(error, { _tag: "UnknownEnvironment", run, envId: 9 })
      })
    )

    it.effect("stores a key once, in one call, in several, and while others submit", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const group = submission(4, null, "once")
        assert.deepStrictEqual(yield* store.submit(run, [group, group]), [
          { status: "received" },
          { status: "duplicate" }
        ])
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? group : submission(4, null, `other ${i}`))),
          (one) => store.submit(run, [one]),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          outcomes.map(([outcome]) => outcome?.status),
          outcomes.map((_, i) => (i % 2 === 0 ? "duplicate" : "received"))
        )
        assert.strictEqual((yield* store.summary(run)).queuedGroups, 11)
      })
    )

    it.effect("writes what was sent together with something that cannot be written", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        // The first is under way while the others gather.
        const gathered = yield* Effect.forEach(
          Array.from({ length: 24 }, (_, i) => i),
          (i) => {
            const one = submission(2, null, `${i}`)
            return Effect.exit(store.submit(run, [i === 7 ? { ...one, tokens: 0.5 } : one]))
          },
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          gathered.map((exit) => exit._tag),
          gathered.map((_, i) => (i === 7 ? "Failure" : "Success"))
        )
        assert.strictEqual((yield* store.summary(run)).queuedGroups, 23)
      })
    )

    it.effect("combines the odd groups of others beside a group size that is never reached", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const register = (desiredName: string, groupSize: number) =>
          Effect.map(
            store.registerEnvironment(run, environment(desiredName, { groupSize })),
            (found) => Option.getOrThrow(found).envId
          )
        const greedy = yield* register("greedy", 2_147_483_647)
        const honest = yield* register("honest", 4)
        const outcomes = yield* Effect.forEach(
          [greedy, honest, greedy, honest],
          (envId, i) => store.submit(run, [submission(2, envId, `${i}`)]),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          outcomes.flat().map(({ status }) => status),
          ["buffered", "buffered", "buffered", "buffered"]
        )
        assert.strictEqual((yield* store.summary(run)).queuedGroups, 2)
      })
    )

    it.effect("lists runs beside one whose steps no longer fit a number", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started(2)
        const odd = `${run}-odd`
        yield* store.registerRun({ ...spec(odd, 2), startingStep: Number.MAX_SAFE_INTEGER })
        yield* store.start(odd)
        yield* store.submit(odd, [submission(2, null, "a"), submission(2, null, "b")])
        assert.isDefined(yield* claimed(store, odd))
        assert.isDefined(yield* claimed(store, odd))
        const all = yield* store.runs
        assert.isTrue(all.every(({ currentStep }) => Number.isSafeInteger(currentStep)))
        assert.includeMembers(
          all.map(({ name }) => name),
          [run, odd]
        )
      })
    )

    it.effect("gives every group to exactly one of many claimers, and steps without gaps", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const texts = Array.from({ length: 120 }, (_, i) => `${i}`)
        yield* Effect.forEach(texts, (text, i) => store.submit(run, [submission([2, 4, 6][i % 3]!, null, text)]), {
          concurrency: 16
        })
        const batches: Array<TrajectoryStore.ClaimedBatch> = []
        yield* Effect.forEach(
          Array.from({ length: 8 }, (_, i) => i),
          (i) =>
            Effect.gen(function* () {
              for (;;) {
                const batch = Option.getOrUndefined(yield* store.claim(run, { owner: `${i}`, lease: "60 seconds" }))
                if (batch === undefined) return
                batches.push(batch)
                yield* store.ack(batch)
              }
            }),
          { concurrency: "unbounded" }
        )
        for (const { groups } of batches) {
          assert.strictEqual(
            groups.reduce((sum, { sequences }) => sum + sequences, 0),
            8
          )
        }
        const left = yield* store.summary(run)
        assert.strictEqual(batches.length * 8 + left.queuedSequences, 480)
        // Some of the sixes may lack a two.
        assert.isAtLeast(batches.length, 50)
        assert.deepStrictEqual(
          batches.map(({ step }) => step).toSorted((a, b) => a - b),
          batches.map((_, i) => i + 4)
        )
        const handed = batches.flatMap(({ groups }) => groups.map(textOf))
        assert.strictEqual(new Set(handed).size, handed.length)
        assert.strictEqual(handed.length + left.queuedGroups, texts.length)
      })
    )

    it.effect("hands a batch to the next claimer when its lease runs out, and only then", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        yield* store.submit(run, [submission(8, null, "a"), submission(8, null, "b")])
        const dead = (yield* claimed(store, run))!
        yield* store.claim(run, trainer)
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(yield* claimed(store, run))
        yield* TestClock.adjust("1 second")
        const again = (yield* claimed(store, run))!
        assert.deepStrictEqual([again.id, again.step, again.deliveries], [dead.id, 4, 2])
        assert.notStrictEqual(again.leaseToken, dead.leaseToken)
        assert.deepStrictEqual(again.groups.map(textOf), ["a"])
        assert.strictEqual((yield* Effect.flip(store.ack(dead)))._tag, "LeaseLost")
        yield* store.extendLease(again, "120 seconds")
        yield* TestClock.adjust("119 seconds")
        assert.strictEqual((yield* claimed(store, run))?.step, 5)
        yield* store.ack(again)
        // The answer may have been lost: the same ack again is none the worse, and makes the batch nobody else's.
        yield* store.ack(again)
        assert.strictEqual((yield* Effect.flip(store.ack(dead)))._tag, "LeaseLost")
        assert.strictEqual((yield* Effect.flip(store.nack(again)))._tag, "LeaseLost")
        assert.strictEqual((yield* Effect.flip(store.extendLease(again, "1 minute")))._tag, "LeaseLost")
        // A redelivery is no step.
        assert.strictEqual((yield* store.summary(run)).currentStep, 5)
      })
    )

    it.effect("keeps a lease when the clock of this machine is set anew", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started(2)
        yield* store.submit(run, [submission(2, null, "leased")])
        const clock = yield* Clock.Clock
        const ahead = (millis: number): Clock.Clock =>
          // All the rest is the clock's own.
          Object.create(clock, {
            currentTimeMillisUnsafe: { value: () => clock.currentTimeMillisUnsafe() + millis },
            currentTimeMillis: { value: Effect.map(clock.currentTimeMillis, (now) => now + millis) }
          }) as Clock.Clock
        const held = Option.getOrThrow(yield* store.claim(run, trainer))
        for (const millis of [3_600_000, -3_600_000]) {
          yield* Effect.gen(function* () {
            assert.isTrue(Option.isNone(yield* store.claim(run, { ...trainer, owner: "another" })))
            assert.strictEqual((yield* store.summary(run)).leasedBatches, 1)
          }).pipe(Effect.provideService(Clock.Clock, ahead(millis)))
        }
        yield* store.ack(held)
      })
    )

    it.effect("hands a batch that was given back out first", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        yield* store.submit(
          run,
          ["a", "b", "c"].map((text) => submission(8, null, text))
        )
        const first = (yield* claimed(store, run))!
        const second = (yield* claimed(store, run))!
        yield* store.nack(second)
        yield* store.nack(first)
        assert.strictEqual((yield* Effect.flip(store.nack(first)))._tag, "LeaseLost")
        const steps = []
        for (let i = 0; i < 3; i++) steps.push((yield* claimed(store, run))?.step)
        assert.deepStrictEqual(steps, [4, 5, 6])
        for (const leaseToken of ["", "not a token", randomUUID()]) {
          const error = yield* Effect.flip(store.ack({ id: first.id, leaseToken }))
          assert.strictEqual(error._tag, "LeaseLost")
        }
        assert.strictEqual((yield* Effect.flip(store.ack({ id: "x", leaseToken: randomUUID() })))._tag, "LeaseLost")
      })
    )

    it.effect("buffers odd sizes until some add up, as the original", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        yield* store.registerEnvironment(run, environment("x"))
        const outcomes = []
        for (const [i, size] of [2, 3, 2, 8, 1, 3].entries()) {
          outcomes.push(...(yield* store.submit(run, [submission(size, 0, `${i}`)])))
        }
        assert.deepStrictEqual(
          outcomes.map((outcome) => outcome.status === "buffered" && outcome.bufferSize),
          [2, 5, 3, 11, 8, 11]
        )
        assert.deepStrictEqual(
          yield* store.submit(run, [submission(4, 0, "6"), submission(1, 0, "7"), submission(4, null, "8")]),
          [{ status: "received" }, { status: "buffered", bufferSize: 8 }, { status: "received" }]
        )
        // Queue: 0 and 2, then 1 and 4, then 6, then 5 and 7, then 8; the group of 8 waits.
        const batches = [yield* claimed(store, run), yield* claimed(store, run)]
        assert.deepStrictEqual(
          batches.map((batch) => batch?.groups.map(textOf)),
          [
            ["0", "2", "1", "4"],
            ["6", "5", "7"]
          ]
        )
        const { bufferedGroups, queuedGroups, stuck } = yield* store.summary(run)
        assert.deepStrictEqual([bufferedGroups, queuedGroups], [1, 1])
        assert.deepStrictEqual(
          stuck.map(({ count, envId, sequences }) => ({ count, envId, sequences })),
          [{ count: 1, envId: 0, sequences: 8 }]
        )
      })
    )

    it.effect("queues odd sizes as they are when they have waited a minute, and tells what cannot fill a batch", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        yield* store.registerEnvironment(run, environment("x"))
        yield* store.submit(run, [submission(3, 0, "a"), submission(3, 0, "b"), submission(9, 0, "c")])
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual((yield* store.summary(run)).bufferedGroups, 3)
        // Upkeep works in the database's time: let the clock go on until it has been round.
        const summary = yield* TestClock.adjust("1 second").pipe(
          Effect.andThen(store.summary(run)),
          Effect.repeat({ until: ({ queuedGroups }) => queuedGroups === 3 })
        )
        assert.deepStrictEqual([summary.bufferedGroups, summary.queuedGroups], [0, 3])
        assert.deepStrictEqual(
          new Map(summary.stuck.map(({ count, sequences }) => [sequences, count])),
          new Map([
            [3, 2],
            [9, 1]
          ])
        )
        assert.match(summary.stuck.find(({ sequences }) => sequences === 9)!.reason, /more than a batch of 8/)
        assert.isUndefined(yield* claimed(store, run))
        yield* store.submit(run, [submission(2, null, "d")])
        assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["a", "b", "d"])
      })
    )

    it.effect("tells an environment the original's figures", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        yield* store.registerEnvironment(run, environment("a", { minBatchAllocation: 0.5 }))
        yield* store.registerEnvironment(
          run,
          environment("b", { groupSize: 2, maxTokenLength: 200, minBatchAllocation: 0.25, weight: 3 })
        )
        yield* store.registerEnvironment(run, environment("c"))
        for (const [size, envId] of [
          [4, 0],
          [2, 1],
          [4, 2],
          [4, 0],
          [2, 1]
        ] as const) {
          yield* store.submit(run, [submission(size, envId, "")])
        }
        const common = { currentStep: 3, unallocatedFraction: 0.25, maxGroupSize: 4 }
        assert.deepStrictEqual(yield* store.status(run, 0), {
          ...common,
          queueSize: 3,
          selfQueueSize: 2,
          envWeight: 0.125
        })
        assert.deepStrictEqual(yield* store.status(run, 1), {
          ...common,
          queueSize: 6,
          selfQueueSize: 2,
          envWeight: 0.75
        })
        assert.deepStrictEqual(yield* store.status(run, 2), {
          ...common,
          queueSize: 2,
          selfQueueSize: 1,
          envWeight: 0.125
        })
        assert.strictEqual((yield* Effect.flip(store.status(run, 3)))._tag, "UnknownEnvironment")
        for (const envId of [0, 1, 2]) yield* store.disconnectEnvironment(run, envId)
        assert.strictEqual((yield* store.status(run, 0)).envWeight, 1)
      })
    )

    it.effect("meets minimum shares, and lets nobody wait for a share that has no data", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        yield* store.registerEnvironment(run, environment("a", { minBatchAllocation: 0.5 }))
        yield* store.registerEnvironment(run, environment("b", { minBatchAllocation: 0.5 }))
        yield* store.submit(
          run,
          [0, 0, 0, 1].map((envId) => submission(4, envId, `${envId}`))
        )
        assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["0", "1"])
        assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["0", "0"])
      })
    )

    it.effect("parks data that comes before its trainer, and serves it when the trainer registers", () =>
      Effect.gen(function* () {
        const store = yield* TrajectoryStore.TrajectoryStore
        const run = `run-${runs++}`
        yield* store.submit(run, [submission(8, null, "early")])
        assert.isFalse(Option.getOrThrow(yield* store.run(run)).registered)
        assert.strictEqual((yield* Effect.flip(store.claim(run, trainer)))._tag, "UnknownRun")
        assert.deepInclude(yield* store.registerRun(spec(run)), { registered: true, batchSize: 8, currentStep: 3 })
        assert.deepStrictEqual((yield* claimed(store, run))?.groups.map(textOf), ["early"])
      })
    )

    it.effect("reset ends a run: its name starts anew, what was consumed stays", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started()
        yield* store.registerEnvironment(run, environment("x"))
        yield* store.submit(
          run,
          ["a", "b"].map((text) => submission(8, null, text))
        )
        const batch = (yield* claimed(store, run))!
        yield* store.reset(run)
        yield* store.reset(run)
        assert.isTrue(Option.isNone(yield* store.run(run)))
        assert.deepStrictEqual(yield* store.environments(run), [])
        assert.strictEqual((yield* store.summary(run)).queuedGroups, 0)
        assert.strictEqual((yield* Effect.flip(store.ack(batch)))._tag, "LeaseLost")
        assert.strictEqual(textOf(Option.getOrThrow(yield* store.latest(run))), "b")
        yield* store.registerRun(spec(run, 4))
        yield* store.start(run)
        assert.isUndefined(yield* claimed(store, run))
        yield* store.submit(run, [submission(4, null, "c")])
        const next = (yield* claimed(store, run))!
        assert.deepStrictEqual([next.step, next.groups.map(textOf)], [4, ["c"]])
        const { rows } = yield* reader.rollouts(run, { limit: 10 })
        assert.deepStrictEqual(
          rows.map(({ state, step }) => [state, step]),
          [
            ["leased", 4],
            ["consumed", 4]
          ]
        )
      })
    )

    it.effect("browses groups by page, environment, step and score", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started(4)
        yield* store.registerEnvironment(run, environment("x"))
        yield* store.submit(
          run,
          Array.from({ length: 6 }, (_, i) => ({
            ...submission(4, i % 2 === 0 ? 0 : null, `${i}`),
            scores: [i, i, i, i]
          }))
        )
        yield* store.submit(run, [submission(1, 0, "odd")])
        const batch = (yield* claimed(store, run))!
        yield* store.ack(batch)
        yield* store.claim(run, trainer)
        const first = yield* reader.rollouts(run, { limit: 4 })
        const second = yield* reader.rollouts(run, { limit: 4, before: first.next! })
        assert.deepStrictEqual(
          [...first.rows, ...second.rows].map(({ environment, state, step }) => [environment, state, step]),
          [
            ["x_0", "buffered", null],
            [null, "queued", null],
            ["x_0", "queued", null],
            [null, "queued", null],
            ["x_0", "queued", null],
            [null, "leased", 5],
            ["x_0", "consumed", 4]
          ]
        )
        assert.isNull(second.next)
        const count = (filter: Partial<RolloutReader.RolloutFilter>) =>
          Effect.map(reader.rollouts(run, { limit: 10, ...filter }), ({ rows }) => rows.length)
        assert.strictEqual(yield* count({ environment: "x_0" }), 4)
        assert.strictEqual(yield* count({ stepFrom: 5 }), 1)
        assert.strictEqual(yield* count({ stepTo: 5 }), 2)
        assert.strictEqual(yield* count({ scoreFrom: 2, scoreTo: 3 }), 2)
        const row = first.rows[1]!
        assert.strictEqual(textOf(Option.getOrThrow(yield* reader.rollout(run, row.id))), "5")
        assert.isTrue(Option.isNone(yield* reader.rollout(run, "999999")))
        assert.strictEqual(textOf(Option.getOrThrow(yield* store.latest(run))), "5")
      })
    )

    it.effect("keeps an environment's state and a run's metrics", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started()
        assert.isTrue(Option.isNone(yield* store.loadState(run, "x")))
        for (const step of [1, 2])
          yield* store.saveState(run, "x", { step, value: { cursor: step, deep: [null, "ü"] } })
        assert.deepStrictEqual(Option.getOrThrow(yield* store.loadState(run, "x")), {
          step: 2,
          value: { cursor: 2, deep: [null, "ü"] }
        })
        for (const step of [1, 2, 3]) {
          yield* store.recordMetrics(run, { source: step === 2 ? "env" : "trainer", step, values: { loss: step / 10 } })
        }
        const { metrics } = yield* reader.metrics(run, { source: "trainer", fromStep: 2, limit: 10 })
        assert.deepStrictEqual(
          metrics.map(({ source, step, values }) => ({ source, step, values })),
          [{ source: "trainer", step: 3, values: { loss: 0.3 } }]
        )
        assert.strictEqual((yield* reader.metrics(run, { limit: 2 })).metrics.length, 2)
        const odd = { loss: Number.NaN, up: Number.POSITIVE_INFINITY, down: Number.NEGATIVE_INFINITY, good: 1 }
        yield* store.recordMetrics(run, { source: "trainer", step: 4, values: odd })
        const [last] = (yield* reader.metrics(run, { fromStep: 4, limit: 1 })).metrics
        assert.deepStrictEqual(last?.values, odd)
      })
    )

    it.effect("tells of changes", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const heard = yield* store
          .changes(run)
          .pipe(Stream.take(1), Stream.runDrain, Effect.forkChild({ startImmediately: true }))
        yield* Effect.yieldNow
        yield* store.submit(run, [submission(8, null, "a")])
        yield* Fiber.join(heard)
      })
    )

    it.effect("carries payloads byte for byte, small and large, packed and JSON", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started(1)
        const sizes = [0, 1, 511, 512, 100_000, 3_000_000]
        const payloads = sizes.map((size, i) => ({
          format: i % 2 === 0 ? ("packed" as const) : ("json" as const),
          bytes: Uint8Array.from({ length: size }, (_, at) => (at * 31) % 251)
        }))
        yield* store.submit(
          run,
          payloads.map((payload) => ({ ...submission(1, null, ""), payload }))
        )
        for (const payload of payloads) {
          const { groups } = (yield* claimed(store, run))!
          assert.strictEqual(groups[0]!.payload.format, payload.format)
          assert.isTrue(Buffer.from(groups[0]!.payload.bytes).equals(payload.bytes))
          const stored = Option.getOrThrow(yield* reader.rollout(run, groups[0]!.id))
          assert.isTrue(Buffer.from(stored.payload.bytes).equals(payload.bytes))
        }
      })
    )
  })
