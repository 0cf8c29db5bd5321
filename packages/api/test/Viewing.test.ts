/** What people see of a run over HTTP: what an environment tells of itself, and what comes while they look. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import {
  Environment,
  PackedGroup,
  Rollout,
  type ScoredGroup,
  ServerManager,
  Tokenizer,
  TrajectoryApi,
  TrajectoryClient,
  TrajectoryClientHttp
} from "@atropos/core"
import { Effect, Fiber, FileSystem, Layer, Option, References, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as Waits from "../../core/test/base/Waits.ts"
import * as SampleGroups from "./SampleGroups.ts"
import { call, layer as serviceLayer, ServiceUrl } from "./TestService.ts"
import * as TestStore from "./TestStore.ts"

const spec = (name: string) => ({
  name,
  batchSize: 4,
  maxTokenLength: 256,
  startingStep: 0,
  numSteps: 3,
  checkpointDir: "",
  saveCheckpointInterval: 5,
  wandbGroup: "",
  wandbProject: ""
})

const clientOf = (run: string) =>
  Effect.gen(function* () {
    const layer = TrajectoryClientHttp.layer({ url: yield* ServiceUrl, run })
    return yield* Effect.provide(TrajectoryClient.all, layer)
  })

/** A started run. */
const started = Effect.fnUntraced(function* (name: string) {
  const client = yield* clientOf(name)
  yield* client.registerRun(spec(name))
  yield* client.claim({ owner: "t", wait: 0, lease: "1 minute" })
  return client
})

const submit = (run: string, group: ScoredGroup.ScoredGroup) =>
  call(`/v1/runs/${run}/groups`, {
    bytes: PackedGroup.encodeList([{ key: crypto.randomUUID(), bytes: PackedGroup.encode(group) }]),
    headers: { "content-type": TrajectoryApi.packedContentType }
  })

type Json = Record<string, unknown>

/** Asks until the answer is as wanted. */
const until = (path: string, isWanted: (answer: Json) => boolean) =>
  Waits.until(
    path,
    Effect.map(call(path), (answer) => answer.json()),
    isWanted
  )

const indexed = (run: string) => until(`/v1/runs/${run}/rollouts?limit=1`, ({ unindexed }) => unindexed === 0)

interface SseEvent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly rows: ReadonlyArray<Json>
}

const stepsOf = (events: ReadonlyArray<SseEvent>) => events.flatMap(({ rows }) => rows.map(({ step }) => step))

/** Events of a stream, until `isEnough`. */
const eventsOf = (path: string, headers: { readonly [name: string]: string }, isEnough: (event: SseEvent) => boolean) =>
  Effect.gen(function* () {
    const url = yield* ServiceUrl
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(HttpClientRequest.get(`${url}${path}`, { headers }))
    assert.strictEqual(response.headers["content-type"], "text/event-stream")
    const events = response.stream.pipe(
      Stream.decodeText,
      Stream.splitLines,
      Stream.filter((line) => !line.startsWith(":")),
      Stream.mapAccum(
        (): ReadonlyArray<string> => [],
        (lines, line): readonly [ReadonlyArray<string>, ReadonlyArray<ReadonlyArray<string>>] =>
          line === "" ? [[], lines.length === 0 ? [] : [lines]] : [[...lines, line], []]
      ),
      Stream.map((lines): SseEvent => {
        const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
        return {
          id: field("id"),
          event: field("event"),
          rows: JSON.parse(field("data") ?? "[]") as ReadonlyArray<Json>
        }
      }),
      Stream.takeUntil(isEnough),
      Stream.runCollect
    )
    return yield* Effect.forkChild(Waits.named(`the last event of ${path}`)(events), { startImmediately: true })
  })

const services = serviceLayer().pipe(Layer.provideMerge(TestStore.layer))

