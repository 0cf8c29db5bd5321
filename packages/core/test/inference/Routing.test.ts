import { assert, describe, it } from "@effect/vitest"
import { ServerManager, ServerSettings } from "@atropos/core"
import { Clock, Duration, Effect, Exit, Fiber, Metric, Ref } from "effect"
import { TestClock } from "effect/testing"
import type { Answer, Backend } from "../../src/inference/backend/Backend.ts"
import * as ServerPool from "../../src/inference/ServerPool.ts"
import type * as InferenceServer from "../../src/inference/InferenceServer.ts"
import * as SplitCapacity from "../../src/inference/SplitCapacity.ts"
import * as Routing from "../../src/inference/Routing.ts"

const { InferenceError } = ServerManager

type Ask = (request: ServerManager.ChatRequest) => Effect.Effect<Answer, ServerManager.InferenceError>

const answerOf = (texts: ReadonlyArray<string>): Answer => ({
  choices: texts.map((text) => ({
    message: { role: "assistant", content: text },
    text,
    toolCalls: [],
    finishReason: "stop"
  })),
  usage: { promptTokens: 5, completionTokens: texts.length * 10 }
})

/** A back end in this process that does what `chat` says, and whose health is what `health` says. */
const backendOf = (server: string, chat: Ask, health: Backend["health"] = Effect.void): Backend => ({
  server,
  modelName: "tiny",
  capabilities: { tokens: false, promptLogprobs: false },
  chat,
  complete: () => Effect.die("not asked in these tests"),
  tokens: () => Effect.die("not asked in these tests"),
  promptLogprobs: () => Effect.die("not asked in these tests"),
  health
})

const saying =
  (server: string): Ask =>
  (request) =>
    Effect.succeed(answerOf(Array.from({ length: request.n ?? 1 }, () => server)))

const failing = (server: string, reason: ServerManager.InferenceFailure, retryAfterMillis?: number, status?: number) =>
  Effect.fail(
    new InferenceError({
      reason,
      server,
      message: `${server} is ${reason}`,
      ...(status !== undefined && { status }),
      ...(retryAfterMillis === undefined ? {} : { retryAfterMillis })
    })
  )

const defaults = ServerSettings.server.complete({})
const options = { maxNCompletions: 8, maxAttempts: 8 }
const poolOf = (...members: ReadonlyArray<Backend | InferenceServer.InferenceServerSettings>) =>
  ServerPool.make(
    members.map((one) => ("backend" in one ? one : { ...defaults, backend: one })),
    { serverWait: Duration.seconds(30), advice: "" }
  )

const hello: ServerManager.ChatRequest = { messages: [{ role: "user", content: "hello" }] }
const textsOf = ({ choices }: Answer) => choices.map(({ text }) => text)

