import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { createConnection } from "node:net"
import { gunzipSync, gzipSync } from "node:zlib"
import * as Waits from "../../../core/test/base/Waits.ts"
import { Limits } from "../../src/http/RequestBody.ts"
import { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"
import { layer as store } from "../TestStore.ts"
import { get, json, layer as server, port, post, send } from "./V0Server.ts"

const run = {
  wandb_group: "g",
  wandb_project: "p",
  batch_size: 2,
  max_token_len: 512,
  checkpoint_dir: "/c",
  save_checkpoint_interval: 5,
  starting_step: 0,
  num_steps: 100
}
const environment = { max_token_length: 512, desired_name: "add", weight: 1, group_size: 2, min_batch_allocation: null }
const group = (tag: number, length = 2) => ({
  tokens: Array.from({ length: 2 }, (_, i) => Array.from({ length }, () => tag + i)),
  masks: Array.from({ length: 2 }, (_, i) => Array.from({ length }, () => tag + i)),
  scores: [0.5, -1]
})
const absent = {
  advantages: null,
  ref_logprobs: null,
  messages: null,
  generation_params: null,
  inference_logprobs: null,
  overrides: null,
  group_overrides: null,
  images: null,
  env_id: null,
  distill_token_ids: null,
  distill_logprobs: null
}

/** A run with its trainer polling, nothing in the queue. */
const started = Effect.gen(function* () {
  yield* get("/reset_data")
  yield* post("/register", run)
  yield* get("/batch")
})

/** Status, and the body as JSON where it is. */
const ask = (method: string, path: string, body?: string, type?: string) =>
  Effect.map(
    send(method, path, {
      ...(body !== undefined && { body }),
      ...(type && { headers: { "content-type": type } })
    }),
    ({ json, status, text }) => [status, text.startsWith("{") ? json() : text]
  )

/** The original's body of one mistake. */
const detail = (type: string, loc: ReadonlyArray<unknown>, msg: string, input: unknown, ctx?: unknown) => ({
  detail: [{ type, loc, msg, input, ...(ctx !== undefined && { ctx }) }]
})

const details = (value: unknown) => (value as { readonly detail: unknown }).detail

const tooLong = (loc: ReadonlyArray<unknown>, maximum: number, actual: number) => [
  422,
  [
    {
      type: "too_long",
      loc,
      msg: `List should have at most ${maximum} items after validation, not ${actual}`,
      input: actual,
      ctx: { field_type: "List", max_length: maximum, actual_length: actual }
    }
  ]
]

const preflight = (origin: string) =>
  send("OPTIONS", "/batch", {
    headers: {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "authorization"
    }
  })

const suite = (options?: Parameters<typeof server>[1]) =>
  layer(server(Layer.fresh(store), options), { excludeTestServices: true })

suite()("the original's endpoints", (it) => {
  it.effect("go through a session", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* json(get("/wandb_info")), { group: null, project: null })
      assert.hasAllKeys(yield* json(post("/register", run)), ["uuid"])
      assert.deepStrictEqual(yield* json(get("/wandb_info")), { group: "g", project: "p" })
      assert.deepStrictEqual(yield* json(post("/register-env", environment)), { status: "wait for trainer to start" })
      assert.deepStrictEqual(yield* json(get("/batch")), { batch: null })
      assert.deepStrictEqual(yield* json(post("/register-env", environment)), {
        status: "success",
        env_id: 0,
        wandb_name: "add_0",
        checkpoint_dir: "/c",
        starting_step: 0,
        checkpoint_interval: 5,
        num_steps: 100
      })
      assert.deepStrictEqual(yield* json(get("/info")), { batch_size: 2, max_token_len: 512 })
      assert.deepStrictEqual(yield* json(post("/scored_data", { ...group(1), env_id: 0 })), { status: "received" })
      assert.deepStrictEqual(yield* json(get("/status")), { current_step: 0, queue_size: 1 })
      const status = yield* json(send("GET", "/status-env", { body: '{"env_id":0}' }))
      assert.deepStrictEqual(yield* json(get("/status-env?env_id=0")), status)
      assert.hasAllKeys(status, [
        "current_step",
        "queue_size",
        "unallocated_fraction",
        "self_queue_size",
        "max_group_size",
        "env_weight"
      ])
      assert.deepStrictEqual(yield* json(get("/batch")), { batch: [{ ...group(1), ...absent, env_id: 0 }] })
      assert.deepStrictEqual(yield* json(get("/batch")), { batch: null })
      assert.deepStrictEqual(yield* json(get("/latest_example")), { ...group(1), ...absent, env_id: 0 })
      assert.deepStrictEqual(yield* json(post("/disconnect-env", { env_id: 0 })), { status: "success" })
      const reset = yield* send("POST", "/reset_data")
      assert.deepStrictEqual([reset.status, reset.text], [200, "Reset successful"])
      assert.deepStrictEqual(yield* json(get("/status")), { current_step: 0, queue_size: 0 })
    })
  )

  it.effect("serve batches oldest first, one step each", () =>
    Effect.gen(function* () {
      yield* started
      yield* post("/scored_data_list", [group(10), group(20), group(30)])
      for (const tag of [10, 20, 30]) {
        assert.deepStrictEqual(yield* json(get("/batch")), { batch: [{ ...group(tag), ...absent }] })
        assert.deepInclude(yield* json(get("/status")), { current_step: tag / 10 })
      }
    })
  )

  it.effect("take gzip, and refuse what is none", () =>
    Effect.gen(function* () {
      yield* started
      const zipped = gzipSync(JSON.stringify(group(7)))
      const headers = { "content-encoding": "GZIP" }
      const to = (body: Uint8Array) => send("POST", "/scored_data", { body, headers })
      assert.deepStrictEqual((yield* to(zipped)).json(), { status: "received" })
      for (const body of [zipped.subarray(0, -9), Buffer.from("{}"), Buffer.from(zipped).fill(1, 12, 20)]) {
        const refused = yield* to(body)
        assert.deepStrictEqual([refused.status, refused.text], [400, "Invalid gzip payload"])
      }
      assert.strictEqual((yield* to(new Uint8Array())).status, 422)
      const large = gzipSync(JSON.stringify(group(7, 20_000)))
      assert.deepStrictEqual((yield* to(large)).json(), { status: "received" })
    })
  )

  it.effect("compress large replies for those who take it", () =>
    Effect.gen(function* () {
      yield* started
      yield* post("/scored_data", group(7, 2000))
      const small = yield* get("/status", { "accept-encoding": "gzip" })
      assert.strictEqual(small.headers["content-encoding"], undefined)
      const plain = yield* get("/latest_example")
      assert.strictEqual(plain.headers["content-encoding"], undefined)
      const zipped = yield* get("/batch", { "accept-encoding": "gzip, deflate" })
      assert.deepInclude(zipped.headers, { "content-encoding": "gzip", vary: "Accept-Encoding" })
      assert.strictEqual(zipped.headers["content-type"], "application/json")
      assert.deepStrictEqual(JSON.parse(gunzipSync(zipped.bytes).toString()), { batch: [plain.json()] })
    })
  )

  it.effect("keep every value of a group that they do not know", () =>
    Effect.gen(function* () {
      yield* started
      const free = {
        messages: [
          [{ role: "agent", content: [{ type: "text", text: "é\n\u0000😀" }], reward: null, "10": 1 }],
          [{ role: "tool", content: null, x: { deep: [[], {}, "", -0.5e-7] } }]
        ],
        generation_params: { temperature: 0.5, nested: { a: [null] } },
        overrides: [{ set_advantage_to_zero: true }, {}],
        group_overrides: { sft: true },
        images: ["data:image/png;base64,AAAA", null]
      }
      yield* post("/scored_data", { ...group(3), ...free, private: 1 })
      assert.deepStrictEqual(yield* json(get("/batch")), { batch: [{ ...group(3), ...absent, ...free }] })
    })
  )

  it.effect("read large submissions beside the others", () =>
    Effect.gen(function* () {
      yield* started
      const large = { ...group(5), images: "x".repeat(6_000_000) }
      assert.deepStrictEqual(yield* json(post("/scored_data", large)), { status: "received" })
      const wrong = yield* send("POST", "/scored_data_list", {
        body: JSON.stringify([large]).replace("0.5", "NaN")
      })
      assert.deepStrictEqual(wrong.json(), {
        detail: [
          { type: "finite_number", loc: ["body", 0, "scores", 0], msg: "Input should be a finite number", input: "NaN" }
        ]
      })
      assert.deepStrictEqual(yield* json(get("/batch")), { batch: [{ ...absent, ...large }] })
    })
  )

  it.effect("answer wrong requests as the original", () =>
    Effect.gen(function* () {
      const object = "Input should be a valid dictionary or object to extract fields from"
      assert.deepStrictEqual(yield* ask("GET", "/nope"), [404, { detail: "Not Found" }])
      assert.deepStrictEqual(yield* ask("GET", "//status"), [404, { detail: "Not Found" }])
      assert.deepStrictEqual(yield* ask("GET", "/register"), [405, { detail: "Method Not Allowed" }])
      assert.deepStrictEqual(yield* ask("POST", "/batch", "{}"), [405, { detail: "Method Not Allowed" }])
      assert.deepStrictEqual(yield* ask("HEAD", "/batch"), [405, ""])
      assert.deepStrictEqual(yield* ask("POST", "/scored_data", ""), [
        422,
        detail("missing", ["body"], "Field required", null)
      ])
      assert.deepStrictEqual(yield* ask("GET", "/status-env"), [
        422,
        detail("missing", ["body"], "Field required", null)
      ])
      assert.deepStrictEqual(yield* ask("POST", "/disconnect-env", '{"env_id":"x"}'), [
        422,
        detail(
          "int_parsing",
          ["body", "env_id"],
          "Input should be a valid integer, unable to parse string as an integer",
          "x"
        )
      ])
      assert.deepStrictEqual(yield* ask("POST", "/register", '{"wandb_group":"g"'), [
        422,
        detail("json_invalid", ["body", 18], "JSON decode error", {}, { error: "Expecting ',' delimiter" })
      ])
      assert.deepStrictEqual(yield* ask("POST", "/scored_data", '{"a":1}', "text/plain"), [
        422,
        detail("model_attributes_type", ["body"], object, '{"a":1}')
      ])
      assert.deepStrictEqual(yield* ask("POST", "/scored_data_list", "[3]"), [
        422,
        detail("model_attributes_type", ["body", 0], object, 3)
      ])
      assert.deepStrictEqual((yield* ask("POST", "/register-env", '{"weight":NaN}'))[0], 422)
      assert.strictEqual((yield* send("POST", "/register", { body: Uint8Array.of(0x22, 0xff, 0x22) })).status, 400)
      assert.strictEqual(
        (yield* send("POST", "/scored_data", { body: `{"tokens":${"[".repeat(100_000)}` })).status,
        422
      )
      assert.strictEqual(
        (yield* send("POST", "/scored_data", { body: `{"tokens":${"[".repeat(50_000)}${"]".repeat(50_000)}}` })).status,
        422
      )
    })
  )

  it.effect("tell of unknown environments", () =>
    Effect.gen(function* () {
      yield* started
      const status = yield* send("GET", "/status-env", { body: '{"env_id":55}' })
      assert.strictEqual(status.status, 404)
      assert.include(status.text, "55")
      assert.deepStrictEqual(yield* json(post("/disconnect-env", { env_id: 55 })), {
        status: "failure",
        error: "list index out of range"
      })
      assert.deepStrictEqual(yield* json(post("/scored_data", { ...group(1), env_id: 99 })), { status: "received" })
      assert.deepStrictEqual(yield* json(post("/scored_data", { ...group(1), env_id: 1e20 })), { status: "received" })
      assert.deepStrictEqual(yield* json(post("/scored_data", { ...group(1), env_id: -7 })), { status: "received" })
      yield* post("/register-env", environment)
      assert.deepInclude(yield* json(send("GET", "/status-env", { body: '{"env_id":-1}' })), { current_step: 0 })
    })
  )

  it.effect("take nothing of a list with one wrong group", () =>
    Effect.gen(function* () {
      yield* started
      const refused = yield* post("/scored_data_list", [group(1), { ...group(2), scores: [1] }])
      assert.deepStrictEqual(refused.json(), {
        detail: [
          {
            type: "length_mismatch",
            loc: ["body", 1, "scores"],
            msg: "Should have one entry per sequence of tokens, 2, not 1",
            input: 1
          }
        ]
      })
      assert.deepInclude(yield* json(get("/status")), { queue_size: 0 })
    })
  )

  it.effect("give a batch back when the trainer hangs up before it has it", () =>
    Effect.gen(function* () {
      yield* started
      yield* post("/scored_data", { ...group(9), images: "x".repeat(14_000_000) })
      const at = yield* port
      yield* Effect.callback<void>((resume) => {
        const socket = createConnection(at, "127.0.0.1", () => socket.write("GET /batch HTTP/1.1\r\nhost: x\r\n\r\n"))
        socket.once("data", () => {
          socket.destroy()
          resume(Effect.void)
        })
      })
      const again = yield* Waits.until(
        "the batch",
        json(get("/batch")),
        (reply) => (reply as { readonly batch: unknown }).batch !== null
      )
      assert.lengthOf((again as { readonly batch: ReadonlyArray<unknown> }).batch, 1)
    })
  )
})

