import { assert, describe, it } from "@effect/vitest"
import { Message, ServerManager, Tokenizer } from "@atropos/core"
import { Clock, ConfigProvider, Effect, Fiber, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import * as Waits from "../base/Waits.ts"
import * as TestServer from "./TestServer.ts"

const hello = { messages: [Message.user("hello")] }
const noEnvironment = ConfigProvider.layer(ConfigProvider.fromUnknown({}))

/** Runs with a manager over servers of these addresses. */
const managing = <A, E, R>(
  urls: ReadonlyArray<string>,
  use: (manager: ServerManager.ServerManager["Service"]) => Effect.Effect<A, E, R>,
  options: Omit<ServerManager.Options, "servers"> & {
    /** Seconds of each server. */
    readonly timeouts?: ReadonlyArray<number>
    readonly numMaxRequestsAtOnce?: number
  } = {}
) => {
  const { numMaxRequestsAtOnce = 512, timeouts = [], ...rest } = options
  const servers = urls.map((baseUrl, at) => ({ baseUrl, timeout: timeouts[at] ?? 1200, numMaxRequestsAtOnce }))
  return ServerManager.ServerManager.use(use).pipe(
    Effect.provide(ServerManager.layer({ servers, ...rest }).pipe(Layer.provide(noEnvironment))),
    // These servers are meant to fail.
    Effect.provideService(References.MinimumLogLevel, "None")
  )
}
const texts = (choices: ReadonlyArray<ServerManager.Choice>) => choices.map(({ text }) => text)

describe("ServerManager over HTTP", () => {
  it.live("keeps to its limit of requests at once", () =>
    Effect.gen(function* () {
      // Answers only when as many requests are open as may be: a deadlock if the manager sent fewer.
      const waiting: Array<() => void> = []
      const server = yield* TestServer.make(
        () =>
          new Promise((resolve) => {
            waiting.push(() => resolve(TestServer.chatReply(["hi"])))
            if (waiting.length === 3) for (const answer of waiting.splice(0)) answer()
          })
      )
      yield* managing(
        [server.url],
        (manager) =>
          Effect.forEach(Array.from({ length: 12 }), () => manager.answer(hello), { concurrency: "unbounded" }),
        { numMaxRequestsAtOnce: 3 }
      )
      assert.strictEqual(server.max(), 3)
      assert.strictEqual(server.asked.length, 12)
    })
  )

  it.live("goes to another server when one is unreachable, dies mid-way, or fails", () =>
    Effect.gen(function* () {
      const good = yield* TestServer.make(() => TestServer.chatReply(["alive"]))
      const breaking = yield* TestServer.make(() => "break")
      const failing = yield* TestServer.make(() => ({ status: 500, text: "CUDA out of memory" }))
      const confused = yield* TestServer.make(() => ({ text: "<html>proxy error</html>" }))
      const dead = yield* TestServer.nobody
      for (const bad of [dead, breaking.url, failing.url, confused.url]) {
        yield* managing([bad, good.url], (manager) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(texts(yield* manager.answer(hello)), ["alive"])
            const [first] = yield* manager.metrics
            assert.deepStrictEqual([first!.server, first!.failures], [bad, 1])
          })
        )
      }
      assert.strictEqual(good.asked.length, 4)
    })
  )

  it.effect("tries again after a 500, and after the time a 429 names", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const times: Array<number> = []
      const server = yield* TestServer.make((_, count) => {
        times.push(clock.currentTimeMillisUnsafe())
        if (count === 1) return { status: 500, text: "warming up" }
        if (count === 2)
          return { status: 429, json: { error: { message: "slow down" } }, headers: { "retry-after": "90" } }
        return TestServer.chatReply(["ok"])
      })
      yield* managing([server.url], (manager) =>
        Effect.gen(function* () {
          const answering = yield* Effect.forkChild(manager.answer(hello))
          const isAnswered = Effect.sync(() => answering.pollUnsafe() !== undefined)
          yield* Waits.until("an answer", Effect.andThen(TestClock.adjust("1 second"), isAnswered), (is) => is)
          assert.deepStrictEqual(texts(yield* Fiber.join(answering)), ["ok"])
          const [train] = yield* manager.metrics
          assert.deepStrictEqual([train!.count, train!.failures, train!.retries], [1, 2, 2])
        })
      )
      assert.strictEqual(server.asked.length, 3)
      assert.isAtLeast(times[2]! - times[1]!, 90_000)
    })
  )

  it.live("does not repeat what the server refuses, and says why it did", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => ({
        status: 404,
        json: { error: { message: "The model `default` does not exist." } }
      }))
      const error = yield* managing([server.url], (manager) => Effect.flip(manager.answer(hello)))
      assert.deepStrictEqual([error.reason, error.status, error.server], ["rejected", 404, server.url])
      assert.include(error.message, "The model `default` does not exist.")
      assert.strictEqual(server.asked.length, 1)
    })
  )

  it.live("gives up a server that hangs after the time limit, closing the connection", () =>
    Effect.gen(function* () {
      const hanging = yield* TestServer.make(() => "hang")
      const good = yield* TestServer.make(() => TestServer.chatReply(["alive"]))
      yield* managing(
        [hanging.url, good.url],
        (manager) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(texts(yield* manager.answer(hello)), ["alive"])
            yield* Effect.promise(() => hanging.gaveUp)
          }),
        { timeouts: [0.2] }
      )
      assert.strictEqual(hanging.asked.length, 1)
    })
  )

  it.live("says which servers it tried when none is healthy, even where the health question hangs", () =>
    Effect.gen(function* () {
      const dead = yield* TestServer.nobody
      const zombie = yield* TestServer.make(({ method }) => (method === "GET" ? "hang" : "break"))
      const error = yield* managing([dead, zombie.url], (manager) => Effect.flip(manager.answer(hello)), {
        serverWait: 0.3
      })
      assert.strictEqual(error.reason, "noServer")
      assert.include(error.message, `${dead} (`)
      assert.include(error.message, "connect ECONNREFUSED")
      assert.include(error.message, zombie.url)
    })
  )

  it.live("goes back to a server that has come back, asking it for its models and never for a generation", () =>
    Effect.gen(function* () {
      let isFirst = true
      const back = yield* TestServer.make(
        ({ path }) => {
          if (path === "/models") return { json: { data: [] } }
          if (path === "/openapi.json") return { status: 404, text: "" }
          if (!isFirst) return TestServer.chatReply(["back"])
          isFirst = false
          return "break"
        },
        { isProbed: true }
      )
      yield* managing([back.url], (manager) =>
        Effect.map(manager.answer(hello), (choices) => assert.deepStrictEqual(texts(choices), ["back"]))
      )
      assert.deepStrictEqual(
        back.asked.map(({ method, path }) => `${method} ${path}`),
        ["GET /models", "GET /openapi.json", "POST /chat/completions", "GET /models", "POST /chat/completions"]
      )
    })
  )

  it.live("names the default servers, and what to do, when nothing was configured", () =>
    Effect.gen(function* () {
      const error = yield* ServerManager.ServerManager.use((manager) => Effect.flip(manager.answer(hello))).pipe(
        Effect.provide(ServerManager.layer({ serverWait: 0.2 }).pipe(Layer.provide(noEnvironment)))
      )
      assert.strictEqual(error.reason, "noServer")
      for (const port of [9004, 9005, 9006, 9007]) assert.include(error.message, `http://localhost:${port}/v1`)
      assert.include(error.message, "--openai.base_url")
    })
  )

  it.live("splits a large n and makes trajectories of the answers with the tokenizer's tokens", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(({ body }, count) =>
        TestServer.chatReply(Array.from({ length: Number(body["n"] ?? 1) }, (_, i) => `answer ${count}.${i}`))
      )
      const trajectories = yield* managing([server.url], (manager) => manager.chat({ ...hello, n: 10 })).pipe(
        Effect.provide(Tokenizer.layerBytes)
      )
      assert.strictEqual(trajectories.length, 10)
      assert.deepStrictEqual(
        server.asked.map(({ body }) => body["n"]),
        [8, 2]
      )
      for (const { completion, mask, tokens } of trajectories) {
        const trained = Array.from(tokens).filter((_, at) => mask[at] === 1)
        assert.include(Tokenizer.bytes.decode(trained), completion)
        assert.strictEqual(mask.length, tokens.length)
      }
    })
  )

  it.live("uses the tokenizer that the servers' settings name, and only one", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => TestServer.chatReply(["hi"]))
      const managed = (names: ReadonlyArray<string>) =>
        ServerManager.ServerManager.use((manager) => manager.chat(hello)).pipe(
          Effect.provide(
            ServerManager.layer({
              servers: names.map((tokenizerName) => ({ baseUrl: server.url, tokenizerName }))
            }).pipe(Layer.provide(noEnvironment))
          )
        )
      const [trajectory] = yield* managed(["bytes", "none"])
      assert.include(Tokenizer.bytes.decode(trajectory!.tokens), "hi<|im_end|>")
      const [untokenized] = yield* managed(["none"])
      assert.strictEqual(untokenized!.tokens.length, 0)
      const error = yield* Effect.flip(managed(["bytes", "owner/other"]))
      assert.include(error.message, "different tokenizers (bytes, owner/other)")
    })
  )

  it.live("says what it needs where nobody can do it", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => TestServer.chatReply(["hi"]))
      const error = yield* managing([server.url], (manager) => Effect.flip(manager.tokens({ inputIds: [1, 2] })))
      assert.strictEqual(error.reason, "unsupported")
      assert.include(error.message, "vLLM and atropos policy support token-level completions")
      assert.strictEqual(server.asked.length, 0)
    })
  )
})