describe("routing", () => {
  it.effect(
    "sends training to the healthy server with most training room, evaluation to the one with most evaluation room",
    () =>
      Effect.gen(function* () {
        const member = (server: string, train: number, evaluation: number) => ({
          ...defaults,
          backend: backendOf(server, saying(server)),
          numMaxRequestsAtOnce: train,
          numRequestsForEval: evaluation
        })
        const pool = yield* poolOf(member("s1", 1, 4), member("s2", 3, 1), member("s3", 4, 4))
        pool.servers[2]!.isUp = false
        const backend = Routing.backend(pool, options)
        assert.deepStrictEqual(textsOf(yield* backend.chat({ ...hello, split: "train" })), ["s2"])
        assert.deepStrictEqual(textsOf(yield* backend.chat({ ...hello, split: "eval" })), ["s1"])
        const measured = (yield* pool.metrics).map(({ count, server, split }) => [server, split, count])
        assert.deepStrictEqual(measured, [
          ["s1", "train", 0],
          ["s1", "eval", 1],
          ["s2", "train", 1],
          ["s2", "eval", 0],
          ["s3", "train", 0],
          ["s3", "eval", 0]
        ])
      })
  )

  it.effect("never has more requests in flight than a split's limit, and wakes waiters as slots are released", () =>
    Effect.gen(function* () {
      const most = { train: 0, eval: 0 }
      const now = { train: 0, eval: 0 }
      const counting: Ask = ({ split = "train" }) =>
        Effect.gen(function* () {
          now[split]++
          most[split] = Math.max(most[split], now[split])
          yield* Effect.sleep("1 second")
          now[split]--
          return answerOf(["x"])
        })
      const pool = yield* poolOf({
        ...defaults,
        backend: backendOf("s1", counting),
        numMaxRequestsAtOnce: 4,
        numRequestsForEval: 2
      })
      const backend = Routing.backend(pool, options)
      const work = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 24 }, (_, i) => i),
          (i) => backend.chat({ ...hello, split: i % 3 === 0 ? "eval" : "train" }),
          { concurrency: "unbounded" }
        )
      )
      // 16 training requests at 4 a second, 8 evaluation requests at 2 a second: no time is lost to polling.
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual((yield* Fiber.join(work)).length, 24)
      assert.deepStrictEqual(most, { train: 4, eval: 2 })
    })
  )

  it.effect("gives this program its share of the training slots, and all of the evaluation slots", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf({
        ...defaults,
        backend: backendOf("s1", () => Effect.never),
        numMaxRequestsAtOnce: 8,
        numRequestsForEval: 8
      })
      const backend = Routing.backend(pool, options)
      const inFlight = Effect.map(pool.metrics, (metrics) => metrics.map((one) => one.inFlight))
      yield* pool.setWeight(0.25)
      for (const split of ["train", "eval"] as const) {
        yield* Effect.forEach(Array.from({ length: 10 }), () => Effect.forkChild(backend.chat({ ...hello, split })))
      }
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* inFlight, [2, 8])
      // More weight lets those in that wait, without a release.
      yield* pool.setWeight(0.5)
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* inFlight, [4, 8])
    })
  )

  it("rounds a share up, but not by an error of floating point", () => {
    assert.deepStrictEqual(
      [
        SplitCapacity.limitOf(512, 0.1),
        SplitCapacity.limitOf(100, 0.07),
        SplitCapacity.limitOf(4, 0.01),
        SplitCapacity.limitOf(10, 3),
        SplitCapacity.limitOf(10, 0)
      ],
      [52, 7, 1, 10, 1]
    )
  })

  it.effect("gives back the slot of a request that is given up, waiting or running", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf({
        ...defaults,
        backend: backendOf("s1", () => Effect.never),
        numMaxRequestsAtOnce: 1
      })
      const backend = Routing.backend(pool, options)
      const running = yield* Effect.forkChild(backend.chat(hello), { startImmediately: true })
      const waiting = yield* Effect.forkChild(backend.chat(hello), { startImmediately: true })
      const last = yield* Effect.forkChild(backend.chat(hello), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(running)
      yield* Effect.yieldNow
      assert.strictEqual(pool.servers[0]!.splits.train.inFlight, 1)
      yield* Fiber.interrupt(last)
      assert.strictEqual(pool.servers[0]!.splits.train.inFlight, 0)
      assert.deepStrictEqual(
        (yield* pool.metrics).map(({ count, failures }) => [count, failures]),
        [
          [0, 0],
          [0, 0]
        ]
      )
    })
  )
})

