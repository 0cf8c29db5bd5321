import { assert, describe, it } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Inspectable, Redacted, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { inspect } from "node:util"
import { zstdDecompressSync } from "node:zlib"
import type { Address } from "../../src/tinker/client/Address.ts"
import * as SamplingSession from "../../src/tinker/client/SamplingSession.ts"
import * as Session from "../../src/tinker/client/Session.ts"
import * as TrainedModel from "../../src/tinker/client/TrainedModel.ts"
import * as ForwardBackward from "../../src/tinker/protocol/ForwardBackward.ts"
import * as ForwardBackwardResult from "../../src/tinker/protocol/ForwardBackwardResult.ts"
import * as Tensor from "../../src/tinker/protocol/Tensor.ts"
import * as ScriptedServer from "./ScriptedServer.ts"

const patience = { unavailableMillis: 400, unpaidMillis: 300, pauseMillis: 10 }
/** Whatever else the machine does: nothing is given up. */
const patient = { ...patience, unavailableMillis: 3_600_000, unpaidMillis: 3_600_000 }

const address = (url: string, key?: string): Address => ({
  url,
  apiKey: key === undefined ? undefined : Redacted.make(key)
})

const datum = (length: number): ForwardBackward.Datum => ({
  tokens: Int32Array.from({ length }, (_, t) => t),
  inputs: new Map([["weights", Tensor.row(new Float32Array(length).fill(1))]])
})

const resultOf = (count: number) =>
  ForwardBackwardResult.encode({
    kind: "scalar",
    outputs: Array.from({ length: count }, (_, i) => new Map([["logprobs", Tensor.row(Float32Array.of(-i))]])),
    metrics: new Map([
      ["loss:sum", count],
      ["tokens:max", count]
    ])
  })

type Answer = Parameters<typeof ScriptedServer.make>[0]

/** A model on a server that goes on as the test says. */
const modelOn = Effect.fnUntraced(function* (
  answer: Answer,
  config: Record<string, unknown> = {},
  key?: string,
  waiting = patience
) {
  const server = yield* ScriptedServer.make((request, index) => {
    const opened = ScriptedServer.opening(request, config)
    if (opened !== undefined) return opened
    const isCreation =
      request.path === "/api/v1/retrieve_future" && ScriptedServer.jsonOf(request)["request_id"] === "create"
    return isCreation ? { json: { model_id: "model-1" } } : answer(request, index)
  })
  const session = yield* Session.make(address(server.url, key), waiting)
  const model = yield* TrainedModel.make(session, { baseModel: "tiny", rank: 4, seed: 1 })
  return { ...server, session, model }
})

const pathOf = (name: string) => `/api/v1/${name}`

const step = { learningRate: 0.1 }

const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope | HttpClient.HttpClient>) =>
  effect.pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))

