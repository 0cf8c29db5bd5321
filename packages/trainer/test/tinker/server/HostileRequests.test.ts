/** Numbers that would make the Tinker server allocate, wait or write without bound, and paths that leave it. */
import { create } from "@bufbuild/protobuf"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Result, Schema } from "effect"
import { connect } from "node:net"
import * as Binary from "../../../src/tinker/protocol/Binary.ts"
import * as FB from "../../../src/tinker/protocol/ForwardBackward.ts"
import { ElementType, ForwardBackwardRequestSchema } from "../../../src/tinker/protocol/gen/tinker_pb.ts"
import * as Tensor from "../../../src/tinker/protocol/Tensor.ts"
import { computed, created, datum, done, live, opened, result, serve } from "./TestTinkerServer.ts"

const text = [3, 4, 5, 6]
const prompt = (tokens: ReadonlyArray<number>) => ({ chunks: [{ type: "encoded_text", tokens }] })
const huge = Number.MAX_SAFE_INTEGER
/** The first byte of a datum of a request. */
const dataTag = 8 * ForwardBackwardRequestSchema.field.data.number + 2

const int64 = (...values: ReadonlyArray<number>) => Tensor.bytesOf(BigInt64Array.from(values.map(BigInt)))

/** A compressed matrix of a few bytes that would become one of `rows` times `width`. */
const sparse = (rows: number, width: number) => ({
  encoding: {
    case: "sparseCsr" as const,
    value: {
      crowIndices: int64(...Array.from({ length: rows + 1 }, () => 0)),
      colIndices: int64(),
      values: new Uint8Array(0)
    }
  },
  dtype: ElementType.FLOAT32,
  shape: [BigInt(rows), BigInt(width)]
})

const message = (inputs: Record<string, ReturnType<typeof sparse>>, data = 1) =>
  Binary.encode(
    ForwardBackwardRequestSchema,
    create(ForwardBackwardRequestSchema, {
      modelId: "m",
      seqId: 1,
      lossFn: "cross_entropy",
      data: Array.from({ length: data }, () => ({ modelInput: [], lossFnInputs: inputs }))
    })
  )

/** A request whose path is sent as it is spelled. */
const raw = (url: string, path: string) =>
  Effect.callback<string>((resume) => {
    const { host, hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
    )
    let answer = ""
    socket.on("data", (bytes) => (answer += bytes.toString("latin1")))
    socket.on("close", () => resume(Effect.succeed(answer)))
    socket.on("error", () => resume(Effect.succeed("closed")))
  })

describe("binary requests of forward_backward", () => {
  it.effect("become no more than a bound, whatever shapes their compressed tensors name", () =>
    Effect.gen(function* () {
      const bytes = message({ weights: sparse(1, 2 ** 30 - 1) })
      assert.isBelow(bytes.length, 300)
      for (const one of [
        bytes,
        message({ weights: sparse(2, 2 ** 29) }),
        message({ weights: sparse(1, 2 ** 24 + 1) }),
        // Each within the bound, and together not.
        message({ a: sparse(1, 2 ** 23), b: sparse(1, 2 ** 23), c: sparse(1, 1) }),
        message({ weights: sparse(4, 2 ** 18) }, 17)
      ]) {
        const { message: said } = yield* Effect.flip(FB.decode(one))
        assert.match(said, /more than the limit of a message/)
      }
      const fitting = yield* FB.decode(message({ weights: sparse(3, 4) }))
      assert.strictEqual(fitting.data[0]!.inputs.get("weights")!.values.length, 12)
      assert.strictEqual(FB.requestBytes(fitting), 48)
    })
  )

  it.effect("of more parts than any client sends are refused before they are made objects of", () =>
    Effect.gen(function* () {
      // Two bytes a datum: a field of type message, and its length 0.
      const data = Uint8Array.from({ length: 2 ** 20 }, (_, at) => (at % 2 === 0 ? dataTag : 0))
      assert.match((yield* Effect.flip(FB.decode(data))).message, /has more than 262144 parts/)
      // A shape of a byte an element.
      const tensor = create(ForwardBackwardRequestSchema, {
        data: [{ lossFnInputs: { a: { shape: Array.from({ length: 300_000 }, () => 1n), dtype: 1 } } }]
      })
      const shapes = Binary.encode(ForwardBackwardRequestSchema, tensor)
      assert.match((yield* Effect.flip(FB.decode(shapes))).message, /has more than 262144 parts/)
      // What a client sends at most: a thousand data of three tensors.
      const usual = FB.encode({
        modelId: "m",
        seqId: 1,
        data: Array.from({ length: 1024 }, () => datum(Array.from({ length: 500 }, () => 3))),
        lossFn: "cross_entropy",
        lossConfig: new Map(),
        forwardOnly: false
      })
      assert.strictEqual((yield* FB.decode(usual)).data.length, 1024)
    })
  )

  it.prop("are counted without an error, or are none", [Schema.Uint8Array], ([bytes]) => {
    const counted = Effect.runSync(Effect.result(FB.decode(bytes)))
    assert.isTrue(Result.isSuccess(counted) || counted.failure._tag === "WireError")
  })
})

