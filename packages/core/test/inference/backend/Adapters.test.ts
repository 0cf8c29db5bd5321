import { assert, describe, it } from "@effect/vitest"
import { Sampling, ServerManager, ServerSettings, Tokenizer } from "@atropos/core"
import { Effect, Exit, Fiber, Layer, References, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Waits from "../../base/Waits.ts"
import * as Adapters from "../../../src/inference/backend/Adapters.ts"
import * as LoadedPolicies from "../../../src/inference/backend/LoadedPolicies.ts"
import * as Transport from "../../../src/inference/wire/Transport.ts"
import * as TestServer from "../TestServer.ts"

const hello: ServerManager.ChatRequest = { messages: [{ role: "user", content: "hello" }] }

/**
 * A server that lists and serves adapters as vLLM does, under whatever names are loaded; its answers say what was asked
 * for.
 */
const vllmWith = (loaded: Array<string>, list: () => TestServer.Reply = () => listOf(loaded)) =>
  TestServer.make(
    ({ body, method, path }) => {
      if (method === "GET") return list()
      const model = typeof body["model"] === "string" ? body["model"] : "base"
      if (model !== "base" && !loaded.includes(model)) return missing(model)
      return path.endsWith("/generate")
        ? { json: { finish_reasons: ["stop"], logprobs: [[{ "7": -0.5 }]], token_ids: [[7]] } }
        : TestServer.chatReply([model])
    },
    { isProbed: true }
  )

const listOf = (loaded: ReadonlyArray<string>, owner = "somebody"): TestServer.Reply => ({
  json: { object: "list", data: ["base", ...loaded].map((id) => ({ id, object: "model", owned_by: owner })) }
})

const missing = (model: string): TestServer.Reply => ({
  status: 404,
  json: { error: { message: `The model \`${model}\` does not exist.`, type: "NotFoundError", code: 404 } }
})

const managing = <A, E>(
  url: string,
  use: (manager: ServerManager.ServerManager["Service"]) => Effect.Effect<A, E>,
  more: Partial<ServerSettings.Server> = {}
) =>
  ServerManager.ServerManager.use(use).pipe(
    Effect.provide(
      ServerManager.layer({
        servers: [{ baseUrl: `${url}/v1`, modelName: "base", adapterPrefix: "policy-", ...more }]
      }).pipe(Layer.provide(Tokenizer.layerBytes))
    ),
    Effect.provideService(References.MinimumLogLevel, "None")
  )

/** Which model answered, and the version it was taken for. */
const asked = (manager: ServerManager.ServerManager["Service"]) =>
  Effect.map(manager.answer(hello), ([choice]) => [choice!.text, choice!.policyVersion])

/** Asks until this model answers: the list is on its way. */
const until = (manager: ServerManager.ServerManager["Service"], model: string) =>
  Waits.until(`the model ${model}`, asked(manager), ([text]) => text === model)

describe("adapter_prefix", () => {
  it.effect(
    "asks with the newest adapter of the list, which is looked at once a second, and takes its number for the version",
    () =>
      Effect.gen(function* () {
        const loaded = ["other-v9", "policy-run-v9", "policy-run-v10"]
        const server = yield* vllmWith(loaded)
        yield* managing(server.url, (manager) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* until(manager, "policy-run-v10"), ["policy-run-v10", 10])
            const lists = () => server.asked.filter(({ method }) => method === "GET").length
            const before = lists()
            loaded.push("policy-run-v11")
            assert.deepStrictEqual(yield* asked(manager), ["policy-run-v10", 10])
            assert.strictEqual(lists(), before)
            yield* TestClock.adjust("1 second")
            assert.deepStrictEqual(yield* until(manager, "policy-run-v11"), ["policy-run-v11", 11])
          })
        )
      })
  )

  it.effect("asks for no answer while there is no adapter, and says what it waits for", () =>
    Effect.gen(function* () {
      const loaded: Array<string> = []
      const server = yield* vllmWith(loaded)
      const settings = ServerSettings.server.complete({ baseUrl: `${server.url}/v1`, adapterPrefix: "policy-" })
      const adapters = yield* Effect.flatMap(Transport.make, (transport) => Adapters.make(settings, transport))
      const asking = adapters.asking((adapter) => Effect.succeed(adapter?.name))
      const refusal = yield* Effect.flip(asking)
      assert.deepInclude(refusal, { reason: "overloaded", status: 503 })
      assert.match(
        refusal.message,
        /no adapter whose name starts with policy- \(adapter_prefix\): waiting for a trainer/
      )
      loaded.push("policy-run-v0")
      yield* adapters.refresh()
      assert.strictEqual(yield* asking, "policy-run-v0")
      // As after a restart of the server.
      loaded.splice(0)
      yield* adapters.refresh()
      assert.strictEqual((yield* Effect.flip(asking)).reason, "overloaded")
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect(
    "waits for the version that rollouts need, of the trainer that counts it, and while nothing is listed",
    () =>
      Effect.gen(function* () {
        const loaded = ["policy-run-v1"]
        let isAway = false
        const server = yield* vllmWith(loaded, () =>
          isAway ? { status: 500, json: { error: { message: "away" } } } : listOf(loaded)
        )
        const settings = ServerSettings.server.complete({ baseUrl: `${server.url}/v1`, adapterPrefix: "policy-" })
        const adapters = yield* Effect.flatMap(Transport.make, (transport) => Adapters.make(settings, transport))
        const asking = adapters.asking((adapter) => Effect.succeed(adapter?.name))
        assert.strictEqual(yield* asking, "policy-run-v1")
        yield* adapters.refresh(2)
        const late = yield* Effect.flip(asking)
        assert.strictEqual(late.reason, "overloaded")
        assert.match(late.message, /has only policy-run-v1: waiting for the trainer to load version 2/)
        loaded.push("policy-run-v2")
        yield* adapters.refresh(2)
        assert.strictEqual(yield* asking, "policy-run-v2")
        // The list of before may hide newer ones.
        isAway = true
        yield* adapters.refresh(2)
        assert.match((yield* Effect.flip(asking)).message, /does not list its adapters/)
        isAway = false
        assert.strictEqual(yield* asking, "policy-run-v2")
        // A trainer that resumed from its checkpoint counts again from there.
        loaded.push("policy-resumed-v1")
        yield* adapters.refresh()
        yield* adapters.refresh(1)
        assert.strictEqual(yield* asking, "policy-resumed-v1")
        yield* adapters.refresh(2)
        assert.strictEqual((yield* Effect.flip(asking)).reason, "overloaded")
        loaded.push("policy-again-v0")
        assert.strictEqual((yield* Effect.flip(asking)).reason, "overloaded")
      }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("takes no older adapter once it was told to look, however short the time since the last list", () =>
    Effect.gen(function* () {
      const loaded = ["policy-run-v1"]
      const server = yield* vllmWith(loaded)
      yield* managing(server.url, (manager) =>
        Effect.gen(function* () {
          yield* until(manager, "policy-run-v1")
          // The clock stands still, so nothing is polled.
          loaded.push("policy-run-v2")
          assert.deepStrictEqual(yield* asked(manager), ["policy-run-v1", 1])
          yield* manager.refresh()
          assert.deepStrictEqual(yield* asked(manager), ["policy-run-v2", 2])
        })
      )
    })
  )

  it.effect("asks with another one when the adapter has just been unloaded", () =>
    Effect.gen(function* () {
      const loaded = ["policy-v1", "policy-v2"]
      const server = yield* vllmWith(loaded)
      yield* managing(server.url, (manager) =>
        Effect.gen(function* () {
          yield* until(manager, "policy-v2")
          // The clock stands still: only the refusal can tell.
          loaded.splice(0, 2, "policy-v3")
          const answers = yield* Effect.forEach([1, 2, 3, 4], () => asked(manager), { concurrency: "unbounded" })
          assert.deepStrictEqual(
            answers,
            [1, 2, 3, 4].map(() => ["policy-v3", 3])
          )
          const figures = yield* manager.metrics
          assert.strictEqual(figures[0]!.failures, 0)
        })
      )
    })
  )

  it.effect("tries no other adapter when the request itself is refused", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(
        ({ method }) =>
          method === "GET"
            ? listOf(["policy-v1"])
            : { status: 400, json: { error: { message: "This model's maximum context length is 8 tokens." } } },
        { isProbed: true }
      )
      yield* managing(server.url, (manager) =>
        Effect.gen(function* () {
          const posts = () => server.asked.filter(({ method }) => method === "POST")
          const isAsked = () => posts().at(-1)!.body["model"] === "policy-v1"
          const refusal = Waits.until("the model policy-v1", Effect.flip(manager.answer(hello)), isAsked)
          assert.strictEqual((yield* refusal).reason, "rejected")
          assert.strictEqual(posts().filter(({ body }) => body["model"] === "policy-v1").length, 1)
        })
      )
    })
  )

  it.effect("names it to vLLM's token endpoint too, and to SGLang beside the model", () =>
    Effect.gen(function* () {
      for (const serverType of ["vllm", "sglang"] as const) {
        const logprobsMode = serverType === "vllm" ? "raw" : "tempered"
        const server = yield* TestServer.make(
          ({ body, method, path }) => {
            if (method === "GET") return listOf(["policy-v4"], serverType === "vllm" ? "atropos" : "sglang")
            if (!path.endsWith("/generate")) return TestServer.chatReply([String(body["lora_path"] ?? body["model"])])
            return "input_ids" in body
              ? { json: [{ meta_info: { output_token_logprobs: [[-0.5, 7]], finish_reason: { type: "stop" } } }] }
              : { json: { finish_reasons: ["stop"], logprobs: [[{ "7": -0.5 }]], token_ids: [[7]] } }
          },
          { isProbed: true }
        )
        yield* managing(
          server.url,
          (manager) =>
            Effect.gen(function* () {
              yield* until(manager, "policy-v4")
              const sampling = Sampling.ofRequest({}, logprobsMode)
              assert.deepStrictEqual(yield* manager.tokens({ inputIds: [1] }), [
                {
                  tokens: [7],
                  logprobs: [-0.5],
                  finishReason: "stop",
                  policyVersion: 4,
                  sampling,
                  served: { sent: 0, answered: 0 }
                }
              ])
              const { body } = server.asked.at(-1)!
              assert.deepStrictEqual(
                [body["model"], body["lora_path"]],
                serverType === "vllm" ? ["policy-v4", undefined] : [undefined, "policy-v4"]
              )
              const [trajectory] = yield* manager.chat(hello)
              assert.strictEqual(trajectory!.policyVersion, 4)
            }),
          { serverType, logprobsMode }
        )
      }
    })
  )

  it.effect("believes a server that says which version it sampled with", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(
        ({ body, method }) =>
          method === "GET"
            ? listOf(["policy-v4"])
            : TestServer.chatReply([String(body["model"])], { policy_version: 6 }),
        { isProbed: true }
      )
      yield* managing(server.url, (manager) =>
        Effect.map(until(manager, "policy-v4"), ([, version]) => assert.strictEqual(version, 6))
      )
    })
  )
})