describe("Tinker's client", () => {
  it.live("asks for a future again after try_again, 408, 5xx, 429 and a broken connection", () =>
    run(
      Effect.gen(function* () {
        const answers: Array<ScriptedServer.Scripted> = [
          { json: { type: "try_again", request_id: "r", queue_state: "paused_capacity", queue_state_reason: "busy" } },
          { status: 408, json: { detail: "Timeout waiting for result" } },
          { status: 500 },
          { status: 429, headers: { "retry-after": "0" } },
          { isCut: true },
          { json: { status: "complete_metadata", response_payload_size: 10_000_000 } },
          { json: { metrics: { grad_norm: 2 } } }
        ]
        const answer: Answer = ({ path }) =>
          path === pathOf("optim_step") ? { json: { request_id: "r" } } : answers.shift()!
        const { model, received } = yield* modelOn(answer, {}, undefined, patient)
        assert.deepStrictEqual(yield* model.optimStep(step), { grad_norm: 2 })
        const polls = received.filter(({ path }) => path === pathOf("retrieve_future")).map(ScriptedServer.jsonOf)
        assert.strictEqual(polls.length, 8)
        // A result that was announced is asked for whole.
        assert.deepStrictEqual(
          polls.slice(1).map((body) => body["allow_metadata_only"]),
          [true, true, true, true, true, true, false]
        )
        assert.strictEqual(received.filter(({ path }) => path === pathOf("optim_step")).length, 1)
      })
    )
  )

  it.live("sends an operation whose future expired again, under the same number", () =>
    run(
      Effect.gen(function* () {
        const answers = [{ status: 410 }, { status: 404, json: { detail: "Future not found" } }, { json: {} }]
        const { model, received } = yield* modelOn(({ path }) =>
          path === pathOf("optim_step") ? { json: { request_id: "r" } } : answers.shift()!
        )
        yield* model.optimStep(step)
        const steps = received.filter(({ path }) => path === pathOf("optim_step")).map(ScriptedServer.jsonOf)
        assert.deepStrictEqual(
          steps.map((body) => body["seq_id"]),
          [1, 1, 1]
        )
      })
    )
  )

  it.live("takes the fourth 400 in a row for an answer", () =>
    run(
      Effect.gen(function* () {
        const { model, received } = yield* modelOn(({ path }) =>
          path === pathOf("optim_step")
            ? { json: { request_id: "r" } }
            : { status: 400, json: { detail: "no such thing" } }
        )
        const error = yield* Effect.flip(model.optimStep(step))
        assert.strictEqual(error.reason, "refused")
        assert.match(error.message, /answered 400: no such thing/)
        assert.strictEqual(received.filter(({ path }) => path === pathOf("retrieve_future")).length, 5)
      })
    )
  )

  it.live("tells failures of the user's making from the server's", () =>
    run(
      Effect.gen(function* () {
        const answers = [
          { json: { error: "rank 99 is too large", category: "user" } },
          { json: { error: "out of memory", category: "server" } }
        ]
        const { model } = yield* modelOn(({ path }) =>
          path === pathOf("optim_step") ? { json: { request_id: "r" } } : answers.shift()!
        )
        const first = yield* Effect.flip(model.optimStep(step))
        const second = yield* Effect.flip(model.optimStep(step))
        assert.deepStrictEqual([first.reason, second.reason], ["refused", "failed"])
        assert.match(first.message, /rank 99 is too large/)
      })
    )
  )

  it.live("gives a server up that stays away, and the model with it", () =>
    run(
      Effect.gen(function* () {
        const { model, received } = yield* modelOn(() => ({ status: 503 }))
        const error = yield* Effect.flip(model.optimStep(step))
        assert.strictEqual(error.reason, "unavailable")
        const sent = received.length
        assert.strictEqual((yield* Effect.flip(model.optimStep(step))).reason, "broken")
        assert.strictEqual(received.length, sent)
      })
    )
  )

  it.live("waits for a bill to be paid, and for a lost model not at all", () =>
    run(
      Effect.gen(function* () {
        let unpaid = 2
        const answer: Answer = ({ path }) => {
          if (path !== pathOf("optim_step")) return { json: {} }
          return unpaid-- > 0 ? { status: 402, json: { detail: "please pay" } } : { json: { request_id: "r" } }
        }
        const { model } = yield* modelOn(answer, {}, undefined, patient)
        yield* model.optimStep(step)
        const lost = yield* modelOn(() => ({ status: 404, json: { detail: "Model not found" } }))
        assert.strictEqual((yield* Effect.flip(lost.model.optimStep(step))).reason, "gone")
      })
    )
  )

  it.live("cuts a batch where the server says, numbers its parts and sends the first one last", () =>
    run(
      Effect.gen(function* () {
        const requests: Array<ForwardBackward.Request> = []
        const { model } = yield* modelOn(
          (received) => {
            if (received.path === pathOf("forward_backward")) {
              const request = Effect.runSync(ForwardBackward.decode(received.body))
              requests.push(request)
              return { json: { request_id: String(request.seqId) } }
            }
            const { data } = requests.find(
              ({ seqId }) => String(seqId) === ScriptedServer.jsonOf(received)["request_id"]
            )!
            return { bytes: resultOf(data.length) }
          },
          { fwdbwd_max_chunk_len: 2 }
        )
        const data = [3, 4, 5, 6, 7].map(datum)
        const { metrics, outputs } = yield* model.forwardBackward(data, { name: "cross_entropy" })
        assert.strictEqual(requests.at(-1)!.seqId, 1)
        const inOrder = requests.toSorted((a, b) => a.seqId - b.seqId)
        assert.deepStrictEqual(
          inOrder.map((request) => request.data.map(({ tokens }) => tokens.length)),
          [[3, 4], [5, 6], [7]]
        )
        assert.strictEqual(outputs.length, 5)
        assert.deepStrictEqual(Object.fromEntries(metrics), { "loss:sum": 5, "tokens:max": 2 })
      })
    )
  )

  it.live("compresses bodies for a server that asks for it", () =>
    run(
      Effect.gen(function* () {
        const { model, received } = yield* modelOn(
          ({ path }) => (path === pathOf("forward_backward") ? { json: { request_id: "r" } } : { bytes: resultOf(1) }),
          { proto_compress_fwdbwd: true }
        )
        yield* model.forward([datum(4)], { name: "cross_entropy" })
        const sent = received.find(({ path }) => path === pathOf("forward_backward"))!
        assert.strictEqual(sent.headers["content-encoding"], "zstd")
        const request = yield* ForwardBackward.decode(new Uint8Array(zstdDecompressSync(sent.body)))
        assert.deepStrictEqual([request.forwardOnly, request.data], [true, [datum(4)]])
      })
    )
  )

  it.live("leaves an overloaded sampler at once, with the time the server asks for", () =>
    run(
      Effect.gen(function* () {
        const { session } = yield* modelOn(({ path }) =>
          path === pathOf("create_sampling_session")
            ? { json: { sampling_session_id: "s" } }
            : { status: 429, headers: { "retry-after": "3" } }
        )
        const sampler = yield* SamplingSession.open(session, { baseModel: "tiny" })
        const error = yield* Effect.flip(sampler.sample({ prompt: [1], numSamples: 1, params: {} }))
        assert.deepStrictEqual([error.reason, error.retryAfterMillis], ["overloaded", 3000])
      })
    )
  )

  it.live("says whom it has met where that is no Tinker server", () =>
    run(
      Effect.gen(function* () {
        const page = yield* ScriptedServer.make(() => ({ status: 404, json: { detail: "Not Found" } }))
        const error = yield* Effect.flip(Session.make(address(page.url), patience))
        assert.strictEqual(error.reason, "stranger")
        assert.match(error.message, /is not a Tinker server/)
        const nobody = yield* Effect.flip(Session.make(address("http://127.0.0.1:9"), patience))
        assert.strictEqual(nobody.reason, "unavailable")
        assert.match(nobody.message, /is the server running, and is this its address/)
        const secure = yield* Effect.flip(Session.make(address(page.url.replace("http:", "https:")), patience))
        assert.strictEqual(secure.reason, "address")
        assert.include(secure.message, `does not use https: --engine tinker+${page.url}`)
      })
    )
  )

  it.live("sends the key, and keeps it out of every failure", () =>
    run(
      Effect.gen(function* () {
        const key = "tml-very-secret"
        const { model, received } = yield* modelOn(() => ({ status: 401, json: { detail: "bad key" } }), {}, key)
        const error = yield* Effect.flip(model.optimStep(step))
        assert.isTrue(received.every(({ headers }) => headers["x-api-key"] === key))
        assert.strictEqual(error.reason, "unauthorized")
        assert.match(error.message, /TINKER_API_KEY/)
        const cut = yield* modelOn(() => ({ isCut: true }), {}, key)
        for (const shown of [error, yield* Effect.flip(cut.model.optimStep(step))]) {
          const texts = [
            inspect(shown, { depth: 20 }),
            Inspectable.toStringUnknown(shown),
            JSON.stringify(shown),
            shown.stack
          ]
          assert.isFalse(texts.some((text) => text?.includes(key)))
        }
      })
    )
  )
})