describe("Tinker server", () => {
  it.live("has a bound for every number of every request, and says it", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve({ settings: { maxSamples: 64 } })
        const session = yield* opened(client)
        const model = yield* created(client, session)
        const sampler = yield* done(client, "save_weights_for_sampler", {
          model_id: model,
          seq_id: 1,
          sampling_session_seq_id: 0
        })
        const sample = (more: object, params: object = {}) => ({
          sampling_session_id: sampler.sampling_session_id,
          prompt: prompt(text),
          sampling_params: { max_tokens: 2, ...params },
          ...more
        })
        const adam = (params: object) => ({ model_id: model, seq_id: 2, adam_params: params })
        const base = { session_id: session, base_model: "tiny" }
        const saved = { model_id: model, path: "x" }
        const loading = { path: `tinker://${model}/weights/x`, optimizer: false }
        const cases: ReadonlyArray<readonly [path: string, body: object, says: RegExp]> = [
          ["asample", sample({ num_samples: 0 }), /^num_samples: from 1 to 64/],
          ["asample", sample({ num_samples: 65 }), /^num_samples/],
          ["asample", sample({ num_samples: huge }), /^num_samples/],
          ["asample", sample({ seq_id: huge }), /^seq_id/],
          ["asample", sample({ topk_prompt_logprobs: 5e7 }), /^topk_prompt_logprobs: from 0 to/],
          ["asample", sample({ topk_sample_logprobs: 5e7 }), /^topk_sample_logprobs/],
          ["asample", sample({}, { temperature: 1e308 }), /^temperature/],
          ["asample", sample({}, { temperature: -1 }), /^temperature/],
          ["asample", sample({}, { top_p: 2 }), /^top_p/],
          ["asample", sample({}, { top_k: -2 }), /^top_k/],
          ["asample", sample({}, { stop: Array.from({ length: 65 }, () => "a") }), /^stop/],
          ["asample", sample({}, { stop: "a".repeat(1025) }), /^stop/],
          ["asample", sample({ prompt: prompt(Array.from({ length: 1000 }, () => 3)) }), /^the prompt has 1000 tokens/],
          ["create_sampling_session", { ...base, sampling_session_seq_id: huge }, /^sampling_session_seq_id/],
          ["create_model", { ...base, model_seq_id: huge }, /^model_seq_id/],
          ["optim_step", { ...adam({}), seq_id: huge }, /^seq_id/],
          ["save_weights", { ...saved, seq_id: huge }, /^seq_id/],
          ["save_weights", { ...saved, ttl_seconds: huge }, /^ttl_seconds: from 0 to/],
          ["save_weights_for_sampler", { ...saved, ttl_seconds: huge }, /^ttl_seconds/],
          ["save_weights_for_sampler", { model_id: model, sampling_session_seq_id: huge }, /^sampling_session_seq_id/],
          ["load_weights", { ...loading, model_id: model, seq_id: huge }, /^seq_id/],
          ["load_weights", { ...loading, session_id: session, model_seq_id: huge }, /^model_seq_id/],
          [
            "forward_backward",
            { model_id: model, seq_id: huge, forward_backward_input: { data: [], loss_fn: "x" } },
            /^seq_id/
          ]
        ]
        for (const [path, body, says] of cases) {
          const { json, status } = yield* client.post(path, body)
          assert.strictEqual(status, 400, `${path} ${JSON.stringify(body).slice(0, 200)}`)
          assert.match(json.detail, says)
        }
        const large = yield* client.post("create_session", { tags: ["x".repeat(2 ** 20)], sdk_version: "test" })
        assert.strictEqual(large.status, 413)
        const wide = yield* client.post("forward_backward", {
          model_id: model,
          forward_backward_input: {
            loss_fn: "cross_entropy",
            data: [
              {
                model_input: prompt(text),
                loss_fn_inputs: { target_tokens: { data: [3, 4, 5, 2 ** 32 + 6], dtype: "int64", shape: [4] } }
              }
            ]
          }
        })
        assert.strictEqual(wide.status, 422)
        assert.include(wide.json.detail, "4294967302 at 3")
        // The model's own numbers have not moved.
        for (const [at, params] of [
          { learning_rate: -1 },
          { learning_rate: 1e300 },
          { learning_rate: 1e-4, eps: 1e300 },
          { learning_rate: 1e-4, weight_decay: 1e300 },
          { learning_rate: 1e-4, beta1: 1 },
          { learning_rate: 1e-4, grad_clip_norm: -1 }
        ].entries()) {
          assert.strictEqual((yield* done(client, "optim_step", { ...adam(params), seq_id: 2 + at })).category, "user")
        }
        yield* computed(client, { model, number: 8, data: [datum(text)] })
        const answer = yield* client.post("asample", sample({ num_samples: 64 }))
        assert.strictEqual(answer.status, 200)
        assert.strictEqual((yield* result(client, answer.json.request_id)).json.sequences.length, 64)
      })
    )
  )

  it.live("allocates nothing for a rank that is too large, of a checkpoint neither", () =>
    live(
      Effect.gen(function* () {
        const client = yield* serve()
        const session = yield* opened(client)
        const fs = yield* FileSystem.FileSystem
        for (const rank of [9, 2 ** 20, 2 ** 31, huge]) {
          const made = yield* done(client, "create_model", {
            session_id: session,
            model_seq_id: rank % 1000,
            base_model: "tiny",
            lora_config: { rank }
          })
          assert.match(made.error, /is more than this server allows: 8/)
        }
        const model = yield* created(client, session, { number: 5 })
        const { path } = yield* done(client, "save_weights", { model_id: model, path: "a", seq_id: 1 })
        const file = `${client.folder}/${model.replaceAll(":", "~")}/weights/a/checkpoint.json`
        const info = yield* fs.readFileString(file)
        yield* fs.writeFileString(file, info.replace(/"rank":\d+/, `"rank":${2 ** 40}`))
        const loaded = yield* done(client, "load_weights", {
          session_id: session,
          model_seq_id: 6,
          path,
          optimizer: true
        })
        assert.match(loaded.error, /is more than this server allows: 8/)
      })
    )
  )

  it.live(
    "lists what is sound beside a checkpoint whose times are none, and reads nothing outside by any spelling",
    () =>
      live(
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const root = yield* fs.makeTempDirectoryScoped()
          const client = yield* serve({ folder: `${root}/served` })
          const model = yield* created(client, yield* opened(client))
          yield* done(client, "save_weights", { model_id: model, path: "good", seq_id: 1 })
          yield* done(client, "save_weights", { model_id: model, path: "bad", seq_id: 2 })
          const folder = `${root}/served/${model.replaceAll(":", "~")}`
          // A checkpoint next to the server's folder.
          yield* fs.copy(folder, `${root}/outside`)
          yield* fs.copy(folder, `${root}/served/.hidden`)
          const file = `${folder}/weights/bad/checkpoint.json`
          const info = yield* fs.readFileString(file)
          yield* fs.writeFileString(file, info.replace('"expires":null', `"expires":${1000 * huge}`))
          for (const path of [
            "training_runs",
            `training_runs/${encodeURIComponent(model)}/checkpoints`,
            "checkpoints"
          ]) {
            const { json, status } = yield* client.get(path)
            assert.strictEqual(status, 200, path)
            assert.include(JSON.stringify(json), "weights/good")
            assert.notInclude(JSON.stringify(json), "weights/bad")
          }
          for (const id of [
            "..%2foutside",
            "..%2Foutside",
            "%2e%2e%2foutside",
            "%2e%2e/outside",
            "../outside",
            "..%252foutside",
            "%252e%252e%252foutside",
            "..%5coutside",
            ".hidden",
            "%2ehidden",
            "x%2f..%2f..%2foutside",
            "..",
            "%00",
            "%",
            "%zz",
            "%e0%a4%a"
          ]) {
            for (const end of ["", "/checkpoints", "/checkpoints/weights/good/archive"]) {
              const answer = yield* raw(client.url, `/api/v1/training_runs/${id}${end}`)
              const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
              assert.isTrue([400, 404, 501].includes(status), `${id}${end}: ${answer.slice(0, 200)}`)
              assert.notInclude(answer, "tinker_path")
              assert.notInclude(answer, "user_metadata")
            }
          }
        })
      )
  )
})