describe("n", () => {
  it.effect("is split over concurrent requests of at most max_n_completions, in order, usage summed", () =>
    Effect.gen(function* () {
      const sizes: Array<number> = []
      const ask: Ask = ({ n = 1 }) =>
        Effect.gen(function* () {
          const from = sizes.push(n) * 100
          // The first request is the last to answer.
          yield* Effect.sleep(Duration.seconds(10 - sizes.length))
          return answerOf(Array.from({ length: n }, (_, i) => String(from + i)))
        })
      const backend = Routing.backend(yield* poolOf(backendOf("s1", ask)), options)
      const asking = yield* Effect.forkChild(backend.chat({ ...hello, n: 20 }))
      yield* TestClock.adjust("10 seconds")
      const answer = yield* Fiber.join(asking)
      assert.deepStrictEqual(sizes, [8, 8, 4])
      assert.deepStrictEqual(
        textsOf(answer),
        [100, 200, 300].flatMap((from) => Array.from({ length: from === 300 ? 4 : 8 }, (_, i) => String(from + i)))
      )
      assert.deepStrictEqual(answer.usage, { promptTokens: 15, completionTokens: 200 })
    })
  )

  it.effect("repeats no rollout where a request with a seed is split, and splits it the same way every time", () =>
    Effect.gen(function* () {
      // As servers do: a choice is a function of the seed and its index.
      const seeded: Ask = ({ n = 1, seed }) =>
        Effect.succeed(answerOf(Array.from({ length: n }, (_, index) => `${seed} ${index}`)))
      const backend = Routing.backend(yield* poolOf(backendOf("s1", seeded)), options)
      const of = (seed: number) => Effect.map(backend.chat({ ...hello, n: 20, seed }), textsOf)
      const texts = yield* of(5)
      assert.strictEqual(new Set(texts).size, 20)
      assert.deepStrictEqual([texts[0], texts[7], texts[8], texts[19]], ["5 0", "5 7", "13 0", "21 3"])
      assert.deepStrictEqual(yield* of(5), texts)
      // Where the next whole number is not another one.
      assert.strictEqual(new Set(yield* of(Number.MAX_SAFE_INTEGER)).size, 20)
      // One request is sent as it is, and none gets a seed that had none.
      assert.deepStrictEqual(textsOf(yield* backend.chat({ ...hello, n: 2, seed: 5 })), ["5 0", "5 1"])
      assert.deepStrictEqual(textsOf(yield* backend.chat({ ...hello, n: 9 })).slice(7), ["undefined 7", "undefined 0"])
    })
  )

  it.effect("repeats no rollout of a server that ignores n and heeds the seed", () =>
    Effect.gen(function* () {
      const ignoring: Ask = ({ seed }) => Effect.succeed(answerOf([String(seed)]))
      const backend = Routing.backend(yield* poolOf(backendOf("s1", ignoring)), options)
      const expected = ["7", "8", "9", "10"]
      assert.deepStrictEqual(textsOf(yield* backend.chat({ ...hello, n: 4, seed: 7 })), expected)
      // It is known by now.
      assert.deepStrictEqual(textsOf(yield* backend.chat({ ...hello, n: 4, seed: 7 })), expected)
    })
  )

  it.effect("is made up for by single requests where the server ignores it, and not sent again", () =>
    Effect.gen(function* () {
      const sizes: Array<number> = []
      const ignoring: Ask = ({ n = 1 }) => Effect.sync(() => answerOf([`answer ${sizes.push(n)}`]))
      const pool = yield* poolOf(backendOf("s1", ignoring))
      const backend = Routing.backend(pool, options)
      assert.deepStrictEqual(textsOf(yield* backend.chat({ ...hello, n: 4 })), [
        "answer 1",
        "answer 2",
        "answer 3",
        "answer 4"
      ])
      assert.deepStrictEqual(sizes, [4, 1, 1, 1])
      assert.strictEqual((yield* backend.chat({ ...hello, n: 3 })).choices.length, 3)
      assert.deepStrictEqual(sizes.slice(4), [1, 1, 1])
      // One completion asked for is one request, flagged or not.
      assert.strictEqual((yield* backend.chat(hello)).choices.length, 1)
      assert.strictEqual(sizes.length, 8)
    })
  )

  it.effect("leaves a server that honours it unflagged", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(backendOf("s1", saying("s1")))
      assert.strictEqual((yield* Routing.backend(pool, options).chat({ ...hello, n: 5 })).choices.length, 5)
      assert.isFalse(pool.servers[0]!.ignoresN)
    })
  )
})