layer(services, { excludeTestServices: true })("what people see of a run", (it) => {
  it.effect("rollouts by their words, whole with the policies that sampled them", () =>
    Effect.gen(function* () {
      yield* started("words")
      const calls = [{ from: 30, to: 31, title: "Read a.txt", kind: "read", status: "completed", text: "“a”" }]
      const timings = [{ turns: [{ asked: 1, sent: 2, answered: 30 }], calls, scored: { from: 31, to: 35 } }, null]
      yield* submit("words", { ...SampleGroups.full, policyVersions: [3, null], itemId: "two/and two", timings })
      yield* submit("words", SampleGroups.plain(2))
      yield* indexed("words")
      const page = (yield* call("/v1/runs/words/rollouts?text=%222+2%22")).json()
      const rows = page["rows"] as ReadonlyArray<Json>
      assert.deepStrictEqual([page["total"], page["unindexed"], page["next"]], [1, 0, null])
      assert.deepInclude(rows[0], { preview: "2 + 2?", policy_step: 3, state: "queued", environment: null })
      const one = (yield* call(`/v1/runs/words/rollouts/${String(rows[0]!["id"])}`)).json()
      const { group, ...row } = one
      assert.deepStrictEqual(row, rows[0])
      assert.deepInclude(group as object, {
        policy_versions: [3, null],
        timings: [{ turns: [[1, 2, 30]], scored: [31, 35], calls }, null],
        messages: SampleGroups.full.messages
      })
      assert.deepStrictEqual((yield* call("/v1/runs/words/rollouts?text=+++")).json()["total"], 2)
      const item = (yield* call("/v1/runs/words/rollouts?item=two%2Fand%20two")).json()
      assert.deepStrictEqual([item["rows"], item["total"]], [[row], 1])
      assert.strictEqual(row["item_id"], "two/and two")
    })
  )

  it.effect("what is wrong with what they asked or told", () =>
    Effect.gen(function* () {
      const client = yield* started("wrong")
      yield* client.registerEnvironment({
        desiredName: "a",
        weight: 1,
        groupSize: 1,
        maxTokenLength: 9,
        minBatchAllocation: null
      })
      const report = { running: 0, unsent: 0, items_per_minute: 0, failures: 0, last_error: null, servers: [] }
      for (const [path, json, status, field] of [
        ["rollouts?text=%7B%7D", undefined, 422, "text"],
        [`rollouts?text=${"a".repeat(1001)}`, undefined, 422, "text"],
        ["rollouts?before=x", undefined, 422, "before"],
        ["metrics?after=-1", undefined, 422, "after"],
        ["metrics/events?after=x", undefined, 422, "after"],
        ["pieces?ids=1,b", undefined, 422, "ids"],
        ["pieces", { pieces: { a: "b" } }, 422, "pieces"],
        ["pieces", { pieces: { 2147483648: "b" } }, 422, "pieces"],
        ["pieces", { pieces: { 1: 2 } }, 422, "pieces.1"],
        ["environments/0/report", { ...report, running: -1 }, 422, "running"],
        ["environments/0/report", { ...report, last_error: {} }, 422, "last_error.at"],
        ["environments/7/report", report, 404, undefined],
        ["environments/0/report", report, 204, undefined]
      ] as const) {
        const answer = yield* call(`/v1/runs/wrong/${path}`, json === undefined ? {} : { json })
        assert.strictEqual(answer.status, status, `${path} ${answer.text}`)
        if (field !== undefined) assert.strictEqual(answer.json()["field"], field, answer.text)
      }
      for (const path of ["rollouts", "rollouts/1", "pieces", "metrics", "metrics/events", "environments", "batches"]) {
        const answer = yield* call(`/v1/runs/nobody/${path}`)
        assert.deepStrictEqual([answer.status, answer.json()["error"]], [404, "NotFound"], path)
      }
    })
  )

  it.effect("metrics as they come, and where they were after they lost the connection", () =>
    Effect.gen(function* () {
      const client = yield* started("live")
      const { recordMetrics } = Option.getOrThrow(yield* client.telemetry)
      const record = (step: number) => recordMetrics({ source: "trainer", step, values: { loss: step } })
      yield* record(1)
      const has =
        (step: number) =>
        ({ rows }: SseEvent) =>
          rows.some((row) => row["step"] === step)
      const fromNow = yield* eventsOf("/v1/runs/live/metrics/events", {}, has(3))
      yield* record(2)
      yield* record(3)
      const events = yield* Fiber.join(fromNow)
      assert.deepStrictEqual(stepsOf(events), [2, 3])
      for (const { event, id, rows } of events) assert.deepStrictEqual([event, id], ["metrics", rows.at(-1)!["id"]])
      const { metrics } = (yield* call("/v1/runs/live/metrics")).json() as { metrics: ReadonlyArray<{ id: string }> }
      const fromSecond = yield* eventsOf("/v1/runs/live/metrics/events", { "last-event-id": metrics[1]!.id }, has(4))
      const fromFirst = yield* eventsOf(`/v1/runs/live/metrics/events?after=${metrics[0]!.id}`, {}, has(4))
      const fromStart = yield* eventsOf("/v1/runs/live/metrics/events?after=0", {}, has(4))
      yield* record(4)
      assert.deepStrictEqual(stepsOf(yield* Fiber.join(fromSecond)), [3, 4])
      assert.deepStrictEqual(stepsOf(yield* Fiber.join(fromFirst)), [2, 3, 4])
      assert.deepStrictEqual(stepsOf(yield* Fiber.join(fromStart)), [1, 2, 3, 4])
    })
  )

  it.effect("an environment at work: its chats, its tokens' text, its reports, its batches", () =>
    Effect.gen(function* () {
      const run = "at-work"
      const client = yield* started(run)
      const fs = yield* FileSystem.FileSystem
      const trainer = yield* Effect.gen(function* () {
        for (let taken = 0; taken < 3;) {
          const batch = yield* client.claim({ owner: "trainer", wait: "5 minutes", lease: "1 minute" })
          if (Option.isNone(batch)) continue
          yield* client.ack(batch.value)
          taken++
        }
      }).pipe(Effect.forkChild)
      const summary = yield* Effect.gen(function* () {
        const environment = yield* Environment.Environment
        return yield* Rollout.run(environment, { spoolDirectory: yield* fs.makeTempDirectoryScoped() })
      }).pipe(Effect.provide(Layer.provideMerge(echoes(), fishes)), Effect.provide(TrajectoryClient.context(client)))
      yield* Fiber.join(trainer)
      assert.isAtLeast(summary.groupsSent, 6)
      yield* indexed(run)
      const found = (yield* call(`/v1/runs/${run}/rollouts?text=two+fish`)).json()
      assert.isAtLeast(found["total"] as number, 6)
      const [row] = found["rows"] as ReadonlyArray<Json>
      assert.match(String(row!["preview"]), /^Say \d+$/)
      assert.strictEqual(row!["environment"], "echoes_0")
      const { group } = (yield* call(`/v1/runs/${run}/rollouts/${String(row!["id"])}`)).json() as {
        group: { tokens: ReadonlyArray<ReadonlyArray<number>> }
      }
      const ids = [...new Set(group.tokens.flat())]
      const { pieces } = (yield* call(`/v1/runs/${run}/pieces?ids=${ids.join()}`)).json() as {
        pieces: { readonly [id: string]: string }
      }
      for (const sequence of group.tokens) {
        assert.strictEqual(sequence.map((id) => pieces[id]).join(""), Tokenizer.bytes.decode(sequence))
      }
      const { environments } = (yield* call(`/v1/runs/${run}/environments`)).json() as {
        environments: ReadonlyArray<Json & { report: Json }>
      }
      assert.deepInclude(environments[0]!.report, { running: 0, failures: 0, last_error: null })
      assert.deepInclude(environments[0]!, { name: "echoes_0", share: 1, connected: false })
      assert.isAbove(environments[0]!["rollouts_per_minute"] as number, 0)
      const { batches } = (yield* call(`/v1/runs/${run}/batches`)).json() as { batches: ReadonlyArray<Json> }
      assert.deepStrictEqual(
        batches.slice(-3).map(({ groups, sequences, state, step }) => [step, state, groups, sequences]),
        [3, 2, 1].map((step) => [step, "acked", 2, 4])
      )
    }).pipe(Effect.scoped, Effect.provide([NodeServices.layer, Layer.succeed(References.MinimumLogLevel, "None")]))
  )
})

const fishes = ServerManager.layerScripted(() => ["one fish", "two fish"])

/** Two answers to whatever number is asked for, the second of them right. */
const echoes = (settings: { readonly includeMessages?: boolean; readonly totalSteps?: number } = {}) =>
  Environment.layer("echoes", Environment.settings({}), ({ groupSize }) =>
    Effect.map(ServerManager.ServerManager, (servers) => ({
      items: (cursor: number) => Stream.iterate(cursor, (n) => n + 1),
      collectTrajectories: (item: number) =>
        servers.chat({ messages: [{ role: "user", content: `Say ${item}` }], n: groupSize }),
      score: (_: number, group: ReadonlyArray<unknown>) => Effect.succeed(group.map((_, index) => index))
    }))
  )({ groupSize: 2, maxNumWorkers: 2, totalSteps: 3, ...settings })
