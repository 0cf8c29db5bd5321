import { assert, describe, it } from "@effect/vitest"
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Ref, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as HttpServer from "../../src/http/HttpServer.ts"
import * as TrajectoryClientInProcess from "../../src/TrajectoryClientInProcess.ts"
import { suite } from "./TrajectoryClientTest.ts"
import { layer as serviceLayer, ServiceUrl, urlOf } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const client = <R>(layer: Layer.Layer<TrajectoryClient.Clients, never, R>) =>
  Effect.flatMap(Layer.build(Layer.fresh(layer)), (context) => Effect.provide(TrajectoryClient.all, context))

suite({ name: "the store", client: (run) => client(TrajectoryClientInProcess.layer({ run })) }, TestStore.layer)

const service = serviceLayer().pipe(Layer.provideMerge(TestStore.layer))

suite(
  {
    name: "the versioned endpoints",
    client: (run) => Effect.flatMap(ServiceUrl, (url) => client(TrajectoryClientHttp.layer({ url, run })))
  },
  service
)

/** A server that answers everything in one way. */
const answering = (answer: Effect.Effect<HttpServerResponse.HttpServerResponse>) =>
  Layer.effect(ServiceUrl, urlOf).pipe(
    Layer.provide(HttpServer.layer(HttpRouter.add("*", "/v1/*", answer), { host: "127.0.0.1", port: 0 }))
  )

const statusEvent = (step: number) => {
  const status = {
    current_step: step,
    queue_size: 0,
    self_queue_size: 0,
    max_group_size: 1,
    env_weight: 1,
    unallocated_fraction: 1
  }
  return `event: status\ndata: ${JSON.stringify(status)}\n\n`
}

const group = { tokens: [Int32Array.of(1)], masks: [Uint8Array.of(1)], scores: Float64Array.of(1) }

describe("failures of the trajectory service", () => {
  it.live.each([
    [503, { "retry-after": "7" }, "overloaded", 7000],
    [429, { "retry-after": "2" }, "overloaded", 2000],
    [503, {}, "unreachable", undefined],
    [502, {}, "unreachable", undefined],
    [401, {}, "unauthorized", undefined],
    [403, {}, "unauthorized", undefined],
    [404, {}, "notFound", undefined],
    [409, {}, "leaseLost", undefined],
    [413, {}, "rejected", undefined],
    [422, {}, "rejected", undefined]
  ] as const)("%s with %o is told as %s", ([status, headers, reason, retryAfterMillis]) =>
    Effect.gen(function* () {
      const url = yield* ServiceUrl
      const service = yield* client(TrajectoryClientHttp.layer({ url }))
      const error = yield* Effect.flip(service.submit(0, [{ key: crypto.randomUUID(), group }]))
      assert.strictEqual(error.reason, reason)
      assert.strictEqual(error.retryAfterMillis, retryAfterMillis)
      assert.include(error.message, "scores: too odd (field scores)")
      assert.include(error.message, String(status))
    }).pipe(
      Effect.provide(
        answering(
          Effect.succeed(
            HttpServerResponse.jsonUnsafe(
              { error: "E", message: "scores: too odd", field: "scores" },
              { status, headers }
            )
          )
        )
      )
    )
  )

  it.live("a server without the versioned endpoints, as the original's, is named as such", () =>
    Effect.gen(function* () {
      const service = yield* client(TrajectoryClientHttp.layer({ url: yield* ServiceUrl }))
      const error = yield* Effect.flip(service.runInfo)
      assert.strictEqual(error.reason, "unsupported")
      assert.include(error.message, "no trajectory service with the /v1 API is there")
    }).pipe(
      Effect.provide(answering(Effect.succeed(HttpServerResponse.jsonUnsafe({ detail: "Not Found" }, { status: 404 }))))
    )
  )

  it.live("a server that answers something else is not believed", () =>
    Effect.gen(function* () {
      const url = yield* ServiceUrl
      const service = yield* client(TrajectoryClientHttp.layer({ url }))
      assert.strictEqual((yield* Effect.flip(service.status(0))).reason, "unsupported")
      assert.strictEqual((yield* Effect.flip(service.runInfo)).reason, "unsupported")
      const claimed = yield* Effect.flip(service.claim({ owner: "t", wait: 0, lease: "1 minute" }))
      assert.strictEqual(claimed.reason, "unsupported")
    }).pipe(Effect.provide(answering(Effect.succeed(HttpServerResponse.jsonUnsafe({ hello: "there" })))))
  )

  it.live("a server that is away, or too slow, is unreachable", () =>
    Effect.gen(function* () {
      const away = yield* client(TrajectoryClientHttp.layer({ url: "http://127.0.0.1:9" }))
      const error = yield* Effect.flip(away.runInfo)
      assert.strictEqual(error.reason, "unreachable")
      assert.include(error.message, "http://127.0.0.1:9")
      const url = yield* ServiceUrl
      const slow = yield* client(TrajectoryClientHttp.layer({ url, timeout: "30 millis" }))
      const late = yield* Effect.flip(slow.runInfo)
      assert.strictEqual(late.reason, "unreachable")
      assert.include(late.message, "30ms")
    }).pipe(Effect.provide(answering(Effect.never)))
  )

  it.live("a stream of statuses goes on when the service hangs up, and ends when it refuses", () =>
    Effect.gen(function* () {
      const url = yield* ServiceUrl
      const service = yield* client(TrajectoryClientHttp.layer({ url }))
      const steps: Array<number> = []
      const error = yield* service.statusChanges(0).pipe(
        Stream.runForEach(({ currentStep }) => Effect.sync(() => steps.push(currentStep))),
        Effect.flip
      )
      assert.deepStrictEqual(steps, [1, 2, 3])
      assert.strictEqual(error._tag === "TrajectoryError" ? error.reason : error._tag, "notFound")
    }).pipe(
      Effect.provide(
        Layer.unwrap(
          Effect.map(Ref.make(0), (connections) =>
            Layer.effect(ServiceUrl, urlOf).pipe(
              Layer.provide(
                HttpServer.layer(
                  HttpRouter.add(
                    "GET",
                    "/v1/runs/default/environments/0/events",
                    Effect.map(
                      Ref.updateAndGet(connections, (count) => count + 1),
                      (connection) =>
                        connection > 3
                          ? HttpServerResponse.jsonUnsafe({ error: "NotFound", message: "gone" }, { status: 404 })
                          : HttpServerResponse.text(statusEvent(connection), { contentType: "text/event-stream" })
                    )
                  ),
                  { host: "127.0.0.1", port: 0 }
                )
              )
            )
          )
        )
      )
    )
  )
})