const limits = {
  maxBodyBytes: 10_000,
  maxDecodedBytes: 20_000,
  maxFormBytes: 1000,
  maxBytesAtOnce: 100_000,
  maxGroups: 2,
  maxGroupBytes: 5000,
  maxSequences: 4,
  maxTokensPerSequence: 1000
}

layer(server(Layer.fresh(store)).pipe(Layer.provide(Layer.succeed(Limits, limits))), { excludeTestServices: true })(
  "limits of the original's endpoints",
  (it) => {
    it.effect("stop bodies that are too large, before and while they arrive", () =>
      Effect.gen(function* () {
        const body = JSON.stringify(group(1, 3000))
        const sized = yield* send("POST", "/scored_data", { body })
        assert.deepStrictEqual(
          [sized.status, details(sized.json())],
          [413, "the request body is larger than the 10000 bytes allowed"]
        )
        const chunked = yield* send("POST", "/scored_data", { body, headers: { "transfer-encoding": "chunked" } })
        assert.strictEqual(chunked.status, 413)
      })
    )

    it.effect("stop gzip bombs", () =>
      Effect.gen(function* () {
        for (const size of [50_000, 8_000_000]) {
          const bomb = gzipSync(Buffer.alloc(size, " "))
          const stopped = yield* send("POST", "/scored_data", { body: bomb, headers: { "content-encoding": "gzip" } })
          assert.deepStrictEqual(
            [stopped.status, details(stopped.json())],
            [413, "the decompressed request body is larger than the 20000 bytes allowed"]
          )
        }
      })
    )

    it.effect("name the field that is too long", () =>
      Effect.gen(function* () {
        const refused = (value: unknown, path = "/scored_data") =>
          Effect.map(post(path, value), (reply) => [reply.status, details(reply.json())])
        const five = { tokens: [[], [], [], [], []], masks: [[], [], [], [], []], scores: [1, 2, 3, 4, 5] }
        assert.deepStrictEqual(yield* refused(five), tooLong(["body", "tokens"], 4, 5))
        assert.deepStrictEqual(
          yield* refused({ tokens: [Array(1001).fill(1)], masks: [Array(1001).fill(1)], scores: [1] }),
          tooLong(["body", "tokens", 0], 1000, 1001)
        )
        assert.deepStrictEqual(
          yield* refused([group(1), group(1), group(1)], "/scored_data_list"),
          tooLong(["body"], 2, 3)
        )
        assert.deepStrictEqual(
          yield* refused([group(1), { ...group(2), images: "x".repeat(6000) }], "/scored_data_list"),
          [413, "group 1 of the body is larger than the 5000 bytes allowed"]
        )
      })
    )
  }
)

