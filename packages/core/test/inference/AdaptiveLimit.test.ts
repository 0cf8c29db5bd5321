/** The controller alone, and a pool of requests to a server that serves vLLM's own metrics. */
import { assert, describe, it } from "@effect/vitest"
import { ServerManager } from "@atropos/core"
import { Effect, Fiber, Layer, References, Schema } from "effect"
import * as AdaptiveLimit from "../../src/inference/AdaptiveLimit.ts"
import type { Load } from "../../src/inference/backend/Backend.ts"
import * as VllmLoad from "../../src/inference/backend/VllmLoad.ts"
import * as Waits from "../base/Waits.ts"
import * as TestServer from "./TestServer.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Reading = Schema.Struct({
  percent: between(0, 100),
  preempted: between(0, 2),
  waiting: between(0, 2),
  inFlight: between(0, 600)
})
const Bounds = Schema.Struct({ min: between(1, 64), max: between(1, 512) })

const quiet: Load = { kvUsage: 0.5, preemptions: 3, waiting: 0 }
const at = (limit: number): AdaptiveLimit.State => ({ limit, preemptions: 3 })

describe("AdaptiveLimit.next", () => {
  it.prop(
    "stays within its bounds, falls only under load, and rises only without",
    [Schema.Array(Reading), Bounds],
    ([readings, bounds]) => {
      let state: AdaptiveLimit.State = { limit: Infinity, preemptions: undefined }
      let preemptions = 0
      let before = bounds.max
      for (const { inFlight, percent, preempted, waiting } of readings) {
        const isFirst = state.preemptions === undefined
        preemptions += preempted
        state = AdaptiveLimit.next(state, { kvUsage: percent / 100, preemptions, waiting }, inFlight, bounds)
        assert.isTrue(Number.isInteger(state.limit))
        assert.isAtLeast(state.limit, Math.min(bounds.min, bounds.max))
        assert.isAtMost(state.limit, bounds.max)
        const isFull = waiting > 0 && percent >= 95
        const isCongested = isFull || (preempted > 0 && !isFirst)
        if (state.limit < before) assert.isTrue(isCongested)
        if (state.limit > before) assert.isTrue(!isCongested && inFlight >= before && waiting === 0)
        before = state.limit
      }
    }
  )

  it.prop("reaches the min under lasting load, and the max once it is gone", [Bounds], ([bounds]) => {
    let state: AdaptiveLimit.State = { limit: Infinity, preemptions: 0 }
    for (let count = 1; count <= 64; count++) {
      state = AdaptiveLimit.next(state, { ...quiet, preemptions: count }, Math.min(state.limit, bounds.max), bounds)
    }
    assert.strictEqual(state.limit, Math.min(bounds.min, bounds.max))
    for (let count = 0; count < 64; count++) {
      state = AdaptiveLimit.next(state, { ...quiet, preemptions: 64 }, state.limit, bounds)
    }
    assert.strictEqual(state.limit, bounds.max)
  })

  it("waits until a fall has had its effect, and does not rise while it is unused or something waits", () => {
    const bounds = { min: 8, max: 512 }
    const limit = (load: Partial<Load>, inFlight: number) =>
      AdaptiveLimit.next(at(100), { ...quiet, ...load }, inFlight, bounds).limit
    assert.strictEqual(limit({ preemptions: 4 }, 100), 75)
    assert.strictEqual(limit({ preemptions: 4 }, 101), 100)
    assert.strictEqual(limit({ preemptions: 4 }, 60), 45)
    assert.strictEqual(limit({ kvUsage: 0.97, waiting: 2 }, 100), 75)
    assert.strictEqual(limit({}, 100), 108)
    assert.strictEqual(limit({}, 99), 100)
    assert.strictEqual(limit({ waiting: 1 }, 100), 100)
    assert.strictEqual(limit({ kvUsage: 0.92 }, 100), 100)
    // A server that was restarted counts from 0.
    assert.strictEqual(limit({ preemptions: 0 }, 100), 108)
  })

  it("makes the shares of two programs equal that share a server", () => {
    const bounds = { min: 1, max: 512 }
    let limits = [512, 40]
    let preemptions = 0
    for (let count = 0; count < 400; count++) {
      // The engine has space for 200 requests.
      if (limits[0]! + limits[1]! > 200) preemptions++
      const load = { kvUsage: 0.5, preemptions, waiting: 0 }
      const before = limits[0]! + limits[1]! > 200 ? preemptions - 1 : preemptions
      limits = limits.map((limit) => AdaptiveLimit.next({ limit, preemptions: before }, load, limit, bounds).limit)
    }
    assert.isBelow(Math.abs(limits[0]! - limits[1]!), 16)
    assert.isAbove(limits[0]! + limits[1]!, 120)
  })
})

