import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer, Logger, Option, References, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Waits from "../base/Waits.ts"
import * as FileSink from "../../src/metrics/FileSink.ts"
import * as ServiceSink from "../../src/metrics/ServiceSink.ts"
import * as MetricsSink from "../../src/metrics/MetricsSink.ts"
import * as MemoryTrajectoryClient from "../../src/service/memory/MemoryTrajectoryClient.ts"
import * as RolloutTest from "../rollout/RolloutTest.ts"

const quiet = Layer.merge(NodeServices.layer, Layer.succeed(References.MinimumLogLevel, "None"))

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped({ prefix: "atropos-metrics-" }))

const source = (given: Partial<MetricsSink.Source> = {}): MetricsSink.Source => ({
  kind: "trainer",
  name: "trainer",
  key: "trainer",
  isResumed: false,
  prefix: "",
  config: {},
  announced: Effect.succeed({ group: null, project: null }),
  ...given
})

/** A sink in memory; `fail` says what becomes of an attempt. */
const memory = (fail: (attempt: number) => MetricsSink.SinkError | undefined = () => undefined) => {
  const entries: Array<MetricsSink.Entry> = []
  const ends: Array<number> = []
  const state = { attempts: 0, largest: 0 }
  const sink: MetricsSink.Sink = {
    name: "memory",
    takesTables: true,
    batch: 100,
    open: () =>
      Effect.succeed({
        write: (batch) =>
          Effect.suspend(() => {
            const error = fail(++state.attempts)
            if (error !== undefined) return Effect.fail(error)
            state.largest = Math.max(state.largest, batch.length)
            entries.push(...batch)
            return Effect.void
          }),
        finish: (exitCode) => Effect.sync(() => void ends.push(exitCode))
      })
  }
  const values = () =>
    entries.flatMap((entry) => (entry._tag === "Figures" && "n" in entry.values ? [entry.values["n"]] : []))
  return { sink, entries, ends, state, values }
}

/** The same, with a pause before it writes. */
const pausing = (sink: MetricsSink.Sink, pause: Effect.Effect<void>): MetricsSink.Sink => ({
  ...sink,
  open: (from) =>
    Effect.map(sink.open(from), (writer) => ({
      ...writer,
      write: (entries) => Effect.andThen(pause, writer.write(entries))
    }))
})

const passing = new MetricsSink.SinkError({ reason: "passing", message: "away" })

const record = <E, R>(
  sinks: ReadonlyArray<MetricsSink.Sink>,
  use: (recorder: MetricsSink.Recorder) => Effect.Effect<void, E, R>,
  options: MetricsSink.Options = {}
): Effect.Effect<Exit.Exit<void, E>, never, Exclude<R, Scope.Scope>> =>
  Effect.flatMap(MetricsSink.make(sinks, options).open(source()), use).pipe(Effect.scoped, Effect.exit)

const count = (recorder: MetricsSink.Recorder, to: number) =>
  Effect.forEach(
    Array.from({ length: to }, (_, index) => index),
    (n) => recorder.figures(n, { n }),
    { discard: true }
  )

