import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer, Logger, Redacted, References, Schema, type Scope } from "effect"
import * as FileSink from "../../src/metrics/FileSink.ts"
import * as MetricsSink from "../../src/metrics/MetricsSink.ts"
import * as Rows from "../../src/metrics/wandb/Rows.ts"
import * as WandbSink from "../../src/metrics/wandb/WandbSink.ts"
import * as WandbSync from "../../src/metrics/wandb/WandbSync.ts"
import * as RolloutTest from "../rollout/RolloutTest.ts"
import * as WandbServer from "./WandbServer.ts"

const parts = Layer.mergeAll(
  NodeServices.layer,
  NodeHttpClient.layerUndici,
  Layer.succeed(References.MinimumLogLevel, "None")
)

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped({ prefix: "atropos-wandb-" }))

const source = (given: Partial<MetricsSink.Source> = {}): MetricsSink.Source => ({
  kind: "environment",
  name: "add_0",
  key: "add",
  isResumed: false,
  prefix: "add_0_",
  config: { group_size: 4, api_key: "do-not-tell", nested: { lr: 1e-3 } },
  announced: Effect.succeed({ group: "group", project: "project" }),
  ...given
})

const nobody = { project: null, group: null, name: null, entity: null, runId: null } as const

const options = (at: string, server?: WandbServer.WandbServer): WandbSink.Options => ({
  folder: at,
  server: server && { baseUrl: server.url, apiKey: Redacted.make(WandbServer.apiKey) },
  ...nobody,
  every: "10 millis"
})

/** Records with one source, and ends it. */
const record = <E>(
  given: WandbSink.Options,
  from: MetricsSink.Source,
  use: (recorder: MetricsSink.Recorder) => Effect.Effect<void, E, Scope.Scope>,
  flushWithin = 20_000
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sink = yield* WandbSink.make(given)
      const file = yield* FileSink.make(given.folder)
      const recorder = yield* MetricsSink.make([file, sink], { flushWithin }).open(from)
      return yield* Effect.exit(use(recorder))
    })
  )

const steps = (recorder: MetricsSink.Recorder, from: number, to: number) =>
  Effect.forEach(
    Array.from({ length: to - from + 1 }, (_, index) => from + index),
    (step) => recorder.figures(step, { "train/scores_mean": step / 10, "server/access0_failures": 1 }),
    { discard: true }
  )

const stepsOf = (run: WandbServer.Run) => WandbServer.rowsOf(run).map((row) => row["_step"])

