import { assert, layer } from "@effect/vitest"
import { PackedGroup, PackedLogprobs, ScoredGroup, TrajectoryApi, WireGroup } from "@atropos/core"
import { Effect, Fiber, Layer, Result, Schedule, Stream } from "effect"
import { HttpBody, HttpClient } from "effect/http"
import { gzipSync, zstdCompressSync } from "node:zlib"
import * as PrometheusText from "../../../core/test/metrics/PrometheusText.ts"
import * as RequestBody from "../../src/http/RequestBody.ts"
import * as SampleGroups from "../SampleGroups.ts"
import { call, layer as serviceLayer, ServiceUrl } from "../TestService.ts"
import * as ServiceMetrics from "../../src/metrics/ServiceMetrics.ts"
import { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"
import * as TestStore from "../TestStore.ts"

const packedType = TrajectoryApi.packedContentType

const runSpec = (name: string) => ({
  name,
  batch_size: 4,
  max_token_length: 64,
  starting_step: 0,
  num_steps: 100,
  checkpoint_dir: "/c",
  save_checkpoint_interval: 5,
  wandb_group: "g",
  wandb_project: "p"
})

const environment = { desired_name: "add", weight: 1, group_size: 2, max_token_length: 64, min_batch_allocation: null }

const claim = (run: string, options: { wait?: number; lease?: number; accept?: string } = {}) =>
  call(`/v1/runs/${run}/batches/claim`, {
    json: { owner: "t", wait_seconds: options.wait ?? 0, lease_seconds: options.lease ?? 60 },
    headers: { accept: options.accept ?? "application/json" }
  })

/** A started run with one environment, id 0. */
const started = Effect.fnUntraced(function* (name: string) {
  assert.strictEqual((yield* call("/v1/runs", { json: runSpec(name) })).status, 200)
  assert.strictEqual((yield* claim(name)).status, 204)
  assert.strictEqual((yield* call(`/v1/runs/${name}/environments`, { json: environment })).status, 200)
})

const jsonItem = (group: ScoredGroup.ScoredGroup, key = crypto.randomUUID()) => ({
  key,
  group: JSON.parse(WireGroup.encode({ ...group, envId: 0 })) as unknown
})
const packed = (group: ScoredGroup.ScoredGroup) => PackedGroup.encode({ ...group, envId: 0 })
const packedList = (...groups: ReadonlyArray<ScoredGroup.ScoredGroup>) =>
  PackedGroup.encodeList(groups.map((group) => ({ key: crypto.randomUUID(), bytes: packed(group) })))
const submitPacked = (run: string, bytes: Uint8Array, headers: { readonly [name: string]: string } = {}) =>
  call(`/v1/runs/${run}/groups`, { bytes, headers: { "content-type": packedType, ...headers } })

const json = (value: unknown) => ({ json: value })
const raw = (text: string) => ({
  bytes: new TextEncoder().encode(text),
  headers: { "content-type": "application/json" }
})
const rows = (answer: { json: () => Record<string, unknown> }) =>
  answer.json()["rows"] as ReadonlyArray<Record<string, unknown>>

const services = serviceLayer().pipe(
  Layer.provideMerge(TestStore.layer),
  Layer.provide(
    Layer.succeed(RequestBody.Limits, {
      maxBodyBytes: 200_000,
      maxDecodedBytes: 400_000,
      maxFormBytes: 100_000,
      maxBytesAtOnce: 2_000_000,
      maxGroups: 3,
      maxGroupBytes: 90_000,
      maxSequences: 8,
      maxTokensPerSequence: 1000
    })
  )
)

layer(services, { excludeTestServices: true })("versioned endpoints", (it) => {
  it.effect("tell of no more in /metrics than anybody reads, and how much is left out", () =>
    Effect.gen(function* () {
      const store = yield* TrajectoryStore
      const { length: before } = yield* store.runs
      const names = Array.from({ length: 130 }, (_, i) => `many-${i}`)
      yield* Effect.forEach(names, (name) => call("/v1/runs", { json: runSpec(name) }), { concurrency: 8 })
      const values = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`figure_${i}`, i]))
      const sources = Array.from({ length: 12 }, (_, i) => `source-${i}`)
      yield* Effect.forEach(sources, (source) =>
        call("/v1/runs/many-129/metrics", { json: { source, step: 0, values } })
      )
      const { text } = yield* call("/metrics")
      const samples = (name: string) => text.split("\n").filter((line) => line.startsWith(`${name}{`))
      assert.lengthOf(samples("atropos_run_step"), 100)
      assert.lengthOf(samples("atropos_reported_value"), 10_000)
      assert.include(text, `atropos_metrics_left_out{what="runs"} ${before + 30}`)
      assert.include(text, 'atropos_metrics_left_out{what="reported values"} 2000')
      for (let i = 0; i < 600; i++) yield* ServiceMetrics.batch(`labels-${i}`, "claimed")
      const counted = (yield* call("/metrics")).text
        .split("\n")
        .filter((line) => line.startsWith("atropos_batches_total{"))
      assert.isAtMost(counted.length, 510)
      assert.isTrue(counted.some((line) => line.includes(ServiceMetrics.other)))
      yield* Effect.forEach(names, (name) => store.reset(name), { concurrency: 8 })
    })
  )

  it.effect("refuse the character 0 in names and texts with 400", () =>
    Effect.gen(function* () {
      yield* call("/v1/runs", { json: runSpec("nul") })
      const nul = "a\0b"
      const original = {
        batch_size: 4,
        max_token_len: 512,
        save_checkpoint_interval: 1,
        starting_step: 0,
        num_steps: 10
      }
      const environment = { desired_name: nul, weight: 1, group_size: 4, max_token_length: 100 }
      const tried: ReadonlyArray<readonly [path: string, json?: unknown]> = [
        ["/register", { ...original, wandb_group: nul, wandb_project: "", checkpoint_dir: "" }],
        ["/register-env", environment],
        ["/v1/runs", { ...runSpec("nul-too"), checkpoint_dir: nul }],
        ["/v1/runs/nul/batches/claim", { owner: nul, wait_seconds: 0, lease_seconds: 1 }],
        ["/v1/runs/nul/metrics", { source: "s", step: 1, values: { [nul]: 1 } }],
        ["/v1/runs/nul/rollouts?environment=a%00b"],
        ["/v1/runs/nul/rollouts?text=a%00b"],
        ["/v1/runs/nul/metrics?source=a%00b"],
        ["/v1/runs/a%00b"]
      ]
      for (const [path, json] of tried) {
        const refused = yield* call(path, json === undefined ? {} : { json })
        assert.strictEqual(refused.status, 400, `${path} ${refused.text}`)
      }
      const kept = yield* call("/v1/runs/nul/state/e", { method: "PUT", json: { step: 1, value: { text: nul } } })
      assert.strictEqual(kept.status, 204)
      assert.deepStrictEqual((yield* call("/v1/runs/nul/state/e")).json(), { step: 1, value: { text: nul } })
    })
  )

  it.effect("refuse what a client says of itself that others would be reckoned with", () =>
    Effect.gen(function* () {
      yield* call("/v1/runs", { json: runSpec("bounds") })
      yield* call("/v1/runs/bounds/batches/claim", { json: { owner: "t", wait_seconds: 0, lease_seconds: 1 } })
      const environment = {
        desired_name: "e",
        weight: 1,
        group_size: 4,
        max_token_length: 100,
        min_batch_allocation: null
      }
      const original = {
        wandb_group: "",
        wandb_project: "",
        batch_size: 4,
        max_token_len: 512,
        checkpoint_dir: "",
        save_checkpoint_interval: 1,
        starting_step: 0,
        num_steps: 10
      }
      const { min_batch_allocation: _, ...plain } = environment
      const tried: ReadonlyArray<readonly [path: string, json: unknown, field: string]> = [
        ["/v1/runs", { ...runSpec("late"), starting_step: 2 ** 53 - 1 }, "starting_step"],
        ["/v1/runs", { ...runSpec("late"), num_steps: 2 ** 40 }, "num_steps"],
        ["/v1/runs/bounds/environments", { ...environment, group_size: 2_147_483_647 }, "group_size"],
        ["/v1/runs/bounds/environments", { ...environment, weight: 1e308 }, "weight"],
        ["/register-env", { ...plain, group_size: 2_147_483_647 }, "group_size"],
        ["/register-env", { ...plain, weight: 1e308 }, "weight"],
        ["/register-env", { ...plain, weight: -1e308 }, "weight"],
        ["/register-env", { ...plain, min_batch_allocation: 1e300 }, "min_batch_allocation"],
        ["/register-env", { ...plain, max_token_length: 2_147_483_647 }, "max_token_length"],
        ["/register-env", { ...plain, desired_name: "n".repeat(5000) }, "desired_name"],
        ["/register", { ...original, batch_size: 2_147_483_647 }, "batch_size"],
        ["/register", { ...original, starting_step: 2 ** 53 - 1 }, "starting_step"],
        ["/register", { ...original, checkpoint_dir: "/".repeat(5000) }, "checkpoint_dir"]
      ]
      for (const [path, json, field] of tried) {
        const refused = yield* call(path, { json })
        assert.strictEqual(refused.status, 422, `${path} ${field}`)
        assert.include(refused.text, field)
      }
      assert.strictEqual((yield* call("/v1/runs")).status, 200)
    })
  )

  it.effect("list, show and reset runs", () =>
    Effect.gen(function* () {
      const created = yield* call("/v1/runs", { json: runSpec("runs") })
      assert.deepInclude(created.json(), {
        name: "runs",
        batch_size: 4,
        current_step: 0,
        registered: true,
        started: false
      })
      const again = yield* call("/v1/runs", { json: { ...runSpec("runs"), batch_size: 8 } })
      assert.deepInclude(again.json(), { batch_size: 4 })
      assert.deepInclude((yield* call("/v1/runs/runs")).json(), { name: "runs", wandb_project: "p" })
      assert.include((yield* call("/v1/runs")).text, '"name":"runs"')
      assert.strictEqual((yield* call("/v1/runs/runs/reset", { method: "POST" })).status, 204)
    })
  )

  it.effect("say what is wrong with a request, and in which field", () =>
    Effect.gen(function* () {
      yield* started("wrong")
      const cases = [
        [{ json: { ...runSpec("x"), batch_size: 0 } }, "/v1/runs", 422, "Invalid", "batch_size"],
        [{ json: { ...runSpec("x"), batch_size: "four" } }, "/v1/runs", 422, "Invalid", "batch_size"],
        [{ json: { ...runSpec("x"), name: "a b" } }, "/v1/runs", 422, "Invalid", "name"],
        [
          { bytes: new TextEncoder().encode("{"), headers: { "content-type": "application/json" } },
          "/v1/runs",
          400,
          "BadRequest",
          undefined
        ],
        [{}, "/v1/runs/nobody", 404, "NotFound", undefined],
        [{}, "/v1/runs/nobody/summary", 404, "NotFound", undefined],
        [{}, "/v1/runs/nobody/events", 404, "NotFound", undefined],
        [{}, "/v1/runs/wrong/environments/9/status", 404, "NotFound", undefined],
        [{}, "/v1/runs/wrong/environments/9/events", 404, "NotFound", undefined],
        [{}, "/v1/runs/wrong/environments/nine/status", 422, "Invalid", "env_id"],
        [{}, "/v1/runs/wrong/rollouts/999999", 404, "NotFound", undefined],
        [{}, "/v1/runs/wrong/rollouts?limit=0", 422, "Invalid", "limit"],
        [{}, "/v1/runs/wrong/rollouts?score_from=much", 422, "Invalid", "score_from"],
        [{}, "/v1/runs/wrong/state/add_9", 404, "NotFound", undefined],
        [
          { json: { lease_token: crypto.randomUUID() } },
          "/v1/runs/wrong/batches/1234567/ack",
          409,
          "LeaseLost",
          undefined
        ],
        [
          { json: { owner: "t", wait_seconds: 301, lease_seconds: 1 } },
          "/v1/runs/wrong/batches/claim",
          422,
          "Invalid",
          "wait_seconds"
        ],
        [
          { json: { source: "t", step: 1, values: { loss: "low" } } },
          "/v1/runs/wrong/metrics",
          422,
          "Invalid",
          "values.loss"
        ],
        [
          {
            method: "PUT",
            bytes: new Uint8Array(16 * 1024 * 1024 + 1).fill(0x20),
            headers: { "content-type": "application/json" }
          },
          "/v1/runs/wrong/state/add_0",
          413,
          "TooLarge",
          undefined
        ],
        [{}, "/v1/nothing/here", 404, "NotFound", undefined],
        [{ method: "PUT", json: {} }, "/v1/runs", 404, "NotFound", undefined]
      ] as const
      for (const [options, path, status, error, field] of cases) {
        const answer = yield* call(path, options)
        assert.strictEqual(answer.status, status, `${path}: ${answer.text}`)
        const body = answer.json()
        assert.strictEqual(body["error"], error, path)
        assert.strictEqual(body["field"], field, `${path}: ${answer.text}`)
        assert.isString(body["message"])
      }
    })
  )

  it.effect("stop reading a body of unknown length when it is too large", () =>
    Effect.gen(function* () {
      const url = yield* ServiceUrl
      const client = yield* HttpClient.HttpClient
      const endless = Stream.repeat(Stream.succeed(new Uint8Array(64 * 1024).fill(0x20)), Schedule.forever)
      const response = yield* client.post(`${url}/v1/runs`, { body: HttpBody.stream(endless, "application/json") })
      assert.strictEqual(response.status, 413)
      assert.include(yield* response.text, "TooLarge")
    })
  )

  it.effect("refuse submissions that are wrong, whole, with the place of the mistake", () =>
    Effect.gen(function* () {
      yield* started("refuse")
      const good = SampleGroups.plain(2)
      const long = SampleGroups.plain(1, 0, 1001)
      const bytes = (value: Uint8Array, headers: { readonly [name: string]: string } = {}) => ({
        bytes: value,
        headers: { "content-type": packedType, ...headers }
      })
      const cut = packedList(good, good)
      const cases = [
        [json({ group: jsonItem(good).group }), 422, "key"],
        [json({ ...jsonItem(good), key: "not-a-uuid" }), 422, "key"],
        [json([jsonItem(good), { ...jsonItem(good), key: 5 }]), 422, "1.key"],
        [json([jsonItem(good), jsonItem({ ...good, masks: [] })]), 422, "1.group.masks"],
        [json({ ...jsonItem(good), policy_versions: [1] }), 422, "policy_versions"],
        [json({ ...jsonItem(good), item_id: 7 }), 422, "item_id"],
        [json([{ ...jsonItem(good), item_id: "a\nb" }]), 422, "0.item_id"],
        [json([1]), 422, "0"],
        [json([1, 2, 3, 4].map(() => jsonItem(good))), 422, "groups"],
        [json(jsonItem(SampleGroups.plain(9))), 422, "group.tokens"],
        [json(jsonItem(long)), 422, "group.tokens.0"],
        [raw(`{"key":"${crypto.randomUUID()}","group":{"tokens":[[1]],"masks":[[1]],"scores":[NaN]}}`), 422, "body"],
        [raw("{"), 400, undefined],
        [bytes(packed(good)), 422, "Idempotency-Key"],
        [bytes(packedList(good, { ...good, scores: Float64Array.of(1, Infinity) })), 422, "groups.1.scores.1"],
        [
          bytes(
            packedList(good, {
              ...good,
              tokens: [Int32Array.of(-1), Int32Array.of(2)],
              masks: [Uint8Array.of(0), Uint8Array.of(1)]
            })
          ),
          422,
          "groups.1.tokens.0.0"
        ],
        [bytes(packedList(good, good, good, good)), 422, "groups"],
        [bytes(packedList(SampleGroups.plain(9))), 422, "groups.0.tokens"],
        [bytes(packedList(long)), 422, "groups.0.tokens.0"],
        [bytes(cut.subarray(0, cut.length - 40)), 400, "index.1"],
        [bytes(new Uint8Array(5), { "idempotency-key": crypto.randomUUID() }), 422, "group.prelude"],
        [bytes(packedList(good), { "content-encoding": "br" }), 400, "Content-Encoding"],
        [bytes(packedList(good), { "content-encoding": "gzip" }), 400, "Content-Encoding"],
        [bytes(packedList(good), { "content-encoding": "zstd" }), 400, "Content-Encoding"],
        [bytes(packedList(good), { "content-type": "text/plain" }), 400, "Content-Type"],
        [bytes(new Uint8Array(200_001)), 413, undefined],
        [bytes(zstdCompressSync(new Uint8Array(400_001)), { "content-encoding": "zstd" }), 413, undefined],
        [bytes(gzipSync(new Uint8Array(400_001)), { "content-encoding": "gzip" }), 413, undefined],
        [bytes(packedList(SampleGroups.plain(8, 0, 1000))), 413, undefined]
      ] as const
      for (const [options, status, field] of cases) {
        const answer = yield* call("/v1/runs/refuse/groups", options)
        assert.strictEqual(answer.status, status, `${String(field)}: ${answer.text}`)
        assert.strictEqual(answer.json()["field"], field, answer.text)
      }
      assert.strictEqual((yield* call("/v1/runs/nobody/groups", { json: jsonItem(good) })).status, 404)
      assert.deepInclude((yield* call("/v1/runs/refuse/summary")).json(), { queued_groups: 0, buffered_groups: 0 })
    })
  )

  it.effect("take groups in every form, and give them back equal in both", () =>
    Effect.gen(function* () {
      const { full } = SampleGroups
      const withEnv = { ...full, envId: 0 }
      const list = packedList(full)
      const forms = {
        json: call("/v1/runs/forms/groups", { json: jsonItem(full) }),
        jsonList: call("/v1/runs/forms/groups", { json: [jsonItem(full)] }),
        packed: submitPacked("forms", packed(full), { "idempotency-key": crypto.randomUUID() }),
        packedList: submitPacked("forms", packedList(full)),
        gzip: submitPacked("forms", gzipSync(list), { "content-encoding": "gzip" }),
        zstd: submitPacked("forms", zstdCompressSync(packedList(full)), { "content-encoding": "zstd" }),
        original: call("/scored_data", { json: jsonItem(full).group })
      }
      yield* started("forms")
      for (const [form, send] of Object.entries(forms)) {
        if (form === "original") continue
        const answer = yield* send
        assert.deepStrictEqual(answer.json(), { outcomes: [{ status: "received" }] }, form)
      }
      for (let i = 0; i < 3; i++) {
        const asJson = i % 2 === 0
        const batch = yield* claim("forms", { accept: asJson ? "application/json" : packedType })
        assert.strictEqual(batch.status, 200)
        const groups = asJson
          ? (batch.json()["groups"] as ReadonlyArray<unknown>).map((group) =>
              Result.getOrThrow(WireGroup.decode(group))
            )
          : Result.getOrThrow(PackedGroup.decodeList(batch.bytes)).map(({ bytes }) =>
              Result.getOrThrow(PackedGroup.decode(bytes))
            )
        assert.deepStrictEqual(SampleGroups.plainValues(groups), SampleGroups.plainValues([withEnv, withEnv]))
      }
    })
  )

  it.effect("store a key once", () =>
    Effect.gen(function* () {
      yield* started("once")
      const item = jsonItem(SampleGroups.plain(2))
      const first = yield* call("/v1/runs/once/groups", { json: item })
      const second = yield* call("/v1/runs/once/groups", { json: [item] })
      const third = yield* submitPacked("once", packed(SampleGroups.plain(2)), { "idempotency-key": item.key })
      assert.deepStrictEqual(first.json(), { outcomes: [{ status: "received" }] })
      assert.deepStrictEqual(second.json(), { outcomes: [{ status: "duplicate" }] })
      assert.deepStrictEqual(third.json(), { outcomes: [{ status: "duplicate" }] })
      assert.deepInclude((yield* call("/v1/runs/once/summary")).json(), { queued_groups: 1 })
    })
  )

  it.effect("keep a batch as long as its lease is extended", () =>
    Effect.gen(function* () {
      yield* started("extend")
      yield* submitPacked("extend", packedList(SampleGroups.plain(2), SampleGroups.plain(2)))
      const batch = (yield* claim("extend", { lease: 30 })).json()
      const lease = { lease_token: batch["lease_token"] }
      const path = `/v1/runs/extend/batches/${String(batch["id"])}`
      assert.strictEqual((yield* call(`${path}/extend`, { json: { ...lease, lease_seconds: 60 } })).status, 204)
      const other = { lease_token: crypto.randomUUID(), lease_seconds: 60 }
      assert.strictEqual((yield* call(`${path}/extend`, { json: other })).status, 409)
      assert.strictEqual((yield* call(`${path}/nack`, { json: other })).status, 409)
      assert.strictEqual((yield* claim("extend")).status, 204)
      assert.strictEqual((yield* call(`${path}/ack`, { json: lease })).status, 204)
      assert.strictEqual((yield* call(`${path}/ack`, { json: lease })).status, 204)
      assert.strictEqual((yield* call(`${path}/ack`, { json: other })).status, 409)
    })
  )

  it.effect("keep no batch for a trainer that hung up while it waited", () =>
    Effect.gen(function* () {
      yield* started("hung-up")
      const waiting = yield* Effect.forkChild(claim("hung-up", { wait: 60 }), { startImmediately: true })
      // The request is on its way when another one, sent after it, has been answered.
      yield* call("/v1/health/ready")
      yield* Fiber.interrupt(waiting)
      yield* submitPacked("hung-up", packedList(SampleGroups.plain(2), SampleGroups.plain(2)))
      const batch = yield* claim("hung-up", { wait: 5 })
      assert.strictEqual(batch.status, 200)
      assert.strictEqual((yield* claim("hung-up")).status, 204)
    })
  )

  it.effect("push the summary when it changes", () =>
    Effect.gen(function* () {
      yield* started("events")
      const url = yield* ServiceUrl
      const client = yield* HttpClient.HttpClient
      const response = yield* client.get(`${url}/v1/runs/events/events`)
      assert.strictEqual(response.headers["content-type"], "text/event-stream")
      const seen = yield* Effect.forkChild(
        response.stream.pipe(
          Stream.decodeText,
          Stream.splitLines,
          Stream.filter((line) => line.startsWith("data: ")),
          Stream.map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>),
          Stream.takeUntil((summary) => summary["queued_sequences"] === 2),
          Stream.runCollect
        ),
        { startImmediately: true }
      )
      yield* submitPacked("events", packedList(SampleGroups.plain(2)))
      const summaries = yield* Fiber.join(seen)
      assert.deepInclude(summaries.at(-1)!, { queued_groups: 1, queued_sequences: 2, current_step: 0 })
    })
  )

  it.effect("page through rollouts by environment, step and score", () =>
    Effect.gen(function* () {
      yield* started("browse")
      for (const score of [0, 10, 20]) yield* submitPacked("browse", packedList(SampleGroups.plain(2, score)))
      const all = yield* call("/v1/runs/browse/rollouts?environment=add_0&limit=2")
      assert.deepStrictEqual(
        rows(all).map((row) => [row["environment"], row["scores"], row["sequences"], row["tokens"]]),
        [
          ["add_0", [20, 21], 2, 12],
          ["add_0", [10, 11], 2, 12]
        ]
      )
      const next = yield* call(`/v1/runs/browse/rollouts?limit=2&before=${String(all.json()["next"])}`)
      assert.deepStrictEqual(
        rows(next).map((row) => row["scores"]),
        [[0, 1]]
      )
      assert.isNull(next.json()["next"])
      const scored = yield* call("/v1/runs/browse/rollouts?score_from=9&score_to=12")
      assert.deepStrictEqual(
        rows(scored).map((row) => row["scores"]),
        [[10, 11]]
      )
      assert.deepStrictEqual(rows(yield* call("/v1/runs/browse/rollouts?environment=nobody")), [])
      const one = yield* call(`/v1/runs/browse/rollouts/${String(rows(next)[0]!["id"])}`)
      assert.deepInclude(one.json(), { scores: [0, 1], sequences: 2, env_id: 0 })
      assert.deepInclude(one.json()["group"] as object, { scores: [0, 1], env_id: 0 })
      const asPacked = yield* call(`/v1/runs/browse/rollouts/${String(rows(next)[0]!["id"])}`, {
        headers: { accept: packedType }
      })
      assert.deepStrictEqual(asPacked.bytes, packed(SampleGroups.plain(2)))
    })
  )

  it.effect("take metrics, give them back, and tell Prometheus", () =>
    Effect.gen(function* () {
      yield* started("metered")
      for (const step of [1, 2]) {
        const sent = yield* call("/v1/runs/metered/metrics", {
          json: { source: "trainer", step, values: { loss: step / 4 } }
        })
        assert.strictEqual(sent.status, 204)
      }
      yield* submitPacked("metered", packedList(SampleGroups.plain(2)))
      const { metrics } = (yield* call("/v1/runs/metered/metrics?from_step=2&source=trainer")).json()
      assert.deepInclude((metrics as ReadonlyArray<object>)[0]!, { source: "trainer", step: 2, values: { loss: 0.5 } })
      const { headers, text } = yield* call("/metrics")
      assert.include(headers["content-type"]!, "text/plain")
      for (const line of [
        'atropos_queue_groups{run="metered"} 1',
        'atropos_queue_sequences{run="metered"} 2',
        'atropos_batches_leased{run="metered"} 0',
        'atropos_reported_value{run="metered",source="trainer",name="loss"} 0.5',
        'atropos_groups_submitted_total{run="metered",outcome="received"} 1'
      ]) {
        assert.include(text.split("\n"), line)
      }
      assert.match(
        text,
        /atropos_http_request_seconds_bucket\{method="POST",route="\/v1\/runs\/:run\/groups",status="2xx",le="[\d.]+"\}/
      )
      assert.match(text, /atropos_event_loop_delay_seconds\{quantile="0.99"\} [\d.e-]+/)
      // Whatever else a run and a figure are called, Prometheus can read it.
      yield* call("/v1/runs/metered/metrics", {
        json: { source: "trainer", step: 3, values: { 'odd "name"\\\n': -1e-300, huge: 1e300 } }
      })
      // What is no number costs the others nothing.
      const mixed = yield* call("/v1/runs/metered/metrics", {
        json: { source: "worn", step: 3, values: { loss: "NaN", norm: "-Infinity", lost: null, word: "low", kl: 0.5 } }
      })
      assert.strictEqual(mixed.status, 200)
      assert.deepStrictEqual(Object.keys((mixed.json() as { readonly left_out: object }).left_out), ["word"])
      const kept = (yield* call("/v1/runs/metered/metrics?source=worn")).json()
      assert.deepInclude((kept["metrics"] as ReadonlyArray<object>)[0]!, {
        values: { loss: "NaN", norm: "-Infinity", lost: "NaN", kl: 0.5 }
      })
      const samples = PrometheusText.parse((yield* call("/metrics")).text)
      const worn = new Map(
        samples.flatMap(({ labels, value }) => (labels["source"] === "worn" ? [[labels["name"], value] as const] : []))
      )
      assert.deepStrictEqual(Object.fromEntries(worn), {
        loss: Number.NaN,
        norm: Number.NEGATIVE_INFINITY,
        lost: Number.NaN,
        kl: 0.5
      })
      assert.deepInclude(
        samples.map(({ labels, value }) => ({ name: labels["name"], value })),
        { name: 'odd "name"\\\n', value: -1e-300 }
      )
    })
  )

  it.effect("show beside a group what its trainer computed, and refuse what is no record of that", () =>
    Effect.gen(function* () {
      yield* started("trained")
      const submitted = yield* submitPacked("trained", packedList(SampleGroups.plain(2), SampleGroups.plain(2)))
      assert.strictEqual(submitted.status, 200)
      const batch = (yield* claim("trained")).json()
      const address = `/v1/runs/trained/batches/${String(batch["id"])}/logprobs`
      const record = {
        leaseToken: String(batch["lease_token"]),
        policyVersion: 3,
        rows: [{ group: 0, sequence: 1, from: 2, logprobs: Float32Array.of(-0.1, -2) }]
      }
      const type = { "content-type": TrajectoryApi.logprobsContentType }
      const put = (bytes: Uint8Array, headers = type) => call(address, { method: "PUT", bytes, headers })
      assert.strictEqual((yield* put(PackedLogprobs.encode(record))).status, 204)
      const [, first] = rows(yield* call("/v1/runs/trained/rollouts"))
      const { group } = (yield* call(`/v1/runs/trained/rollouts/${String(first!["id"])}`)).json() as {
        group: Record<string, unknown>
      }
      assert.deepStrictEqual(group["trainer_logprobs"], [null, [1, 1, Number(Math.fround(-0.1).toPrecision(9)), -2]])
      assert.strictEqual(group["trainer_version"], 3)
      const cut = yield* put(PackedLogprobs.encode(record).subarray(0, 40))
      assert.deepStrictEqual([cut.status, cut.json()["error"]], [422, "Invalid"])
      const asJson = yield* put(PackedLogprobs.encode(record), { "content-type": "application/json" })
      assert.strictEqual(asJson.status, 400)
      const lost = yield* put(PackedLogprobs.encode({ ...record, leaseToken: crypto.randomUUID() }))
      assert.deepStrictEqual([lost.status, lost.json()["error"]], [409, "LeaseLost"])
    })
  )

  it.effect("tell that they live and are ready, and describe themselves", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* call("/v1/health/live")).json(), { status: "live", api: "v1" })
      assert.deepStrictEqual((yield* call("/v1/health/ready")).json(), { status: "ready", api: "v1" })
      const paths = (yield* call("/v1/openapi.json")).json()["paths"] as Record<
        string,
        { get?: unknown; post?: unknown }
      >
      // Of the original's endpoints those are described that there are, under the methods that they have.
      const original = Object.entries(paths).filter(([path]) => !path.startsWith("/v1/"))
      assert.lengthOf(original, 13)
      for (const [path, methods] of original.filter(([path]) => !["/batch", "/reset_data"].includes(path))) {
        for (const method of ["GET", "POST"] as const) {
          const isThere = (yield* call(path, { method })).status !== 405
          assert.strictEqual(isThere, methods[method === "GET" ? "get" : "post"] !== undefined, `${method} ${path}`)
        }
      }
      const ours = Object.keys(paths).filter((path) => path.startsWith("/v1/"))
      assert.sameMembers(ours, [
        "/v1/caller",
        "/v1/console",
        "/v1/health/live",
        "/v1/runs/{run}/notes",
        "/v1/runs/{run}/rollouts/{id}/note",
        "/v1/health/ready",
        "/v1/runs",
        "/v1/runs/{run}",
        "/v1/runs/{run}/reset",
        "/v1/runs/{run}/summary",
        "/v1/runs/{run}/events",
        "/v1/runs/{run}/environments",
        "/v1/runs/{run}/environments/{envId}/disconnect",
        "/v1/runs/{run}/environments/{envId}/status",
        "/v1/runs/{run}/environments/{envId}/events",
        "/v1/runs/{run}/state/{environment}",
        "/v1/runs/{run}/groups",
        "/v1/runs/{run}/rollouts",
        "/v1/runs/{run}/rollouts/{id}",
        "/v1/runs/{run}/distribution",
        "/v1/runs/{run}/settings",
        "/v1/runs/{run}/batches/claim",
        "/v1/runs/{run}/batches/{id}/ack",
        "/v1/runs/{run}/batches/{id}/nack",
        "/v1/runs/{run}/batches/{id}/extend",
        "/v1/runs/{run}/batches/{id}/logprobs",
        "/v1/runs/{run}/batches/{id}/trained",
        "/v1/runs/{run}/environments/{envId}/begin",
        "/v1/runs/{run}/metrics",
        "/v1/runs/{run}/metrics/events",
        "/v1/runs/{run}/pieces",
        "/v1/runs/{run}/batches",
        "/v1/runs/{run}/environments/{envId}/report",
        "/v1/evaluations",
        "/v1/evaluations/{id}",
        "/v1/evaluations/{id}/samples",
        "/v1/evaluations/{id}/samples/{number}"
      ])
      const docs = yield* call("/v1/docs")
      assert.strictEqual(docs.status, 200)
      assert.notMatch(docs.text, /<script[^>]+src=/)
    })
  )
})