describe("retries", () => {
  /** Asks once, letting time pass, and says when (in milliseconds) the server was asked. */
  const timesAsked = (
    ask: (times: number) => Effect.Effect<Answer, ServerManager.InferenceError>,
    within: Duration.Input
  ) =>
    Effect.gen(function* () {
      const times: Array<number> = []
      const backend = Routing.backend(
        yield* poolOf(
          backendOf("s1", () =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => {
              times.push(now)
              return ask(times.length)
            })
          )
        ),
        options
      )
      const asking = yield* Effect.forkChild(Effect.exit(backend.chat(hello)))
      for (let i = 0; i < Duration.toMillis(within) / 50; i++) yield* TestClock.adjust("50 millis")
      return { exit: yield* Fiber.join(asking), times }
    })

  it.effect("come after exponentially longer, jittered, capped waits, and end", () =>
    Effect.gen(function* () {
      const { exit, times } = yield* timesAsked(() => failing("s1", "overloaded"), "1 minute")
      assert.strictEqual(times.length, options.maxAttempts)
      const waits = times.slice(1).map((time, i) => time - times[i]!)
      for (const [i, wait] of waits.entries()) {
        const nominal = 250 * 2 ** i
        // 20% of jitter either way, the cap of 10 s, and the clock's steps of 50 ms.
        assert.isAtLeast(wait, Math.min(10_000, nominal * 0.8) - 50)
        assert.isAtMost(wait, Math.min(10_000, nominal * 1.2) + 50)
      }
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) assert.include(String(exit.cause), "(after 8 attempts)")
    })
  )

  it.effect(
    "go on for as long as a server that is down is waited for where it answers 503, and count as no failures",
    () =>
      Effect.gen(function* () {
        const paused = failing("s1", "overloaded", undefined, 503)
        const wait = 30_000
        const { exit, times } = yield* timesAsked(() => paused, "2 minutes")
        assert.isTrue(Exit.isFailure(exit))
        assert.isAtLeast(times.at(-1)!, wait)
        assert.isBelow(times.at(-2)!, wait)
        // Eight 503s, then every failure but one that is allowed, then a 503 again.
        const last = 8 + options.maxAttempts - 1
        const mixed = yield* timesAsked(
          (count) =>
            count <= 8 || count === last + 1
              ? paused
              : count <= last
                ? failing("s1", "failed", undefined, 500)
                : Effect.succeed(answerOf(["back"])),
          "4 minutes"
        )
        assert.isTrue(Exit.isSuccess(mixed.exit))
        assert.lengthOf(mixed.times, last + 2)
      })
  )

  it.effect("wait as long as the server's Retry-After says", () =>
    Effect.gen(function* () {
      const { exit, times } = yield* timesAsked(
        (count) => (count === 1 ? failing("s1", "overloaded", 7000) : Effect.succeed(answerOf(["now"]))),
        "10 seconds"
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(times, [0, 7000])
    })
  )

  it.effect("are not made of requests the server refuses, nor after a Retry-After of an hour", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* timesAsked(() => failing("s1", "rejected"), "1 minute")).times.length, 1)
      assert.strictEqual((yield* timesAsked(() => failing("s1", "overloaded", 3_600_000), "1 minute")).times.length, 1)
    })
  )

  it.effect("are few for answers that make no sense", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* timesAsked(() => failing("s1", "malformed"), "1 minute")).times.length, 3)
    })
  )

  it.effect("go to another server at once", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(
        backendOf("s1", () => failing("s1", "failed")),
        backendOf("s2", saying("s2"))
      )
      const answer = yield* Routing.backend(pool, options).chat(hello)
      assert.deepStrictEqual(textsOf(answer), ["s2"])
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      const [first, , second] = yield* pool.metrics
      assert.deepStrictEqual([first!.failures, first!.retries, second!.count, second!.retries], [1, 0, 1, 1])
    })
  )

  it.effect("follow a request that takes too long", () =>
    Effect.gen(function* () {
      const stopped = yield* Ref.make(false)
      const pool = yield* poolOf(
        {
          ...defaults,
          timeout: 60,
          backend: backendOf("s1", () => Effect.onInterrupt(Effect.never, () => Ref.set(stopped, true)))
        },
        backendOf("s2", saying("s2"))
      )
      const asking = yield* Effect.forkChild(Routing.backend(pool, options).chat(hello))
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(textsOf(yield* Fiber.join(asking)), ["s2"])
      assert.isTrue(yield* Ref.get(stopped))
    })
  )
})

