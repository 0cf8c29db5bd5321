/**
 * Bodies made to take time or memory: each is refused, and nobody else waits for it. Sizes are those that once stopped
 * a service.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { request } from "node:http"
import { gzipSync, zstdCompressSync } from "node:zlib"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Growth from "../../../core/test/base/Growth.ts"
import * as Auth from "../../src/http/Auth.ts"
import * as RequestBody from "../../src/http/RequestBody.ts"
import * as TrajectoryService from "../../src/TrajectoryService.ts"
import * as TestStore from "../TestStore.ts"
import { get, group, json, port, post, registration, send } from "../v0/V0Server.ts"

const serve = TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide([TestStore.layer, Auth.layerOpen])
)

const mebibyte = 1024 * 1024
const nested = (bytes: number) => `${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`
const inObjects = (bytes: number) => '{"a":'.repeat(bytes / 6) + "1" + "}".repeat(bytes / 6)

/** The longest turn of the event loop while something happens, milliseconds of processor time. */
const maxTurnMillis = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const context = yield* Effect.context<R>()
  const [answer, longest] = yield* Effect.promise(() =>
    Growth.maxTurnMillis(() => Effect.runPromiseWith(context)(effect))
  )
  return { answer, longest }
})

layer(serve, { excludeTestServices: true })("one body", (it) => {
  it.effect.each([
    ["POST", "/scored_data", 16 * mebibyte, nested, 422],
    ["POST", "/scored_data", 16 * mebibyte, inObjects, 422],
    ["POST", "/scored_data_list", 16 * mebibyte, nested, 422],
    ["POST", "/scored_data", mebibyte / 4, nested, 422],
    ["POST", "/register", 60 * mebibyte, nested, 413],
    ["POST", "/register", 200_000, nested, 422],
    ["POST", "/register-env", 60 * mebibyte, inObjects, 413],
    ["POST", "/disconnect-env", mebibyte, inObjects, 413],
    ["GET", "/status-env", mebibyte, inObjects, 413],
    ["POST", "/v1/runs", mebibyte, nested, 413],
    ["POST", "/v1/runs/default/batches/claim", mebibyte, nested, 413],
    ["POST", "/v1/runs/default/batches/claim", 200_000, nested, 400],
    ["PUT", "/v1/runs/default/state/e", 7 * mebibyte, nested, 400],
    ["POST", "/v1/runs/default/pieces", 7 * mebibyte, inObjects, 400],
    ["POST", "/v1/runs/default/groups", 7 * mebibyte, nested, 400],
    // An unterminated string of quotes, which looked for its end from every one of them.
    ["POST", "/scored_data", 4 * mebibyte, (bytes: number) => `[NaN,"${'\\"'.repeat(bytes / 2)}`, 422],
    ["POST", "/scored_data", mebibyte / 4, (bytes: number) => `[NaN,"${'\\"'.repeat(bytes / 2)}`, 422],
    // No group, and all of it would be told back.
    ["POST", "/scored_data", 8 * mebibyte, (bytes: number) => `[${"[],".repeat(bytes / 3)}1]`, 422],
    ["POST", "/scored_data", 30 * mebibyte, (bytes: number) => "x".repeat(bytes), 422]
  ] as const)("%s %s of %d bytes stops nobody else", ([method, path, size, make, status]) =>
    Effect.gen(function* () {
      yield* post("/register", registration)
      const sent = (bytes: number) => {
        // Not part of what is measured: tens of megabytes are encoded in one turn.
        const body = Buffer.from(make(bytes))
        return maxTurnMillis(
          Effect.all([send(method, path, { body }), get("/status"), post("/scored_data", group)], { concurrency: 3 })
        )
      }
      const { answer } = yield* sent(size)
      assert.deepStrictEqual(
        answer.map((one) => one.status),
        [status, 200, 200]
      )
      assert.isBelow(answer[0].bytes.length, mebibyte)
      const context = yield* Effect.context<Effect.Services<ReturnType<typeof sent>>>()
      const turnOf = (bytes: number) => Effect.runPromiseWith(context)(Effect.map(sent(bytes), (all) => all.longest))
      assert.isTrue(yield* Effect.promise(() => Growth.isLinearLater(size, turnOf)))
    })
  )
})

const held = { bytes: 0 }
const small: RequestBody.Limits = {
  maxBodyBytes: mebibyte,
  maxDecodedBytes: 2 * mebibyte,
  maxFormBytes: 10_000,
  maxBytesAtOnce: 3 * mebibyte,
  maxGroups: 10,
  maxGroupBytes: mebibyte,
  maxSequences: 10,
  maxTokensPerSequence: 1000
}

