/** What people read of a store, whatever database it is on. */
import { PackedGroup, type ScoredGroup } from "@atropos/core"
import { assert, layer as layerOf } from "@effect/vitest"
import { Effect, Fiber, type Layer, Option, Random, Stream } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import * as RolloutReader from "../../src/store/RolloutReader.ts"
import * as RolloutText from "../../src/rollout/RolloutText.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import * as SampleGroups from "../SampleGroups.ts"
import { environment, spec } from "./TrajectoryStoreTest.ts"

/** A group in which every rollout was asked `question`, and answered one of `answers`. */
const chats = (question: string, ...answers: ReadonlyArray<string>): ScoredGroup.ScoredGroup => ({
  ...SampleGroups.plain(answers.length),
  messages: answers.map((content) => [
    { role: "user", content: question },
    { role: "assistant", content }
  ])
})

const submission = (
  group: ScoredGroup.ScoredGroup,
  more: Partial<TrajectoryStore.Submission> = {}
): TrajectoryStore.Submission => ({
  key: randomUUID(),
  sequences: group.tokens.length,
  tokens: 10,
  scores: Array.from(group.scores),
  envId: null,
  policyStep: null,
  payload: { format: "packed", bytes: PackedGroup.encode(group) },
  ...more
})

const report = {
  running: 3,
  unsent: 1,
  itemsPerMinute: 12.5,
  failures: 2,
  lastError: { at: 5, message: "no" },
  servers: [
    {
      server: "http://a",
      split: "train" as const,
      healthy: true,
      inFlight: 4,
      latencyMean: 0.5,
      latencyP95: null,
      tokensPerSecond: 90,
      failures: 0
    }
  ]
}

const trainer = { owner: "trainer", lease: "60 seconds" } as const
const { RolloutReader: Reader } = RolloutReader