/** What is logged at warnings and above. */
const listening = () => {
  const said: Array<string> = []
  const logger = Logger.make(({ message }) => said.push(JSON.stringify(message)))
  return { said, layer: Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Info")) }
}

describe("MetricsSink", () => {
  it.effect("gives every sink everything, in order, and tells how it ended", () =>
    Effect.gen(function* () {
      const [one, two, three] = [memory(), memory(), memory()]
      yield* record([one.sink, two.sink], (recorder) => count(recorder, 250))
      yield* record([three.sink], () => Effect.fail("broken"))
      const expected = Array.from({ length: 250 }, (_, n) => n)
      assert.deepStrictEqual(one.values(), expected)
      assert.deepStrictEqual(two.values(), expected)
      assert.deepStrictEqual([one.ends, two.ends, three.ends], [[0], [0], [1]])
    }).pipe(Effect.provide(quiet))
  )

  it.effect("a sink that fails holds nobody up, is tried again, is told of once, and loses nothing", () =>
    Effect.gen(function* () {
      const { layer, said } = listening()
      const failing = memory((attempt) => (attempt <= 6 ? passing : undefined))
      const well = memory()
      const recording = record(
        [failing.sink, well.sink],
        (recorder) =>
          Effect.gen(function* () {
            yield* count(recorder, 20)
            yield* RolloutTest.settle
            assert.lengthOf(well.values(), 20)
            assert.lengthOf(failing.values(), 0)
            yield* RolloutTest.pass(120)
          }),
        { flushWithin: "1 minute" }
      )
      yield* recording.pipe(Effect.provide(layer))
      assert.deepStrictEqual(failing.values(), well.values())
      assert.strictEqual(failing.state.attempts, 7)
      assert.strictEqual(said.filter((line) => line.includes("metrics sink failed; retrying")).length, 1)
      assert.strictEqual(said.filter((line) => line.includes("is back")).length, 1)
    }).pipe(Effect.provide(quiet))
  )

  it.effect("flushing waits for a slow sink, a second at most, and for none that is away", () =>
    Effect.gen(function* () {
      const [slow, stuck, away] = [memory(), memory(), memory(() => passing)]
      yield* record(
        [pausing(slow.sink, Effect.sleep(300)), away.sink],
        (recorder) =>
          Effect.gen(function* () {
            yield* recorder.flush
            for (const expected of [20, 40]) {
              yield* count(recorder, 20)
              const flushing = yield* Effect.forkChild(recorder.flush)
              yield* RolloutTest.settle
              yield* TestClock.adjust(299)
              assert.isUndefined(flushing.pollUnsafe())
              yield* TestClock.adjust(1)
              yield* RolloutTest.settle
              assert.isDefined(flushing.pollUnsafe())
              assert.lengthOf(slow.values(), expected)
            }
          }),
        { flushWithin: 0 }
      )
      yield* record(
        [pausing(stuck.sink, Effect.never)],
        (recorder) =>
          Effect.gen(function* () {
            yield* count(recorder, 1)
            const flushing = yield* Effect.forkChild(recorder.flush)
            yield* RolloutTest.settle
            yield* TestClock.adjust("1 second")
            yield* RolloutTest.settle
            assert.isDefined(flushing.pollUnsafe())
          }),
        { flushWithin: 0 }
      )
    }).pipe(Effect.provide(quiet))
  )

  it.effect("keeps a bounded number waiting, the newest, and says how many were lost", () =>
    Effect.gen(function* () {
      const { layer, said } = listening()
      let isAway = true
      const slow = memory(() => (isAway ? passing : undefined))
      yield* record(
        [slow.sink],
        (recorder) =>
          Effect.gen(function* () {
            yield* count(recorder, 1)
            yield* RolloutTest.settle
            yield* count(recorder, 25_000)
            isAway = false
            yield* RolloutTest.pass(60)
          }),
        { flushWithin: "1 minute" }
      ).pipe(Effect.provide(layer))
      const values = slow.values()
      assert.isAtMost(values.length, 10_100)
      assert.strictEqual(values.at(-1), 24_999)
      assert.isAtMost(slow.state.largest, 100)
      assert.isTrue(
        said.some((line) => line.includes("metrics dropped") && line.includes(String(25_001 - values.length)))
      )
    }).pipe(Effect.provide(quiet))
  )

  it.effect("finishing waits no longer than it may", () =>
    Effect.gen(function* () {
      const dead = memory(() => passing)
      const running = yield* Effect.forkChild(
        record([dead.sink], (recorder) => count(recorder, 5), { flushWithin: "5 seconds" })
      )
      yield* RolloutTest.settle
      yield* RolloutTest.pass(4)
      assert.isUndefined(running.pollUnsafe())
      yield* RolloutTest.pass(2)
      assert.isDefined(running.pollUnsafe())
    }).pipe(Effect.provide(quiet))
  )

  it.effect("a sink that is done for is left out, and so are entries that it refuses", () =>
    Effect.gen(function* () {
      const { layer, said } = listening()
      const final = memory(() => new MetricsSink.SinkError({ reason: "final", message: "gone for good" }))
      const choosy = memory((attempt) =>
        attempt === 1 ? new MetricsSink.SinkError({ reason: "refused", message: "not these" }) : undefined
      )
      yield* record([final.sink, choosy.sink], (recorder) =>
        Effect.gen(function* () {
          yield* recorder.figures(0, { n: 0 })
          yield* RolloutTest.settle
          yield* count(recorder, 3)
        })
      ).pipe(Effect.provide(layer))
      assert.strictEqual(final.state.attempts, 1)
      assert.deepStrictEqual(choosy.values(), [0, 1, 2])
      assert.isTrue(said.some((line) => line.includes("gone for good")))
      assert.isTrue(said.some((line) => line.includes("not these")))
    }).pipe(Effect.provide(quiet))
  )

  it.effect("keeps figures that are not finite, and gives settings named like secrets to nobody", () =>
    Effect.gen(function* () {
      const told: Array<MetricsSink.Source> = []
      const { entries, sink } = memory()
      const recording = MetricsSink.make([
        {
          ...sink,
          open: (from) =>
            Effect.andThen(
              Effect.sync(() => void told.push(from)),
              sink.open(from)
            )
        }
      ]).open(
        source({
          config: {
            api_key: "s1",
            HF_TOKEN: "s2",
            max_token_length: 7,
            tokenizer_name: "t",
            servers: [{ password: "s3", url: "u" }]
          }
        })
      )
      yield* Effect.scoped(
        Effect.flatMap(recording, (recorder) => recorder.figures(1, { good: 1, bad: Number.NaN, worse: Infinity }))
      )
      assert.deepInclude(entries[0], { values: { good: 1, bad: Number.NaN, worse: Number.POSITIVE_INFINITY } })
      assert.deepStrictEqual(told[0]?.config, { max_token_length: 7, tokenizer_name: "t", servers: [{ url: "u" }] })
    }).pipe(Effect.provide(quiet))
  )

  it.each([
    ["openaiApiKey", "s"],
    ["x-api-key", "s"],
    ["Authorization", "Bearer s"],
    ["Set-Cookie", "s"],
    ["PGPASSWORD", "s"],
    ["ANTHROPIC_KEY", "s"],
    ["GITHUB_PAT", "s"]
  ])("removes a setting named %s", (name, value) => {
    const kept = { max_tokens: 7, keyword: "k", primary_key: "id", passing: 1, Basic: "Basic arithmetic" }
    assert.deepStrictEqual(MetricsSink.withoutSecrets({ a: [{ ...kept, [name]: value }] }), { a: [kept] })
  })

  it.each([
    ["https://u:p@h/x@y", "https://***@h/x@y"],
    ["https://hf_abc@h/x", "https://***@h/x"],
    ["http://h/x?q=1&access_token=s&sig=t#f", "http://h/x?q=1&access_token=***&sig=***#f"],
    ["http://h/x?mail=a@b&monkey=1", "http://h/x?mail=a@b&monkey=1"],
    ["curl -H 'Authorization: Bearer abcdefghijklmnopqrst.u' h", "curl -H 'Authorization: Bearer ***' h"]
  ])("removes keys and passwords of %s", (text, clean) => {
    assert.deepStrictEqual(MetricsSink.withoutSecrets({ text }), { text: clean })
  })
})

describe("FileSink", () => {
  it.live("writes the lines that trainers always wrote, behind those that are there", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const at = yield* folder
      const sink = yield* FileSink.make(`${at}/run`)
      const write = (step: number) =>
        record([sink], (recorder) =>
          recorder.figures(
            step,
            { "train/loss": 0.5, "reward/mean": 1, "grpo/kl": Number.NaN, "grpo/max_ratio": Infinity },
            { policy_version: step, batch: `b${step}` }
          )
        )
      yield* write(1)
      const file = `${at}/run/metrics.jsonl`
      assert.strictEqual(
        yield* fs.readFileString(file),
        '{"step":1,"policy_version":1,"batch":"b1","train/loss":0.5,"reward/mean":1,"grpo/kl":"NaN","grpo/max_ratio":"Infinity"}\n'
      )
      // A crash left half a line: it stays, and spoils no other.
      yield* fs.writeFileString(file, '{"step":2,"poli', { flag: "a" })
      yield* write(2)
      const lines = (yield* fs.readFileString(file)).split("\n")
      assert.strictEqual(lines[1], '{"step":2,"poli')
      assert.deepInclude(JSON.parse(lines[2]!), { step: 2, batch: "b2" })
      assert.strictEqual(lines.length, 4)
    }).pipe(Effect.provide(quiet))
  )

  it.live("begins a new file where its folder was removed while it writes", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const at = yield* folder
      const sink = yield* FileSink.make(`${at}/run`)
      yield* record([sink], (recorder) =>
        Effect.gen(function* () {
          yield* recorder.figures(1, { "train/loss": 0.5 })
          yield* recorder.flush
          yield* fs.remove(`${at}/run`, { recursive: true })
          yield* recorder.figures(2, { "train/loss": 0.25 })
        }).pipe(Effect.orDie)
      )
      assert.strictEqual(yield* fs.readFileString(`${at}/run/metrics.jsonl`), '{"step":2,"train/loss":0.25}\n')
    }).pipe(Effect.provide(quiet))
  )

  it.live("a full disk stops nothing, and is told", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const at = yield* folder
      yield* fs.symlink("/dev/full", `${at}/metrics.jsonl`)
      const full = yield* FileSink.make(at)
      const { layer, said } = listening()
      const isRefused = () => said.some((line) => /metrics\.jsonl cannot be written: .*no space left/.test(line))
      const exit = yield* record(
        [full],
        (recorder) => Effect.andThen(count(recorder, 3), Waits.untilTrue("the full disk", isRefused)),
        { flushWithin: "200 millis" }
      ).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isSuccess(exit))
      assert.isTrue(said.some((line) => line.includes('"metrics dropped"') && line.includes('"entries":3')))
    }).pipe(Effect.provide(quiet))
  )
})