describe("Weights & Biases", () => {
  it.live("gets the run, its rows with the original's names, its tables and its end", () =>
    Effect.gen(function* () {
      const server = yield* WandbServer.make
      yield* record(options(yield* folder, server), source(), (recorder) =>
        Effect.gen(function* () {
          yield* recorder.figures(1, { "train/scores_mean": 0.5, "server/access0_failures": 2 })
          yield* recorder.figures(1, { "eval/percent_correct": 0.25, broken: Number.NaN, beyond: -Infinity })
          yield* recorder.table(1, {
            name: "train/rollouts",
            columns: ["text", "score"],
            rows: [
              ["one", 1],
              ["two", -1]
            ]
          })
          yield* recorder.figures(2, { "train/scores_mean": 0.75 })
        })
      )
      assert.deepStrictEqual(server.mistakes, [])
      const run = WandbServer.onlyRun(server)
      assert.deepInclude(run.variables, { project: "project", group: "group", entity: null, jobType: "environment" })
      assert.match(String(run.variables["displayName"]), /^add-\d{4}-\d\d-\d\d-[a-z]{6}$/)
      assert.deepStrictEqual(run.config, { group_size: { value: 4 }, nested: { value: { lr: 1e-3 } } })
      const [first, second, ...others] = WandbServer.rowsOf(run)
      assert.deepInclude(first, {
        _step: 1,
        "add_0_train/scores_mean": 0.5,
        "server/access0_failures": 2,
        "add_0_eval/percent_correct": 0.25
      })
      // As wandb's own client spells them.
      assert.deepInclude(first, { add_0_broken: "NaN", add_0_beyond: "-Infinity" })
      assert.deepInclude(second, { _step: 2, "add_0_train/scores_mean": 0.75 })
      assert.deepStrictEqual(others, [])
      const table = first?.["add_0_train/rollouts"] as { readonly path: string; readonly nrows: number }
      assert.match(table.path, /^media\/table\/add_0_train\/rollouts_1_[0-9a-f]{20}\.table\.json$/)
      assert.deepStrictEqual(JSON.parse(run.files.get(table.path)!.toString()), {
        columns: ["text", "score"],
        data: [
          ["one", 1],
          ["two", -1]
        ]
      })
      assert.deepInclude(run.summary, { _step: 2, "add_0_train/scores_mean": 0.75, "server/access0_failures": 2 })
      assert.strictEqual(run.exitcode, 0)
    }).pipe(Effect.provide(parts))
  )

  it.effect("loses nothing and sends nothing twice through refusals, failures, lost answers and cut connections", () =>
    Effect.gen(function* () {
      const server = yield* WandbServer.make
      const faults: ReadonlyArray<WandbServer.Fault> = [
        { status: 500 },
        "disconnect",
        { status: 429, headers: { "retry-after": "2" } },
        "afterwards",
        { status: 502, body: "<html>bad gateway</html>" }
      ]
      // Half of the requests, without a pattern.
      server.fault = (_, count) => faults[(Math.imul(count, 2_654_435_761) >>> 8) % 10]
      const recording = record(
        options(yield* folder, server),
        source(),
        (recorder) =>
          Effect.gen(function* () {
            for (let step = 0; step < 60; step++) {
              yield* recorder.figures(step, { value: step })
              if (step % 20 === 0)
                yield* recorder.table(step, { name: "t", columns: ["text"], rows: [[`row ${step}`]] })
              if (step % 6 === 0) yield* Effect.sleep("20 seconds")
            }
          }),
        3_600_000
      )
      yield* RolloutTest.finish(yield* Effect.forkChild(recording))
      assert.deepStrictEqual(server.mistakes, [])
      const run = WandbServer.onlyRun(server)
      assert.deepStrictEqual(
        WandbServer.rowsOf(run).map((row) => [row["_step"], row["add_0_value"]]),
        Array.from({ length: 60 }, (_, step) => [step, step])
      )
      assert.strictEqual(run.files.size, 3)
      assert.strictEqual(run.exitcode, 0)
      const lines = server.requests.flatMap(({ body, path }) =>
        path.endsWith("file_stream")
          ? ((JSON.parse(body || "{}").files?.["wandb-history.jsonl"]?.content ?? []) as Array<string>)
          : []
      )
      // Some went several times: a request whose answer was lost is sent again, to the same place.
      assert.isAbove(lines.length, 60)
    }).pipe(Effect.provide(parts))
  )

  it.live("keeps a run that no server takes, and uploads it later, once", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const at = yield* folder
      const server = yield* WandbServer.make
      server.fault = () => ({ status: 503 })
      yield* record(options(at, server), source(), (recorder) => steps(recorder, 1, 5), 500)
      assert.strictEqual(server.runs.size, 0)
      server.fault = () => undefined
      const sync = WandbSync.run(
        at,
        { baseUrl: server.url, apiKey: Redacted.make(WandbServer.apiKey) },
        () => Effect.void
      )
      const [outcome] = yield* sync
      assert.deepInclude(outcome?.outcome, { rows: 5 })
      const before = server.requests.length
      yield* sync
      const run = WandbServer.onlyRun(server)
      assert.deepStrictEqual(
        WandbServer.rowsOf(run).map((row) => row["_step"]),
        [1, 2, 3, 4, 5]
      )
      assert.strictEqual(run.exitcode, 0)
      assert.strictEqual(server.requests.length, before, "a run that is there is not sent again")
      assert.deepStrictEqual(server.mistakes, [])
      assert.deepStrictEqual((yield* fs.readDirectory(at)).toSorted(), ["add.metrics.jsonl", "wandb"])
    }).pipe(Effect.provide(parts))
  )

  it.live(
    "offline keeps everything in a folder without a word to anybody, and a crashed run is uploaded as failed",
    () =>
      Effect.gen(function* () {
        const at = yield* folder
        const server = yield* WandbServer.make
        const end = yield* record(options(at), source(), (recorder) =>
          Effect.andThen(steps(recorder, 3, 4), Effect.fail("broken"))
        )
        assert.isTrue(Exit.isFailure(end))
        assert.strictEqual(server.requests.length, 0)
        // As a process leaves it that was killed: no end, half a line.
        const fs = yield* FileSystem.FileSystem
        const [run] = yield* fs.readDirectory(`${at}/wandb`)
        const identity = `${at}/wandb/${run}/run.json`
        const kept = JSON.parse(yield* fs.readFileString(identity))
        assert.deepInclude(kept, { exit: 0, uploaded: null })
        yield* fs.writeFileString(identity, JSON.stringify({ ...kept, exit: null }))
        yield* fs.writeFileString(`${at}/add.metrics.jsonl`, '{"step":5,"train/sco', { flag: "a" })
        const access = { baseUrl: server.url, apiKey: Redacted.make(WandbServer.apiKey) }
        yield* WandbSync.run(at, access, () => Effect.void)
        const uploaded = WandbServer.onlyRun(server)
        assert.deepStrictEqual(
          WandbServer.rowsOf(uploaded).map((row) => row["_step"]),
          [3, 4]
        )
        assert.strictEqual(uploaded.exitcode, 1)
        assert.deepStrictEqual(server.mistakes, [])
      }).pipe(Effect.provide(parts))
  )

  it.live("goes on with the run of earlier work: steps done again are recorded once", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const server = yield* WandbServer.make
      const trainer = source({ kind: "trainer", name: "trainer", key: "trainer", prefix: "" })
      yield* record(options(at, server), trainer, (recorder) => steps(recorder, 1, 6))
      yield* record(options(at, server), { ...trainer, isResumed: true }, (recorder) => steps(recorder, 5, 8))
      assert.deepStrictEqual(
        WandbServer.rowsOf(WandbServer.onlyRun(server)).map((row) => [row["_step"], row["train/scores_mean"]]),
        [1, 2, 3, 4, 5, 6, 7, 8].map((step) => [step, step / 10])
      )
      yield* record(options(at, server), trainer, (recorder) => steps(recorder, 1, 2))
      assert.strictEqual(server.runs.size, 2, "work that begins anew is a new run")
      // An environment is another one to the service each time it comes; its figures keep their names.
      yield* record(options(at, server), source(), (recorder) => steps(recorder, 1, 2))
      const back = source({ name: "add_1", prefix: "add_1_", isResumed: true })
      yield* record(options(at, server), back, (recorder) => steps(recorder, 3, 3))
      assert.strictEqual(server.runs.size, 3)
      assert.deepInclude(WandbServer.rowsOf([...server.runs.values()].at(-1)!).at(-1), {
        _step: 3,
        "add_0_train/scores_mean": 0.3
      })
      assert.deepStrictEqual(server.mistakes, [])
    }).pipe(Effect.provide(parts))
  )

  it.live("sends first what an outage left, when it is resumed, and a new run none of it", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const server = yield* WandbServer.make
      const trainer = source({ kind: "trainer", name: "trainer", key: "trainer", prefix: "" })
      server.fault = () => ({ status: 503 })
      yield* record(options(at, server), trainer, (recorder) => steps(recorder, 1, 4), 200)
      server.fault = () => undefined
      yield* record(options(at, server), { ...trainer, isResumed: true }, (recorder) => steps(recorder, 3, 6))
      assert.deepStrictEqual(stepsOf(WandbServer.onlyRun(server)), [1, 2, 3, 4, 5, 6])
      yield* record(options(at, server), trainer, (recorder) => steps(recorder, 1, 2))
      assert.deepStrictEqual([...server.runs.values()].map(stepsOf), [
        [1, 2, 3, 4, 5, 6],
        [1, 2]
      ])
      assert.deepStrictEqual(server.mistakes, [])
    }).pipe(Effect.provide(parts))
  )

  it.live("goes on with a run by its id, behind what the server has of it", () =>
    Effect.gen(function* () {
      const server = yield* WandbServer.make
      server.seed("abcd1234", ['{"_step":1,"_timestamp":1}', '{"_step":4,"_timestamp":2}'])
      const trainer = source({ kind: "trainer", name: "trainer", key: "trainer", prefix: "" })
      const given = { ...options(yield* folder, server), runId: "abcd1234" }
      yield* record(given, trainer, (recorder) => steps(recorder, 3, 6))
      yield* record(given, { ...trainer, isResumed: true }, (recorder) => steps(recorder, 7, 7))
      assert.deepStrictEqual(
        WandbServer.rowsOf(WandbServer.onlyRun(server)).map((row) => row["_step"]),
        [1, 4, 5, 6, 7]
      )
      assert.deepStrictEqual(server.mistakes, [])
    }).pipe(Effect.provide(parts))
  )

  it.live("puts what comes late into the newest row, with the step it was recorded for", () =>
    Effect.gen(function* () {
      const server = yield* WandbServer.make
      yield* record(options(yield* folder, server), source(), (recorder) =>
        Effect.gen(function* () {
          yield* steps(recorder, 10, 14)
          yield* recorder.figures(10, { "eval/percent_correct": 1 })
        })
      )
      assert.deepInclude(WandbServer.rowsOf(WandbServer.onlyRun(server)).at(-1), {
        _step: 14,
        "add_0_eval/percent_correct": 1,
        add_0_recorded_for_step: 10
      })
      assert.deepStrictEqual(server.mistakes, [])
    }).pipe(Effect.provide(parts))
  )

  it.live("stops at a key that is refused, says so once without the key, and keeps the run", () =>
    Effect.gen(function* () {
      const at = yield* folder
      const server = yield* WandbServer.make
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => said.push(JSON.stringify(message)))
      const wrong = "fedcba9876543210fedcba9876543210fedcba98"
      const given = { ...options(at, server), server: { baseUrl: server.url, apiKey: Redacted.make(wrong) } }
      yield* record(given, source(), (recorder) => steps(recorder, 1, 3)).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Trace")
      )
      const refusals = said.filter((line) => line.includes("WANDB_API_KEY"))
      assert.strictEqual(refusals.length, 1)
      assert.isFalse(said.some((line) => line.includes(wrong)))
      assert.strictEqual(server.requests.length, 1)
      const sync = { baseUrl: server.url, apiKey: Redacted.make(WandbServer.apiKey) }
      const [outcome] = yield* WandbSync.run(at, sync, () => Effect.void)
      assert.deepInclude(outcome?.outcome, { rows: 3 })
    }).pipe(Effect.provide(parts))
  )
})

describe("Rows", () => {
  it.prop(
    "merges the parts of a step into one row, in order, and loses none",
    [Schema.Array(Schema.Natural)],
    ([given]) => {
      const ordered = given.map((step) => step % 8).toSorted((a, b) => a - b)
      const rows = Rows.make({ kind: "environment", prefix: "" })
      const closed = ordered.flatMap(
        (step, index) => rows.add({ _tag: "Figures", step, at: index, values: { [`k${index}`]: index } }) ?? []
      )
      const last = rows.end()
      const all = last === undefined ? closed : [...closed, last]
      assert.deepStrictEqual(
        all.map(({ step }) => step),
        [...new Set(ordered)]
      )
      assert.deepStrictEqual(
        Object.assign({}, ...all.map(({ values }) => values)),
        Object.fromEntries(ordered.map((_, index) => [`k${index}`, index]))
      )
      assert.isUndefined(rows.end())
    }
  )
})