/** An `atropos policy` that a trainer loads policies into; its answers state the newest version. */
const policyWith = (loaded: Array<string>) =>
  TestServer.make(
    ({ method }) => {
      const model = { object: "model", owned_by: "atropos" }
      return method === "GET"
        ? {
            json: {
              object: "list",
              data: [
                { ...model, id: "base", parent: null, policy_version: 0 },
                ...loaded.map((id) => ({ ...model, id, parent: "base", policy_version: 0 }))
              ]
            }
          }
        : TestServer.chatReply(["hello"], { policy_version: loaded.length })
    },
    { isProbed: true }
  )

describe("atropos policy without adapter_prefix", () => {
  it.live("uses the model itself only until a trainer has loaded weights, and waits for them after a restart", () =>
    Effect.gen(function* () {
      const loaded: Array<string> = []
      const server = yield* policyWith(loaded)
      const settings = ServerSettings.server.complete({ baseUrl: `${server.url}/v1` })
      const transport = yield* Transport.make
      const none = Adapters.makeNone()
      const adapters = LoadedPolicies.make(settings, transport, none)
      const asking = adapters.asking(Effect.succeed)
      const refusal = Effect.map(Effect.flip(asking), ({ message, reason }) => `${reason}: ${message}`)
      // No trainer has published yet.
      yield* none.refresh()
      assert.isUndefined(yield* asking)
      assert.isEmpty(server.asked)
      // A service that still knows the last version of a trainer, and a server that was restarted.
      yield* none.refresh(12)
      assert.match(
        yield* refusal,
        /^overloaded: .* has only the weights it was started with: waiting for the trainer to load version 12/
      )
      // It resumed from an older checkpoint.
      loaded.push("policy-run-v10")
      yield* Waits.until("the weights of the trainer", Effect.exit(asking), Exit.isSuccess)
      yield* none.refresh(11)
      assert.match(yield* refusal, /has only policy-run-v10: waiting for the trainer to load version 11/)
      loaded.push("policy-run-v11")
      yield* Waits.until("the next weights", Effect.exit(asking), Exit.isSuccess)
      // Any weights that a trainer loaded.
      yield* none.refresh(0)
      assert.isUndefined(yield* asking)
      loaded.splice(0)
      yield* Waits.until("the restart", Effect.exit(asking), Exit.isFailure)
      assert.match(yield* refusal, /waiting for the trainer to load version 0 or newer/)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("is asked through the manager for no answer of older weights", () =>
    Effect.gen(function* () {
      const server = yield* policyWith([])
      yield* managing(
        server.url,
        (manager) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* asked(manager), ["hello", 0])
            yield* manager.refresh(1)
            const waiting = yield* Effect.forkChild(asked(manager))
            const lists = () => server.asked.filter(({ path }) => path === "/v1/models").length
            const before = lists()
            yield* Waits.until("a look at its models", Effect.sync(lists), (count) => count > before)
            yield* Fiber.interrupt(waiting)
            assert.lengthOf(
              server.asked.filter(({ method }) => method === "POST"),
              1
            )
          }),
        { adapterPrefix: null }
      )
    })
  )
})

describe("Adapters.newestOf", () => {
  it("is of the run that was loaded last, whatever an earlier one has left there", () => {
    assert.deepStrictEqual(Adapters.newestOf(["policy-a-v100", "policy-b-v2", "policy-b-v10"]), {
      name: "policy-b-v10",
      policyVersion: 10
    })
    assert.deepStrictEqual(Adapters.newestOf(["policy-v3", "policy-final"]), {
      name: "policy-final",
      policyVersion: undefined
    })
    assert.isUndefined(Adapters.newestOf([]))
  })

  it.prop(
    "is the largest number however a run's adapters are listed",
    [Schema.NonEmptyArray(Schema.Natural)],
    ([versions]) => {
      const newest = Adapters.newestOf(versions.map((version) => `policy-x-v${version}`))
      assert.strictEqual(newest!.policyVersion, Math.max(...versions))
    }
  )
})