describe("ServerManager.layerBackends", () => {
  const policy: ServerManager.Backend = {
    server: "policy in this process",
    modelName: "tiny",
    capabilities: { tokens: true, promptLogprobs: false },
    chat: () => Effect.die("asked for text, though it has tokens"),
    complete: () => Effect.die("asked for text, though it has tokens"),
    tokens: ({ n = 1 }) =>
      Effect.succeed(
        Array.from({ length: n }, (_, i) => ({
          tokens: [97 + i],
          logprobs: [-i],
          finishReason: "length",
          policyVersion: 9
        }))
      ),
    promptLogprobs: () => Effect.die("not asked"),
    health: Effect.void
  }

  it.effect("manages a policy of one's own", () =>
    Effect.gen(function* () {
      const manager = yield* ServerManager.ServerManager
      const trajectories = yield* manager.chat({ ...hello, n: 3 })
      assert.deepStrictEqual(
        trajectories.map(({ completion, policyVersion }) => [completion, policyVersion]),
        [
          ["a", 9],
          ["b", 9],
          ["a", 9]
        ]
      )
      assert.deepStrictEqual([manager.serverCount, manager.modelName], [1, "tiny"])
      const [train] = yield* manager.metrics
      // Two requests, as no more than two completions may be asked for in one.
      assert.deepStrictEqual([train!.count, train!.inFlight], [2, 0])
    }).pipe(
      Effect.provide(
        ServerManager.layerBackends([policy], { maxNCompletions: 2 }).pipe(Layer.provide(Tokenizer.layerBytes))
      )
    )
  )
})