export const suite = <E>(
  name: string,
  layer: Layer.Layer<TrajectoryStore.TrajectoryStore | RolloutReader.RolloutReader, E>
) =>
  layerOf(layer, { timeout: "60 seconds" })(name, (it) => {
    let runs = 0
    /** A started run of its own for every test. */
    const started = Effect.fnUntraced(function* (batchSize = 8) {
      const store = yield* TrajectoryStore.TrajectoryStore
      const reader = yield* Reader
      const run = `read-${runs++}`
      yield* store.registerRun(spec(run, batchSize))
      yield* store.start(run)
      return { store, reader, run }
    })

    const search = (run: string, text: string, more: Partial<RolloutReader.RolloutFilter> = {}) =>
      Effect.flatMap(Reader, (reader) => reader.rollouts(run, { limit: 100, text: RolloutText.parse(text)!, ...more }))

    /** The clock goes on until all text is searched. */
    const indexed = (run: string) =>
      Effect.flatMap(Reader, (reader) =>
        TestClock.adjust("1 second").pipe(
          Effect.andThen(reader.rollouts(run, { limit: 1 })),
          Effect.repeat({ until: ({ unindexed }) => unindexed === 0 })
        )
      )

    it.effect("tells what is not searched yet, and then finds it; shows its beginning at once", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started()
        yield* store.submit(run, [
          submission(chats("What is 6 times 7?", "It is \\boxed{42}", "Perhaps 41")),
          submission(SampleGroups.plain(2), { hasMessages: false }),
          submission(chats("Who wrote it?", "Nobody", "Somebody"), { hasMessages: true })
        ])
        const before = yield* reader.rollouts(run, { limit: 10 })
        assert.deepStrictEqual([before.total, before.unindexed], [3, 2])
        assert.deepStrictEqual(
          before.rows.map(({ preview }) => preview),
          ["Who wrote it?", null, "What is 6 times 7?"]
        )
        assert.strictEqual((yield* search(run, "wrote")).total, 0)
        yield* indexed(run)
        const { rows } = yield* reader.rollouts(run, { limit: 10 })
        assert.deepStrictEqual(
          rows.map(({ preview }) => preview),
          ["Who wrote it?", null, "What is 6 times 7?"]
        )
        for (const [text, expected] of [
          ["nob", ["Who wrote it?"]],
          ["it", ["Who wrote it?", "What is 6 times 7?"]],
          ["perhaps times", ["What is 6 times 7?"]],
          ['"6 times"', ["What is 6 times 7?"]],
          ['"times 6"', []],
          ["\\boxed{42}", ["What is 6 times 7?"]],
          ["\\boxed{41}", []],
          ["nowhere", []]
        ] as const) {
          const page = yield* search(run, text)
          assert.deepStrictEqual(
            page.rows.map(({ preview }) => preview),
            [...expected],
            text
          )
          assert.strictEqual(page.total, expected.length)
        }
      })
    )

    it.effect("finds what the words themselves say, whatever they are", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const words = ["a", "ab", "abc", "b", "ba", "ö", "数", "7", "don't", "x_y", "'", "\\", "NULL", "%", '"', "{}"]
        const text = Effect.map(Effect.all(Array.from({ length: 6 }, () => Random.choice(words))), (chosen) =>
          chosen.join(" ")
        )
        const groups = yield* Effect.replicateEffect(
          Effect.map(Effect.all([text, text, text]), ([question, one, other]) => chats(question, one, other)),
          40
        )
        yield* store.submit(
          run,
          groups.map((group) => submission(group))
        )
        yield* indexed(run)
        const texts = groups.map(({ messages }) => RolloutText.ofMessages(messages))
        for (let i = 0; i < 60; i++) {
          const parts = yield* Effect.all([Random.choice(words), Random.choice(words), Random.choice(words)])
          const typed =
            i % 3 === 0 ? parts.join(" ") : i % 3 === 1 ? `"${parts.join(" ")}"` : `${parts[0]} "${parts[1]}"`
          const query = RolloutText.parse(typed)
          if (query === undefined) continue
          const expected = texts.filter((one) => RolloutText.matches(query, one)).length
          const { rows, total } = yield* search(run, typed)
          assert.deepStrictEqual([rows.length, total], [expected, expected], typed)
        }
      }).pipe(Random.withSeed("words"))
    )

    it.effect("pages through what all filters leave, newest first, and counts on the first page", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started(4)
        yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
        yield* store.registerEnvironment(run, environment("y", { groupSize: 2 }))
        for (let i = 0; i < 12; i++) {
          yield* store.submit(run, [
            submission(chats(`Question ${i}`, i % 2 === 0 ? "yes of course" : "no way", "end"), {
              envId: i % 3 === 0 ? 0 : 1,
              scores: [i, i]
            })
          ])
        }
        for (let i = 0; i < 3; i++) yield* store.ack(Option.getOrThrow(yield* store.claim(run, trainer)))
        yield* indexed(run)
        const ids = new Map((yield* reader.rollouts(run, { limit: 100 })).rows.map(({ id, preview }) => [id, preview]))
        const pages = Effect.fnUntraced(function* (filter: Omit<RolloutReader.RolloutFilter, "limit">) {
          const found: Array<number> = []
          const totals: Array<number | null> = []
          for (let before: string | null | undefined; before !== null;) {
            const page = yield* reader.rollouts(run, { limit: 2, ...filter, ...(before !== undefined && { before }) })
            found.push(...page.rows.map(({ id }) => Number(ids.get(id)!.split(" ")[1])))
            totals.push(page.total)
            before = page.next
          }
          assert.deepStrictEqual(
            totals,
            totals.map((_, i) => (i === 0 ? found.length : null))
          )
          return found
        })
        const yes = RolloutText.parse("yes course")!
        assert.deepStrictEqual(yield* pages({ text: yes }), [10, 8, 6, 4, 2, 0])
        assert.deepStrictEqual(yield* pages({ text: RolloutText.parse('"of course"')! }), [10, 8, 6, 4, 2, 0])
        assert.deepStrictEqual(yield* pages({ text: yes, environment: "x_0" }), [6, 0])
        assert.deepStrictEqual(yield* pages({ text: yes, stepFrom: 5, stepTo: 6 }), [4, 2])
        assert.deepStrictEqual(yield* pages({ stepFrom: 6 }), [5, 4])
        assert.deepStrictEqual(yield* pages({ environment: "y_0", scoreFrom: 3, scoreTo: 7 }), [7, 5, 4])
        assert.deepStrictEqual(
          yield* pages({ text: yes, environment: "y_0", stepTo: 5, scoreFrom: 1, scoreTo: 2 }),
          [2]
        )
        assert.deepStrictEqual(yield* pages({ text: RolloutText.parse("nothing")! }), [])
        assert.deepStrictEqual(yield* pages({ environment: "z_0" }), [])
      })
    )

    it.effect("counts no phrase of which too many groups have the words, and finds it all the same", () =>
      Effect.gen(function* () {
        const { run, store } = yield* started()
        const many = Array.from({ length: 2010 }, (_, i) =>
          submission(chats("Then?", i === 5 ? "first second" : "second first"))
        )
        yield* store.submit(run, many)
        yield* indexed(run)
        const frequent = yield* search(run, '"second first"', { limit: 3 })
        assert.deepStrictEqual([frequent.rows.length, frequent.total], [3, null])
        const rare = yield* search(run, '"first second"', { limit: 3 })
        assert.deepStrictEqual([rare.rows.length, rare.total, rare.next], [1, 1, null])
        assert.strictEqual((yield* search(run, "first second", { limit: 3 })).total, 2010)
      })
    )

    it.effect("lists runs by what happened in them last, ended ones at the end", () =>
      Effect.gen(function* () {
        const { reader, run: first, store } = yield* started()
        const { run: second } = yield* started()
        const { run: third } = yield* started()
        const ours = [first, second, third]
        const listed = Effect.map(reader.runs, (all) =>
          all.map(({ name }) => name).filter((name) => ours.includes(name))
        )
        yield* TestClock.adjust("1 second")
        yield* store.recordMetrics(first, { source: "trainer", step: 1, values: { loss: 1 } })
        assert.deepStrictEqual(yield* listed, [first, third, second])
        yield* TestClock.adjust("1 second")
        yield* store.submit(second, [submission(SampleGroups.plain(2))])
        assert.deepStrictEqual(yield* listed, [second, first, third])
        yield* TestClock.adjust("1 second")
        yield* store.registerEnvironment(third, environment("x", { groupSize: 2 }))
        assert.deepStrictEqual(yield* listed, [third, second, first])
        yield* store.reset(third)
        assert.deepStrictEqual(yield* listed, [second, first, third])
      })
    )

    it.effect("keeps a run that has ended readable, until its name is taken and beyond", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started(2)
        yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
        yield* store.submit(run, [submission(chats("Old?", "a", "b"), { envId: 0 })])
        yield* store.ack(Option.getOrThrow(yield* store.claim(run, trainer)))
        yield* store.submit(run, [submission(chats("Never used?", "a", "b"), { envId: 0 })])
        yield* store.recordMetrics(run, { source: "trainer", step: 1, values: { loss: 1 } })
        yield* store.recordPieces(run, new Map([[7, "old"]]))
        yield* indexed(run)
        yield* store.reset(run)
        const listed = Effect.map(reader.runs, (all) => all.filter((one) => one.name === run).map(({ ended }) => ended))
        assert.deepStrictEqual(yield* listed, [true])
        const { rows, total } = yield* reader.rollouts(run, { limit: 10 })
        assert.deepStrictEqual([rows.map(({ preview, state }) => [preview, state]), total], [[["Old?", "consumed"]], 1])
        assert.strictEqual((yield* search(run, "old")).total, 1)
        assert.strictEqual((yield* reader.metrics(run, { limit: 10 })).metrics.length, 1)
        assert.strictEqual((yield* reader.environments(run)).length, 1)
        assert.strictEqual((yield* reader.batches(run)).length, 1)
        yield* store.registerRun(spec(run, 2))
        assert.deepStrictEqual(yield* listed, [false])
        assert.strictEqual((yield* reader.rollouts(run, { limit: 10 })).total, 1)
        assert.strictEqual((yield* reader.metrics(run, { limit: 10 })).metrics.length, 0)
        yield* store.recordPieces(run, new Map([[8, "new"]]))
        assert.deepStrictEqual(
          yield* reader.pieces(run),
          new Map([
            [7, "old"],
            [8, "new"]
          ])
        )
      })
    )

    it.effect("gives a stored group whole, with the row it has in lists", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started()
        const one = submission(SampleGroups.full, { envId: 5, policyStep: 2 })
        yield* store.submit(run, [one])
        yield* indexed(run)
        const [row] = (yield* reader.rollouts(run, { limit: 1 })).rows
        const { payload, ...rest } = Option.getOrThrow(yield* reader.rollout(run, row!.id))
        assert.deepStrictEqual(rest, row)
        assert.deepInclude(rest, { preview: "2 + 2?", envId: 5, environment: null, state: "queued", policyStep: 2 })
        assert.isTrue(Buffer.from(payload.bytes).equals(one.payload.bytes))
        assert.isTrue(Option.isNone(yield* reader.rollout(run, "999999999")))
        assert.isTrue(Option.isNone(yield* reader.rollout(run, "x")))
      })
    )

    it.effect("keeps the first text of a token, and any text", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started()
        yield* store.recordPieces(
          run,
          new Map([
            [0, "\u0000"],
            [1, " the"],
            [2_000_000_000, "\ufffd"]
          ])
        )
        yield* store.recordPieces(
          run,
          new Map([
            [1, "another"],
            [2, "'"]
          ])
        )
        assert.deepStrictEqual(
          yield* reader.pieces(run),
          new Map([
            [0, "␀"],
            [1, " the"],
            [2, "'"],
            [2_000_000_000, "\ufffd"]
          ])
        )
        assert.deepStrictEqual(yield* reader.pieces(run, [2, 3]), new Map([[2, "'"]]))
        assert.deepStrictEqual(yield* reader.pieces(run, []), new Map())
      })
    )

    it.effect("pages through metrics, oldest first", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started()
        for (let step = 1; step <= 5; step++) {
          yield* store.recordMetrics(run, { source: step % 2 === 0 ? "env" : "trainer", step, values: { x: step } })
        }
        const first = yield* reader.metrics(run, { limit: 2 })
        const second = yield* reader.metrics(run, { limit: 2, after: first.next! })
        const third = yield* reader.metrics(run, { limit: 2, after: second.next! })
        assert.deepStrictEqual(
          [first, second, third].map(({ metrics }) => metrics.map(({ step }) => step)),
          [[1, 2], [3, 4], [5]]
        )
        assert.isNull(third.next)
        const { metrics, next } = yield* reader.metrics(run, { limit: 10, source: "trainer", fromStep: 3 })
        assert.deepStrictEqual(
          metrics.map(({ source, step, values }) => [source, step, values["x"]]),
          [
            ["trainer", 3, 3],
            ["trainer", 5, 5]
          ]
        )
        assert.isNull(next)
      })
    )

    it.effect("tells metrics as they come: each once, in order, none left out, however many write", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started()
        const record = (step: number) => store.recordMetrics(run, { source: "trainer", step, values: { x: step } })
        yield* record(0)
        const [kept] = (yield* reader.metrics(run, { limit: 1 })).metrics
        const follow = (after: string | undefined, count: number) =>
          Effect.flatMap(reader.metricsToCome(run, after), (rows) =>
            rows.pipe(Stream.flattenIterable, Stream.take(count), Stream.runCollect)
          ).pipe(Effect.timeout("1 minute"), TestClock.withLive, Effect.forkChild({ startImmediately: true }))
        const fromNow = yield* follow(undefined, 40)
        const fromStart = yield* follow("0", 41)
        const fromRow = yield* follow(kept!.id, 40)
        // The first element of a stream that reads from the store may take a moment to be asked for.
        yield* TestClock.withLive(Effect.sleep("100 millis"))
        yield* Effect.forEach(
          Array.from({ length: 40 }, (_, i) => i + 1),
          record,
          { concurrency: 8 }
        )
        const seen = yield* Effect.forEach([fromNow, fromStart, fromRow], (fiber) => Fiber.join(fiber))
        const recorded = (yield* reader.metrics(run, { limit: 100 })).metrics
        assert.deepStrictEqual(seen[1], recorded)
        assert.deepStrictEqual(seen[0], recorded.slice(1))
        assert.deepStrictEqual(seen[2], recorded.slice(1))
      })
    )

    it.effect("shows environments with their reports, their part of the batches, and how fast they are", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started(4)
        yield* store.registerEnvironment(run, environment("x", { groupSize: 2 }))
        yield* store.registerEnvironment(run, environment("y", { groupSize: 2 }))
        const fresh = yield* reader.environments(run)
        assert.deepStrictEqual(
          fresh.map(({ name, report, rolloutsPerMinute, share }) => [name, report, share, rolloutsPerMinute]),
          [
            ["x_0", null, null, 0],
            ["y_0", null, null, 0]
          ]
        )
        const send = (envId: number) => store.submit(run, [submission(SampleGroups.plain(2), { envId })])
        for (const envId of [0, 0, 0, 1]) yield* send(envId)
        for (let i = 0; i < 2; i++) yield* store.claim(run, trainer)
        yield* store.recordReport(run, 0, { ...report, running: 9 })
        yield* store.recordReport(run, 0, report)
        const seen = yield* reader.environments(run)
        assert.deepStrictEqual(
          seen.map(({ rolloutsPerMinute, share }) => [share, rolloutsPerMinute]),
          [
            [0.75, 6],
            [0.25, 2]
          ]
        )
        const { at, ...told } = seen[0]!.report!
        assert.deepStrictEqual(told, report)
        assert.isAtLeast(at, 0)
        yield* TestClock.adjust("61 seconds")
        assert.strictEqual((yield* reader.environments(run))[0]!.rolloutsPerMinute, 0)
        const error = yield* Effect.flip(store.recordReport(run, 2, report))
        assert.strictEqual(error._tag, "UnknownEnvironment")
      })
    )

    it.effect("shows batches and who has them", () =>
      Effect.gen(function* () {
        const { reader, run, store } = yield* started(2)
        for (let i = 0; i < 4; i++)
          yield* store.submit(run, [submission(SampleGroups.plain(1)), submission(SampleGroups.plain(1))])
        const claim = Effect.map(store.claim(run, trainer), Option.getOrThrow)
        const acked = yield* claim
        yield* store.ack(acked)
        const returned = yield* claim
        const leased = yield* store.claim(run, { ...trainer, owner: "another", lease: "1 hour" })
        yield* claim
        yield* store.nack(returned)
        yield* TestClock.adjust("2 minutes")
        const batches = yield* reader.batches(run)
        assert.deepStrictEqual(
          batches.map(({ groups, leaseOwner, sequences, state, step }) => [step, state, leaseOwner, groups, sequences]),
          [
            [7, "free", "trainer", 2, 2],
            [6, "leased", "another", 2, 2],
            [5, "free", "trainer", 2, 2],
            [4, "acked", "trainer", 2, 2]
          ]
        )
        assert.strictEqual(batches[1]!.leaseUntil, Option.getOrThrow(leased).leaseUntil)
        assert.isNull(batches[3]!.leaseUntil)
        assert.isNotNull(batches[3]!.ackedAt)
      })
    )

    it.effect("says of a run that never was that there is none", () =>
      Effect.gen(function* () {
        const reader = yield* Reader
        const reads: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
          reader.rollouts("nobody", { limit: 1 }),
          reader.rollout("nobody", "1"),
          reader.pieces("nobody"),
          reader.metrics("nobody", { limit: 1 }),
          reader.metricsToCome("nobody", undefined),
          reader.environments("nobody"),
          reader.batches("nobody")
        ]
        for (const read of reads) assert.strictEqual((yield* Effect.flip(read))._tag, "UnknownRun")
      })
    )
  })