/** As vLLM writes it, with two engines. */
const page = ({
  kvUsage,
  preemptions,
  waiting
}: Load) => `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a {b} c"} 5.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="a {b} c"} ${waiting}.0
vllm:num_requests_waiting{engine="1",model_name="a {b} c"} 0.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="a {b} c",reason="capacity"} 7.0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="a {b} c"} 0.01
vllm:kv_cache_usage_perc{engine="1",model_name="a {b} c"} ${kvUsage}
# HELP vllm:num_preemptions_total Cumulative number of preemption from the engine.
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="a {b} c"} ${preemptions}.0
vllm:num_preemptions_total{engine="1",model_name="a {b} c"} 1.0
# TYPE vllm:num_preemptions_created gauge
vllm:num_preemptions_created{engine="0",model_name="a {b} c"} 1.7e+09
`

describe("load of vLLM", () => {
  it("is the fullest engine's KV cache, and all engines' waiting requests and preemptions", () => {
    assert.deepStrictEqual(VllmLoad.parse(page({ kvUsage: 0.42, preemptions: 3, waiting: 2 })), {
      kvUsage: 0.42,
      preemptions: 4,
      waiting: 2
    })
    assert.isUndefined(VllmLoad.parse("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 3.0\n"))
  })

  it.live("lowers the requests under way, and raises them again, as a metric shows", () =>
    Effect.gen(function* () {
      let load: Load = { kvUsage: 0.5, preemptions: 0, waiting: 0 }
      const open: Array<() => void> = []
      const server = yield* TestServer.make(
        ({ path }) => {
          if (path === "/v1/models") return { json: { data: [{ id: "tiny", owned_by: "vllm", max_model_len: 512 }] } }
          if (path === "/version") return { json: { version: "0.32.0" } }
          if (path === "/metrics") return { text: page(load) }
          if (path !== "/v1/completions") return { status: 404, json: {} }
          return new Promise((resolve) =>
            open.push(() =>
              resolve({
                json: {
                  choices: [
                    {
                      index: 0,
                      text: "a",
                      finish_reason: "stop",
                      token_ids: [97],
                      logprobs: { tokens: ["a"], token_logprobs: [-1] }
                    }
                  ]
                }
              })
            )
          )
        },
        { isProbed: true }
      )
      const layer = ServerManager.layer({
        servers: [
          { baseUrl: `${server.url}/v1`, logprobsMode: "processed", numMaxRequestsAtOnce: 32, minRequestsAtOnce: 4 }
        ]
      })
      const manager = yield* Effect.provide(ServerManager.ServerManager, yield* Layer.build(layer))
      const limit = () => Effect.runSync(manager.metrics)[0]!.limit
      const asking = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 64 }), () => manager.tokens({ inputIds: [1] }), {
          concurrency: "unbounded"
        })
      )
      yield* Waits.untilTrue("32 requests", () => open.length === 32)
      load = { ...load, kvUsage: 1, waiting: 8 }
      yield* Waits.untilTrue("a lower limit", () => limit() < 32)
      assert.strictEqual(limit(), 24)
      // The others wait here until those above the limit have ended.
      for (const answer of open.splice(0, 8)) answer()
      load = { kvUsage: 0.3, preemptions: 0, waiting: 0 }
      yield* Waits.untilTrue("a higher limit", () => limit() > 24)
      assert.strictEqual(limit(), 25)
      const answering = yield* Effect.forkChild(
        Waits.untilTrue("an answer to each", () => {
          for (const answer of open.splice(0)) answer()
          return asking.pollUnsafe() !== undefined
        })
      )
      assert.strictEqual((yield* Fiber.join(asking)).length, 64)
      yield* Fiber.join(answering)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )
})