suite({ prefix: "/atropos", run: "other" })("the original's endpoints under a prefix", (it) => {
  it.effect("speak of the run they are given", () =>
    Effect.gen(function* () {
      yield* post("/atropos/register", run)
      assert.deepStrictEqual(yield* json(get("/atropos/info")), { batch_size: 2, max_token_len: 512 })
      assert.strictEqual((yield* get("/info")).status, 404)
      const store = yield* TrajectoryStore
      assert(Option.isSome(yield* store.run("other")))
    })
  )
})

describe("web pages", () => {
  suite()("by default", (it) => {
    it.effect("from this machine may call, others may not", () =>
      Effect.gen(function* () {
        const here = yield* get("/info", { origin: "http://localhost:3000" })
        assert.deepInclude(here.headers, {
          "access-control-allow-origin": "http://localhost:3000",
          "access-control-allow-credentials": "true",
          vary: "Origin"
        })
        const allowed = yield* preflight("http://127.0.0.1:9")
        assert.deepStrictEqual([allowed.status, allowed.text], [200, "OK"])
        assert.strictEqual(allowed.headers["access-control-allow-headers"], "authorization")
        const there = yield* get("/info", { origin: "https://localhost.example" })
        assert.strictEqual(there.status, 200)
        assert.strictEqual(there.headers["access-control-allow-origin"], undefined)
        assert.strictEqual((yield* preflight("https://localhost.example")).status, 400)
      })
    )
  })

  suite({ origins: ["https://lab.example"] })("with a list of origins", (it) => {
    it.effect("on the list may call", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* preflight("https://lab.example")).status, 200)
        assert.strictEqual((yield* preflight("http://localhost:3000")).status, 400)
      })
    )
  })
})
