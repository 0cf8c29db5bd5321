/** The policy server and the back end in process on the real engine, with a model of characters and random weights. */
import { assert, layer } from "@effect/vitest"
import * as Identify from "../../../core/src/inference/backend/Identify.ts"
import { ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Fiber, Layer, Struct } from "effect"
import { HttpServer } from "effect/http"
import OpenAI from "openai"
import * as Model from "../../src/model/Model.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as DecodeGraph from "../../src/engine/DecodeGraph.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as PolicyBackend from "../../src/server/PolicyBackend.ts"
import * as PolicyServer from "../../src/server/PolicyServer.ts"
import { until } from "../server/TestPolicyServer.ts"

const model = TinyModel.make({ characters: "abcdefghij=\n", seed: 1, maxPositions: 256 })
const other = TinyModel.make({ characters: "abcdefghij=\n", seed: 2, maxPositions: 256 })
const served = { modelName: "tiny", maxSequenceTokens: 256 }

const failure = (ask: Promise<unknown>) => Effect.flip(Effect.tryPromise(() => ask))

const base = Layer.mergeAll(
  Engine.layer({
    model: DecodeGraph.make(Model.decodable(model)),
    initial: { policy: "initial", policyVersion: 0, parameters: model.initial },
    device: "cpu",
    settings: { maxRows: 8, maxWaiting: 8 }
  }),
  Layer.succeed(Tokenizer.Tokenizer, model.tokenizer)
)
const server = PolicyServer.layer({
  ...served,
  host: "127.0.0.1",
  port: 0,
  readAdapter: () => Effect.succeed(other.initial)
})

