/** What the Tinker server does when things go wrong, and how much it takes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as FB from "../../../src/tinker/protocol/ForwardBackward.ts"
import * as Tensor from "../../../src/tinker/protocol/Tensor.ts"
import {
  client as clientOf,
  computed,
  created,
  datum,
  done,
  live,
  opened,
  type Reply,
  result,
  send,
  serve,
  step
} from "./TestTinkerServer.ts"

const text = [3, 4, 5, 6]

/** A datum whose inputs are changed. */
const changed = (inputs: Record<string, Tensor.Tensor>) => {
  const { inputs: own, tokens } = datum(text)
  return { tokens, inputs: new Map([...own, ...Object.entries(inputs)]) }
}

const reals = (...values: ReadonlyArray<number>) => Tensor.row(Float32Array.from(values))
const ids = (...values: ReadonlyArray<number>) => Tensor.row(Int32Array.from(values))

/** Whatever the server says. */
type Json = Reply["json"]

describe("Tinker server", () => {
  it.live("refuses wrong data by name, and then the step that would miss their gradient", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const model = yield* created(client, yield* opened(client))
        const cases = [
          [changed({ target_tokens: reals(4, 5, 6) }), "are real numbers: send token ids"],
          [changed({ target_tokens: ids(4, 5) }), "must be [3]"],
          [changed({ target_tokens: ids(4, 5, 500) }), "has the token 500 at 2"],
          [changed({ weights: reals(1, NaN, 1) }), "is NaN at 1"],
          [changed({ advantages: reals(1, 1, 1) }), "loss_fn_input advantages"],
          [datum(Array.from({ length: 60 }, () => 3)), "has 59 tokens; the model takes at most 48"]
        ] as const
        let number = 0
        for (const [wrong, said] of cases) {
          const { json } = yield* send(client, { model, number: ++number, data: [datum(text), wrong] })
          const failed = (yield* result(client, json.request_id)).json
          assert.include(failed.error, said)
          assert.strictEqual(failed.category, "user")
        }
        yield* computed(client, { model, number: ++number, data: [datum(text)] })
        const missed = yield* step(client, model, ++number)
        assert.include(missed.error, "no step was made: a forward_backward since the last one failed")
        yield* computed(client, { model, number: ++number, data: [datum(text)] })
        assert.isAbove((yield* step(client, model, ++number)).metrics["grad_norm:max"], 0)
      })
    )
  )

  it.live("refuses a step that would divide by zero, and continues after it", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const model = yield* created(client, yield* opened(client))
        yield* computed(client, { model, number: 1, data: [datum(text)] })
        const body = { model_id: model, seq_id: 2, adam_params: { learning_rate: 0.01, eps: 0 } }
        const { json } = yield* client.post("optim_step", body)
        assert.include((yield* result(client, json.request_id)).json.error, "eps must be above 0")
        assert.isAbove((yield* step(client, model, 3)).metrics["grad_norm:max"], 0)
      })
    )
  )

  it.live("refuses a NaN or infinite setting, which arrives as null, instead of taking its default", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const model = yield* created(client, yield* opened(client))
        yield* computed(client, { model, number: 1, data: [datum(text)] })
        const body = { model_id: model, seq_id: 2, adam_params: { learning_rate: NaN, eps: Infinity, beta1: 0.9 } }
        const { json } = yield* client.post("optim_step", body)
        const refused = (yield* result(client, json.request_id)).json
        assert.include(refused.error, "learning_rate, eps must be a finite number")
        assert.strictEqual(refused.category, "user")
        assert.isAbove((yield* step(client, model, 3)).metrics["grad_norm:max"], 0)
      })
    )
  )

  it.live("answers an invalid operation under its number, so that those after it do not wait for it", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const model = yield* created(client, yield* opened(client))
        const request = (seqId: number, forwardOnly = false) => ({
          modelId: model,
          seqId,
          data: [datum(text)],
          lossFn: "cross_entropy",
          lossConfig: new Map(),
          forwardOnly
        })
        const unreadable = (seqId: number, forwardOnly?: boolean) =>
          client.postBinary("forward_backward", Uint8Array.of(...FB.encode(request(seqId, forwardOnly)), 255, 255))
        const failed = Effect.fnUntraced(function* (sent: Effect.Effect<Reply>) {
          const { json, status } = yield* sent
          assert.strictEqual(status, 200)
          const answer = (yield* result(client, json.request_id)).json
          assert.strictEqual(answer.category, "user")
          return answer.error as string
        })
        const saving = { model_id: model, path: "x" }
        yield* computed(client, { model, number: 1, data: [datum(text)] })
        const late = client.post("save_weights", { ...saving, seq_id: 2, ttl_seconds: Number.MAX_SAFE_INTEGER })
        assert.match(yield* failed(late), /^ttl_seconds: from 0 to/)
        const negative = client.post("save_weights_for_sampler", { ...saving, seq_id: 3, ttl_seconds: -3 })
        assert.match(yield* failed(negative), /ttl_seconds/)
        const elsewhere = client.post("load_weights", { model_id: model, seq_id: 4, path: "x", optimizer: false })
        assert.match(yield* failed(elsewhere), /is not a path of weights/)
        assert.match(yield* failed(unreadable(5, true)), /cannot be read/)
        // None of these had a part in the gradient.
        assert.isAbove((yield* step(client, model, 6)).metrics["grad_norm:max"], 0)
        yield* computed(client, { model, number: 7, data: [datum(text)] })
        assert.match(yield* failed(unreadable(8)), /cannot be read/)
        assert.include((yield* step(client, model, 9)).error, "no step was made: a forward_backward since the last")
        const unknown = client.post("optim_step", { model_id: model, seq_id: 10, adam_params: { learning_rate: "x" } })
        assert.match(yield* failed(unknown), /learning_rate/)
        yield* computed(client, { model, number: 11, data: [datum(text)] })
        assert.isAbove((yield* step(client, model, 12)).metrics["grad_norm:max"], 0)
      })
    )
  )

  it.live("answers what is unknown, too large or malformed with its reason", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve({ settings: { maxBodyMegabytes: 1 } })
        const session = yield* opened(client)
        const said = (path: string, body: unknown) =>
          Effect.map(client.post(path, body), ({ json, status }) => [status, json.detail] as const)
        const model = { session_id: session, model_seq_id: 0, base_model: "Qwen/Qwen3-8B" }
        assert.deepStrictEqual(yield* said("create_model", model), [
          404,
          "the base model of this server is tiny, not Qwen/Qwen3-8B"
        ])
        const scaled = { ...model, base_model: "tiny", lora_config: { rank: 4, alpha: 16 } }
        assert.deepStrictEqual(yield* said("create_model", scaled), [
          400,
          "adapters of this server have alpha 32 (--lora_alpha), not 16"
        ])
        assert.strictEqual((yield* client.post("session_heartbeat", { session_id: "s" })).status, 410)
        assert.strictEqual((yield* client.post("retrieve_future", { request_id: "r" })).status, 410)
        assert.strictEqual((yield* client.post("get_info", { model_id: "m" })).status, 404)
        assert.strictEqual((yield* client.post("get_info", { model: "m" })).status, 422)
        assert.strictEqual((yield* client.get("nothing")).status, 404)
        const path = "tinker://../weights/x"
        const loading = { session_id: session, model_seq_id: 1, path, optimizer: false }
        assert.deepStrictEqual(yield* said("load_weights", loading), [
          400,
          `${path} is not a path of weights, for example tinker://<model>/weights/<name>`
        ])
        assert.strictEqual((yield* client.postBinary("forward_backward", Uint8Array.of(255, 255, 255))).status, 400)
        assert.strictEqual((yield* client.postBinary("forward_backward", new Uint8Array(2 ** 20 + 1))).status, 413)
        assert.strictEqual((yield* client.post("get_info", {}, { "content-type": "text/plain" })).status, 415)
        const large = yield* done(client, "create_model", {
          ...model,
          base_model: "tiny",
          lora_config: { rank: 64 }
        })
        assert.include(large.error, "the rank 64 is more than this server allows: 8")
        const head = { rank: 4, train_unembed: true, train_mlp: false, train_attn: false }
        assert.include(
          (yield* said("create_model", { ...model, base_model: "tiny", model_seq_id: 2, lora_config: head }))[1],
          "set train_attn or train_mlp"
        )
      })
    )
  )

  it.live("lets nobody in without a key where keys are set", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve({ keys: [Redacted.make("tml-right-key")] })
        const body = { tags: [], sdk_version: "test" }
        const none = yield* client.post("create_session", body)
        const wrong = yield* client.post("create_session", body, { "x-api-key": "tml-wrong-key" })
        const right = yield* client.post("create_session", body, { "x-api-key": "tml-right-key" })
        assert.deepStrictEqual([none.status, wrong.status, right.status], [401, 401, 200])
        assert.strictEqual((yield* client.get("healthz")).status, 200)
      })
    )
  )

  it.live("tells clients to come again where too much waits, but never what others wait for", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve({ settings: { maxQueued: 2, maxModels: 1, maxSessions: 1 } })
        const session = yield* opened(client)
        const model = yield* created(client, session)
        assert.strictEqual((yield* client.post("create_session", { tags: [], sdk_version: "test" })).status, 429)
        const second = { session_id: session, model_seq_id: 1, base_model: "tiny" }
        assert.strictEqual((yield* client.post("create_model", second)).status, 429)
        const early = [yield* send(client, { model, number: 3, data: [datum(text)] })]
        early.push(yield* send(client, { model, number: 4, data: [datum(text)] }))
        assert.strictEqual((yield* send(client, { model, number: 5, data: [datum(text)] })).status, 429)
        const sent = yield* Effect.forEach([1, 2], (number) => send(client, { model, number, data: [datum(text)] }))
        for (const { json } of [...sent, ...early]) {
          assert.isArray((yield* result(client, json.request_id)).json.loss_fn_outputs)
        }
      })
    )
  )

  it.live("keeps what was saved for the next server, and nothing else", () =>
    live(
      Effect.gen(function* () {
        const first = yield* serve()
        const session = yield* opened(first)
        const model = yield* created(first, session)
        yield* computed(first, { model, number: 1, data: [datum(text)] })
        yield* step(first, model, 2)
        const { path } = yield* done(first, "save_weights", { model_id: model, path: "a", seq_id: 3 })
        const again = { model_id: model, path: "a", seq_id: 4 }
        assert.include((yield* done(first, "save_weights", again)).error, "already")
        yield* done(first, "save_weights_for_sampler", { model_id: model, path: "s", seq_id: 5, ttl_seconds: 3600 })
        const expected = yield* computed(first, { model, number: 6, data: [datum(text)], forwardOnly: true })

        const second = yield* serve({ folder: first.folder })
        assert.strictEqual((yield* second.post("get_info", { model_id: model })).status, 404)
        const { json } = yield* second.get("training_runs")
        assert.deepStrictEqual(
          json.training_runs.map((run: Json) => [run.training_run_id, run.lora_rank, run.last_checkpoint.tinker_path]),
          [[model, 4, path]]
        )
        const loaded = yield* done(second, "load_weights", {
          session_id: yield* opened(second),
          model_seq_id: 0,
          path,
          optimizer: true
        })
        const found = yield* computed(second, {
          model: loaded.model_id,
          number: 1,
          data: [datum(text)],
          forwardOnly: true
        })
        assert.deepStrictEqual(found, expected)
        const run = `training_runs/${encodeURIComponent(model)}/checkpoints`
        const remove = (name: string) =>
          Effect.promise(() => fetch(`${second.url}/api/v1/${run}/${name}`, { method: "DELETE" }))
        assert.strictEqual((yield* remove("weights/a")).status, 200)
        assert.strictEqual((yield* remove("weights/a")).status, 404)
        const left = yield* second.get(run)
        assert.deepStrictEqual(
          left.json.checkpoints.map((one: Json) => one.checkpoint_id),
          ["sampler_weights/s"]
        )
      })
    )
  )

  it.live("trains several adapters of one base beside each other, each by itself", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const train = (rank: number, seed: number) =>
          Effect.gen(function* () {
            const mine = clientOf(client.url, client.folder)
            const session = yield* opened(mine)
            const model = yield* created(mine, session, { rank, seed })
            const losses: Array<number> = []
            for (let at = 0; at < 4; at++) {
              losses.push(
                (yield* computed(mine, { model, number: 2 * at + 1, data: [datum(text)] })).metrics.get("loss:sum")!
              )
              yield* step(mine, model, 2 * at + 2, 0.02)
            }
            return losses
          })
        const alone = yield* train(4, 1)
        const together = yield* Effect.all([train(4, 1), train(8, 2), train(4, 3)], { concurrency: "unbounded" })
        assert.deepStrictEqual(together[0], alone)
        assert.notDeepEqual(together[2], alone)
        assert.isBelow(together[1].at(-1)!, together[1][0]!)
      })
    )
  )
})