const bounded = serve.pipe(
  Layer.provide([Layer.succeed(RequestBody.Limits, small), Layer.succeed(RequestBody.Held, held)])
)

/** A body that comes but for its last byte, which comes when it is told; its status. */
const slow = Effect.fnUntraced(function* (bytes: number, method = "POST", path = "/scored_data") {
  const to = yield* port
  const outgoing = request({
    host: "127.0.0.1",
    port: to,
    method,
    path,
    headers: { "content-type": "application/json", "content-length": bytes }
  })
  const status = new Promise<number>((resolve, reject) => {
    outgoing.on("response", (incoming) => {
      incoming.resume()
      resolve(incoming.statusCode ?? 0)
    })
    outgoing.on("error", reject)
  })
  outgoing.write(Buffer.alloc(bytes - 1, " "))
  return {
    status: Effect.promise(() => status),
    finish: Effect.promise(() => {
      outgoing.end(" ")
      return status
    })
  }
})

layer(bounded, { excludeTestServices: true })("many bodies", (it) => {
  it.effect("share one number of bytes, then are told to come again", () =>
    Effect.gen(function* () {
      yield* post("/register", registration)
      const bytes = 900_000
      const open = yield* Effect.forEach([1, 2, 3], () => slow(bytes))
      yield* Waits.untilTrue("three bodies under way", () => held.bytes >= 3 * (bytes - 1))
      const large = JSON.stringify({ ...group, images: ["x".repeat(700_000)] })
      const refused = yield* send("POST", "/scored_data", { body: large })
      assert.strictEqual(refused.status, 503)
      assert.strictEqual(refused.headers["retry-after"], "1")
      const versioned = yield* send("POST", "/v1/runs/default/groups", { body: large })
      assert.strictEqual(versioned.status, 503)
      assert.strictEqual(versioned.headers["retry-after"], "1")
      assert.include(versioned.json(), { error: "Unavailable", retry_after_seconds: 1 })
      // What is small goes on.
      assert.deepStrictEqual(yield* json(post("/scored_data", group)), { status: "received" })
      for (const { finish } of open) assert.strictEqual(yield* finish, 422)
      yield* Waits.untilTrue("no body under way", () => held.bytes === 0)
      assert.strictEqual((yield* send("POST", "/scored_data", { body: large })).status, 200)
    })
  )

  it.effect("count as what they are when they are unpacked", () =>
    Effect.gen(function* () {
      const spaces = Buffer.alloc(2 * mebibyte - 1, " ")
      const bombs = [
        ["/scored_data", { "content-encoding": "gzip" }, gzipSync(spaces)],
        ["/v1/runs/default/groups", { "content-encoding": "zstd" }, zstdCompressSync(spaces)]
      ] as const
      for (const [path, headers, body] of bombs) {
        const answers = yield* Effect.all(
          Array.from({ length: 24 }, () => send("POST", path, { body, headers })),
          { concurrency: "unbounded" }
        )
        const statuses = new Set(answers.map(({ status }) => status))
        assert.isTrue(statuses.has(503), "two of them are more than there is")
        assert.isTrue([...statuses].every((status) => [400, 422, 503].includes(status)))
        yield* Waits.untilTrue("no body under way", () => held.bytes === 0)
      }
      const large = JSON.stringify({ ...group, images: ["x".repeat(600_000)] })
      const honest = yield* send("POST", "/scored_data", {
        body: gzipSync(large),
        headers: { "content-encoding": "gzip" }
      })
      assert.strictEqual(honest.status, 200)
    })
  )
})

const guarded = TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide([TestStore.layer, Auth.layer(Redacted.make("trainer:trainer-token"))]),
  Layer.provide([Layer.succeed(RequestBody.Limits, small), Layer.succeed(RequestBody.Held, held)])
)

layer(guarded, { excludeTestServices: true })("bodies of strangers", (it) => {
  it.effect.each([
    ["POST", "/v1/runs/default/groups"],
    ["PUT", "/v1/runs/default/state/e"],
    ["POST", "/v1/runs/default/pieces"],
    ["POST", "/v1/runs"],
    ["POST", "/scored_data"]
  ] as const)("take no room where tokens are asked for: %s %s", ([method, path]) =>
    Effect.gen(function* () {
      // All but the last byte is there, and never that.
      const { status } = yield* slow(9000, method, path)
      assert.strictEqual(yield* status, 401)
      assert.strictEqual(held.bytes, 0)
    })
  )
})