layer(Layer.provideMerge(server, base), { excludeTestServices: true })("real engine", (it) => {
  const url = Effect.map(HttpServer.HttpServer, ({ address }) => HttpServer.formatAddress(address))
  const client = Effect.map(url, (root) => new OpenAI({ baseURL: `${root}/v1`, apiKey: "none", maxRetries: 0 }))
  const asked = { model: "tiny", prompt: "abc=", max_tokens: 24, temperature: 1, seed: 3 }

  it.effect("streams what it says whole, stops where it is told, and scores what it sampled", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const whole = yield* Effect.promise(() => openai.completions.create({ ...asked, logprobs: 2 }))
      const [choice] = whole.choices
      const streamed = yield* Effect.promise(async () => {
        let text = ""
        for await (const chunk of await openai.completions.create({ ...asked, stream: true })) {
          text += chunk.choices[0]?.text ?? ""
        }
        return text
      })
      assert.strictEqual(streamed, choice!.text)
      assert.isAbove(choice!.text.length, 4)
      const stop = choice!.text.slice(2, 4)
      const stopped = yield* Effect.promise(() => openai.completions.create({ ...asked, stop }))
      assert.strictEqual(stopped.choices[0]!.text, choice!.text.slice(0, choice!.text.indexOf(stop)))
      // The prompt and what followed, scored as one prompt, has the logprobs it was sampled with.
      const echoed = yield* Effect.promise(() =>
        openai.completions.create({
          model: "tiny",
          prompt: `abc=${choice!.text}`,
          max_tokens: 0,
          echo: true,
          logprobs: 0,
          temperature: 1
        })
      )
      const sampled = choice!.logprobs!.token_logprobs!.slice(0, choice!.text.length)
      const scored = echoed.choices[0]!.logprobs!.token_logprobs!.slice(4)
      assert.strictEqual(scored.length, sampled.length)
      for (const [t, logprob] of sampled.entries()) assert.closeTo(scored[t]!, logprob, 1e-5)
    })
  )

  it.effect("core's manager gets the same tokens and logprobs over HTTP as in process", () =>
    Effect.gen(function* () {
      const root = yield* url
      const services = yield* Effect.context<Engine.Engine | Tokenizer.Tokenizer>()
      const request = { inputIds: [1, 2, 3, 11], n: 4, maxTokens: 20, temperature: 1, seed: 9, stop: ["a"] }
      // All but when they were asked and answered.
      const ask = Effect.flatMap(ServerManager.ServerManager, (servers) => servers.tokens(request)).pipe(
        Effect.map((choices) => choices.map((choice) => Struct.omit(choice, ["served"])))
      )
      const overHttp = yield* ask.pipe(
        Effect.provide(ServerManager.layer({ servers: [{ serverType: "vllm", baseUrl: `${root}/v1` }] }))
      )
      const inProcess = yield* ask.pipe(
        Effect.provide(PolicyBackend.layerServerManager(served).pipe(Layer.provide(Layer.succeedContext(services))))
      )
      assert.deepStrictEqual(overHttp, inProcess)
      assert.strictEqual(overHttp.length, 4)
      assert.strictEqual(new Set(overHttp.map(({ tokens }) => tokens.join())).size > 1, true)
      assert.isTrue(overHttp.every(({ policyVersion }) => policyVersion === 0))
    })
  )

  it.effect(
    "the question for what logprobs are of is answered by a real engine: after temperature, over all tokens",
    () =>
      Effect.gen(function* () {
        const services = yield* Effect.context<Engine.Engine | Tokenizer.Tokenizer>()
        const { tokens } = yield* ServerManager.ServerManager.pipe(
          Effect.provide(PolicyBackend.layerServerManager(served).pipe(Layer.provide(Layer.succeedContext(services))))
        )
        assert.strictEqual(yield* Identify.measured({ server: "engine", tokens }, "policy"), "tempered")
        // A server that gave raw logprobs, and one that gave those of what was left to draw from.
        const as = (temperature: number) => (request: Parameters<typeof tokens>[0]) =>
          tokens({ ...request, temperature })
        assert.strictEqual(yield* Identify.measured({ server: "engine", tokens: as(1) }, "policy"), "raw")
        const left: typeof tokens = (request) =>
          Effect.map(tokens(request), (choices) => choices.map((choice) => ({ ...choice, logprobs: [0] })))
        assert.strictEqual(yield* Identify.measured({ server: "engine", tokens: left }, "policy"), "processed")
      })
  )

  it.effect("sees of a chat the contents, a line each", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const messages = ["ab", "c"].map((content) => ({ role: "user" as const, content }))
      const chat = yield* Effect.promise(() => openai.chat.completions.create({ model: "tiny", messages, seed: 1 }))
      const text = yield* Effect.promise(() => openai.completions.create({ ...asked, prompt: "ab\nc\n" }))
      assert.strictEqual(chat.usage?.prompt_tokens, 5)
      assert.strictEqual(text.usage?.prompt_tokens, 5)
    })
  )

  it.effect("refuses characters and tokens that the model does not know, and what does not fit", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const unknown = yield* failure(openai.completions.create({ ...asked, prompt: "xyz" }))
      assert.include(String(unknown.cause), "400")
      const ids = yield* failure(openai.completions.create({ ...asked, prompt: [1, 99] }))
      assert.include(String(ids.cause), "400")
      const long = yield* failure(openai.completions.create({ ...asked, prompt: "a".repeat(300) }))
      assert.include(String(long.cause), "400")
    })
  )

  it.effect("frees rows when the client goes away, and says 429 when all are taken", () =>
    Effect.gen(function* () {
      const root = yield* url
      const engine = yield* Engine.Engine
      const body = { prompt: "abc=", max_tokens: 250, n: 8, ignore_eos: true }
      const post = (given: object) =>
        Effect.promise((signal) =>
          fetch(`${root}/v1/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(given),
            signal
          }).then((response) => response.json().then((json) => ({ status: response.status, json })))
        )
      const requests = yield* Effect.forkChild(Effect.forEach([1, 2], () => post(body), { concurrency: "unbounded" }))
      let busy = 0
      while (busy < 16) {
        const { running, waiting } = yield* engine.status
        busy = running + waiting
      }
      assert.strictEqual((yield* post({ ...body, n: 1 })).status, 429)
      yield* Fiber.interrupt(requests)
      let isIdle = false
      const watch = yield* Effect.forkChild(
        Effect.forever(
          Effect.map(engine.status, ({ running, waiting }) => {
            isIdle = running + waiting === 0
          })
        )
      )
      yield* until(() => isIdle)
      yield* Fiber.interrupt(watch)
      assert.strictEqual((yield* post({ prompt: "abc=", max_tokens: 2 })).status, 200)
    })
  )

  it.effect("samples with new weights after a swap over HTTP, and says so", () =>
    Effect.gen(function* () {
      const root = yield* url
      const openai = yield* client
      const greedy = { ...asked, temperature: 0, logprobs: 0 }
      const before = yield* Effect.promise(() => openai.completions.create(greedy))
      const reply = yield* Effect.promise(() =>
        fetch(`${root}/v1/load_lora_adapter`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ lora_name: "policy-v5", lora_path: "/other" })
        })
      )
      assert.strictEqual(reply.status, 200)
      const after = yield* Effect.promise(() => openai.completions.create(greedy).withResponse())
      assert.strictEqual(after.response.headers.get("x-policy-version"), "5")
      assert.notDeepEqual(after.data.choices[0]!.logprobs, before.choices[0]!.logprobs)
      const old = yield* Effect.promise(() => openai.completions.create({ ...greedy, model: "initial" }))
      assert.deepStrictEqual(old.choices[0]!.logprobs, before.choices[0]!.logprobs)
    })
  )
})