describe("ServiceSink", () => {
  it.effect("records each entry once, waits for a service that is away, and asks nothing of one that takes none", () =>
    Effect.gen(function* () {
      const recorded: Array<number> = []
      const { client, network } = RolloutTest.behindNetwork({
        ...MemoryTrajectoryClient.make({ batchSize: 4 }),
        ...RolloutTest.takingMetrics((metrics) => Effect.sync(() => void recorded.push(metrics.step)))
      })
      const service = ServiceSink.of(client)
      network.state = "unreachable"
      const running = yield* Effect.forkChild(
        record([service], (recorder) => Effect.andThen(count(recorder, 4), Effect.sleep("1 minute")))
      )
      yield* RolloutTest.pass(5)
      network.state = "up"
      yield* RolloutTest.finish(running)
      assert.deepStrictEqual(recorded, [0, 1, 2, 3])

      let asked = 0
      const original = ServiceSink.of({
        telemetry: Effect.sync(() => {
          asked++
          return Option.none()
        })
      })
      const { layer, said } = listening()
      yield* record([original], (recorder) => count(recorder, 2)).pipe(Effect.provide(layer))
      // Once for each entry: it has no settings.
      assert.deepStrictEqual([asked, said], [2, []])
    }).pipe(Effect.provide(quiet))
  )
})
