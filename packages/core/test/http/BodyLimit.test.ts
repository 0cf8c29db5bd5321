/** Bodies of all servers of a process within one amount, and JSON that is refused before anything parses it. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, type Scope } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as JsonBounds from "../../src/base/json/JsonBounds.ts"
import * as BodyLimit from "../../src/http/BodyLimit.ts"
import * as Listening from "../../src/http/Listening.ts"
import * as Serving from "../../src/http/Serving.ts"

const limit = 10_000
const failures = {
  tooLarge: () => 413,
  busy: () => 503,
  broken: () => 400,
  excess: () => 422
}

/** Answers once `gate` opens; counts what gets to a parser. */
const serve = Effect.fnUntraced(function* (gate: Effect.Effect<unknown>, maxBytesAtOnce: number) {
  const held = { bytes: 0 }
  let parsed = 0
  const handler = Effect.gen(function* () {
    yield* BodyLimit.readJson(yield* HttpServerRequest.HttpServerRequest, limit, failures)
    parsed++
    yield* gate
    return HttpServerResponse.empty({ status: 200 })
  }).pipe(Effect.catch((status) => Effect.succeed(HttpServerResponse.empty({ status }))))
  const app = yield* Serving.app(HttpRouter.add("POST", "/", handler))
  const server = Listening.makeServer()
  const layer = HttpServer.serve(app).pipe(
    Layer.provideMerge(Listening.layer(server, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: "1 second" })),
    Layer.provide(Layer.succeed(BodyLimit.Held, held)),
    Layer.provide(Layer.succeed(BodyLimit.MaxBytesAtOnce, maxBytesAtOnce))
  )
  const { address } = Context.get(yield* Layer.build(layer), HttpServer.HttpServer)
  const post = (body: string) =>
    Effect.promise(async () => {
      const answer = await fetch(HttpServer.formatAddress(address), { method: "POST", body })
      await answer.arrayBuffer()
      return answer.status
    })
  return { held, parsed: () => parsed, post }
})

const until = (isSo: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    isSo()
      ? Effect.void
      : Effect.andThen(
          Effect.callback<void>((resume) => void setTimeout(() => resume(Effect.void), 1)),
          until(isSo)
        )
  )

const test = (name: string, run: Effect.Effect<void, unknown, Scope.Scope>) => it.live(name, () => Effect.scoped(run))

describe("bodies", () => {
  test(
    "of all requests under way share one amount, held until each is answered; others are told to come again",
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      // Three times a body: its bytes, its text, and what is parsed of it.
      const { held, parsed, post } = yield* serve(Deferred.await(gate), 3 * 9000 * 2 + 3000)
      const large = `"${"x".repeat(8998)}"`
      const first = yield* Effect.forkChild(Effect.all([post(large), post(large)], { concurrency: 2 }))
      yield* until(() => parsed() === 2)
      assert.strictEqual(held.bytes, 2 * 3 * 9000)
      assert.strictEqual(yield* post(large), 503)
      assert.strictEqual(parsed(), 2)
      const little = yield* Effect.forkChild(post('"x"'))
      yield* until(() => parsed() === 3)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(first), [200, 200])
      assert.strictEqual(yield* Fiber.join(little), 200)
      yield* until(() => held.bytes === 0)
      assert.strictEqual(yield* post(large), 200)
    })
  )

  test(
    "that are too large, or hold too much, never come to a parser",
    Effect.gen(function* () {
      const { held, parsed, post } = yield* serve(Effect.void, 10_000_000)
      assert.strictEqual(yield* post(`"${"x".repeat(limit)}"`), 413)
      assert.strictEqual(yield* post("[".repeat(JsonBounds.defaults.levels + 1)), 422)
      assert.strictEqual(parsed(), 0)
      assert.strictEqual(yield* post("[".repeat(JsonBounds.defaults.levels)), 200)
      yield* until(() => held.bytes === 0)
    })
  )
})