describe("ServerManager.layerScripted", () => {
  it.effect("hands completions out in order, as trajectories with exact tokens and logprobs", () =>
    Effect.gen(function* () {
      const manager = yield* ServerManager.ServerManager
      const [first, second, third] = yield* manager.chat({ ...hello, n: 3 })
      assert.deepStrictEqual([first!.completion, second!.completion, third!.completion], ["one", "two", "one"])
      assert.strictEqual(Message.text(first!.messages.at(-1)!), "one")
      const trained = Array.from(first!.tokens).filter((_, at) => first!.mask[at] === 1)
      assert.strictEqual(Tokenizer.bytes.decode(trained, { skipSpecialTokens: true }), "one")
      assert.strictEqual(trained.at(-1), Tokenizer.bytes.eosTokenId)
      first!.mask.forEach((trained, at) => assert.strictEqual(first!.logprobs![at]! <= 0, trained === 1))
      assert.strictEqual((yield* manager.complete({ prompt: "go on" }))[0]!.completion, "two")
    }).pipe(Effect.provide(ServerManager.layerScripted(["one", "two"])))
  )

  it.effect("shows each request to a function, cuts what is too long, and marks the policy version", () =>
    Effect.gen(function* () {
      const manager = yield* ServerManager.ServerManager
      const [whole] = yield* manager.chat(hello)
      assert.deepStrictEqual([whole!.completion, whole!.finishReason, whole!.policyVersion], ["HELLO", "stop", 3])
      const [cut] = yield* manager.chat({ ...hello, maxTokens: 2 })
      assert.deepStrictEqual([cut!.completion, cut!.finishReason], ["HE", "length"])
    }).pipe(
      Effect.provide(
        ServerManager.layerScripted(
          (request) => ("messages" in request ? Message.text(request.messages.at(-1)!) : request.prompt).toUpperCase(),
          { policyVersion: () => 3 }
        )
      )
    )
  )

  it.effect("fails as the script says", () =>
    Effect.gen(function* () {
      const manager = yield* ServerManager.ServerManager
      const error = yield* Effect.flip(manager.chat(hello))
      assert.strictEqual(error.reason, "rejected")
    }).pipe(
      Effect.provide(
        ServerManager.layerScripted(() =>
          Effect.fail(new ServerManager.InferenceError({ reason: "rejected", server: "script", message: "no" }))
        )
      )
    )
  )

  it.effect("answers in place of a server under `testing`", () =>
    Effect.gen(function* () {
      const manager = yield* ServerManager.ServerManager
      assert.strictEqual((yield* manager.chat(hello))[0]!.completion, "hello")
    }).pipe(Effect.provide(ServerManager.layer({ testing: true })))
  )

  it.effect("gives tracked sessions whose turns make one sequence", () =>
    Effect.gen(function* () {
      const manager = yield* ServerManager.ServerManager
      const session = yield* manager.tracked()
      const [first] = yield* session.chat(hello)
      yield* session.chat({ messages: [...hello.messages, first!.message, Message.user("and now?")] })
      const trajectories = yield* session.trajectories
      assert.strictEqual(trajectories.length, 1)
      assert.strictEqual(trajectories[0]!.completion, "two")
    }).pipe(Effect.provide(ServerManager.layerScripted(["one", "two"])))
  )
})