describe("health", () => {
  it.effect("is asked for only while a server is out, and brings it back", () =>
    Effect.gen(function* () {
      let isDead = true
      let questions = 0
      const backend = backendOf(
        "s1",
        (request) => (isDead ? failing("s1", "unreachable") : saying("s1")(request)),
        Effect.suspend(() => {
          questions++
          return isDead ? failing("s1", "unreachable") : Effect.void
        })
      )
      const pool = yield* poolOf(backend)
      const asking = yield* Effect.forkChild(Routing.backend(pool, options).chat(hello))
      yield* TestClock.adjust("10 seconds")
      const whileOut = questions
      assert.isAbove(whileOut, 1)
      assert.isBelow(whileOut, 8)
      isDead = false
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(textsOf(yield* Fiber.join(asking)), ["s1"])
      assert.strictEqual(questions, whileOut + 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(questions, whileOut + 1)
    })
  )

  it.effect("is no longer asked for when nobody wants the server", () =>
    Effect.gen(function* () {
      let questions = 0
      const dead = backendOf(
        "s1",
        () => failing("s1", "unreachable"),
        Effect.suspend(() => {
          questions++
          return failing("s1", "unreachable")
        })
      )
      const pool = yield* poolOf(dead, backendOf("s2", saying("s2")))
      yield* Routing.backend(pool, options).chat(hello)
      yield* TestClock.adjust("5 minutes")
      const asked = questions
      yield* TestClock.adjust("1 day")
      assert.strictEqual(questions, asked)
      // The next request starts it again.
      yield* Routing.backend(pool, options).chat(hello)
      yield* TestClock.adjust("1 minute")
      assert.isAbove(questions, asked)
    })
  )

  it.effect("is given up on after the time limit, naming every server and what was wrong with it", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(
        backendOf("http://a", () => failing("http://a", "unreachable"), failing("http://a", "unreachable")),
        backendOf("http://b", () => failing("http://b", "unreachable"), Effect.never)
      )
      const asking = yield* Effect.forkChild(Effect.flip(Routing.backend(pool, options).chat(hello)))
      yield* TestClock.adjust("31 seconds")
      const error = yield* Fiber.join(asking)
      assert.strictEqual(error.reason, "noServer")
      assert.include(error.message, "no healthy inference server for 30 s")
      assert.include(error.message, "http://a (http://a is unreachable)")
      assert.include(error.message, "http://b (http://b is unreachable)")
    })
  )

  it.effect("is not asked for where health_check is off: the server is just tried again", () =>
    Effect.gen(function* () {
      let attempts = 0
      const backend = backendOf(
        "s1",
        (request) => (++attempts === 1 ? failing("s1", "unreachable") : saying("s1")(request)),
        Effect.die("asked for its health")
      )
      const pool = yield* poolOf({ ...defaults, backend, healthCheck: false })
      const asking = yield* Effect.forkChild(Routing.backend(pool, options).chat(hello))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(textsOf(yield* Fiber.join(asking)), ["s1"])
    })
  )

  it.effect("is lost after three failures in a row, whoever saw them", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(
        backendOf("s1", () => failing("s1", "failed"), Effect.never),
        { ...defaults, backend: backendOf("s2", saying("s2")), numMaxRequestsAtOnce: 1 }
      )
      const backend = Routing.backend(pool, options)
      for (let i = 0; i < 3; i++) assert.deepStrictEqual(textsOf(yield* backend.chat(hello)), ["s2"])
      assert.deepStrictEqual(
        pool.servers.map(({ isUp }) => isUp),
        [false, true]
      )
    })
  )

  it.effect("of the preferred server decides whether a session stays with it", () =>
    Effect.gen(function* () {
      let isDead = false
      const pool = yield* poolOf(
        backendOf("s1", saying("s1")),
        backendOf("s2", (request) => (isDead ? failing("s2", "unreachable") : saying("s2")(request)), Effect.never)
      )
      const backend = Routing.backend(pool, options, pool.servers[1])
      assert.deepStrictEqual(textsOf(yield* backend.chat(hello)), ["s2"])
      isDead = true
      assert.deepStrictEqual(textsOf(yield* backend.chat(hello)), ["s1"])
    })
  )
})

describe("figures", () => {
  it.effect("are kept over the rolling buffer, and as metrics", () =>
    Effect.gen(function* () {
      let seconds = 0
      const pool = yield* poolOf({
        ...defaults,
        backend: backendOf("figures", () => Effect.delay(Effect.succeed(answerOf(["x"])), Duration.seconds(++seconds))),
        rollingBufferLength: 20
      })
      const backend = Routing.backend(pool, options)
      for (let i = 1; i <= 40; i++) {
        const asking = yield* Effect.forkChild(backend.chat(hello))
        yield* TestClock.adjust(Duration.seconds(i))
        yield* Fiber.join(asking)
      }
      // The last 20 took 21, 22, … 40 seconds and gave 10 tokens each.
      const [train] = yield* pool.metrics
      assert.deepStrictEqual(
        { ...train! },
        {
          server: "figures",
          healthy: true,
          split: "train",
          inFlight: 0,
          limit: 512,
          count: 20,
          failures: 0,
          retries: 0,
          latencyMean: 30.5,
          // 21, 22, …, 40: variance (20² - 1) / 12.
          latencyStd: Math.sqrt(399 / 12),
          latencyMax: 40,
          latencyP95: 39,
          latencyP99: 40,
          tokensPerSecond: 200 / 610
        }
      )
      const snapshot = (yield* Metric.snapshot).find(
        ({ attributes, id }) =>
          id === "atropos.inference.requests.total" &&
          attributes?.["server"] === "figures" &&
          attributes["split"] === "train"
      )
      assert.strictEqual(Number((snapshot?.state as { readonly count: number | bigint } | undefined)?.count), 40)
    })
  )
})
