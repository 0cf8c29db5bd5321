/** A Tinker server on a tiny model, and requests to it in the protocol's own codec. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer, type Redacted, type Scope, Context } from "effect"
import { HttpServer } from "effect/http"
import * as OrtWorker from "../../../src/exec/OrtWorker.ts"
import type { Model } from "../../../src/model/Model.ts"
import * as TinyModel from "../../../src/model/TinyModel.ts"
import * as FB from "../../../src/tinker/protocol/ForwardBackward.ts"
import * as FBResult from "../../../src/tinker/protocol/ForwardBackwardResult.ts"
import * as SampleAnswer from "../../../src/tinker/protocol/SampleAnswer.ts"
import * as Tensor from "../../../src/tinker/protocol/Tensor.ts"
import * as TinkerServer from "../../../src/tinker/server/TinkerServer.ts"
import * as ServerSettings from "../../../src/tinker/service/ServerSettings.ts"

export const characters = "abcdefghij"

const whole = TinyModel.make({
  characters,
  seed: 3,
  hiddenSize: 32,
  layers: 1,
  maxPositions: 48,
  embeddingDeviation: 0.25
})

/** The model that is served, frozen. */
export const base = TinyModel.withAdapter(
  whole,
  whole.initial,
  { r: 1, alpha: 1, targetModules: ["all-linear"], rslora: false },
  0
)

export interface Reply {
  readonly status: number
  readonly json: any // oxlint-disable-line typescript/no-explicit-any -- whatever a server says
  readonly bytes: Uint8Array
}

export interface Client {
  readonly url: string
  readonly folder: string
  readonly get: (path: string) => Effect.Effect<Reply>
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Effect.Effect<Reply>
  readonly postBinary: (path: string, body: Uint8Array) => Effect.Effect<Reply>
}

const ask = (url: string, init: RequestInit): Effect.Effect<Reply> =>
  Effect.promise(async (signal) => {
    const response = await fetch(url, { signal, ...init })
    const bytes = new Uint8Array(await response.arrayBuffer())
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false
    return { status: response.status, json: isJson ? JSON.parse(new TextDecoder().decode(bytes)) : undefined, bytes }
  })

export const client = (url: string, folder: string): Client => ({
  url,
  folder,
  get: (path) => ask(`${url}/api/v1/${path}`, {}),
  post: (path, body, headers = {}) =>
    ask(`${url}/api/v1/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers }
    }),
  postBinary: (path, body) =>
    ask(`${url}/api/v1/${path}`, {
      method: "POST",
      // Memory of its own: the encoder made it.
      body: body as Uint8Array<ArrayBuffer>,
      headers: { "content-type": "application/x-protobuf" }
    })
})

export interface Options {
  /** Default: `base`. */
  readonly model?: Model
  readonly settings?: Partial<ServerSettings.ServerSettings>
  readonly keys?: ReadonlyArray<Redacted.Redacted>
  /** Default: a new one. */
  readonly folder?: string
  /** Default: a free one. */
  readonly port?: number
}

/** A server, until the scope closes. */
export const serve = Effect.fnUntraced(function* ({
  folder,
  keys = [],
  model = base,
  port = 0,
  settings = {}
}: Options = {}) {
  const fs = yield* FileSystem.FileSystem
  const checkpoints = folder ?? (yield* fs.makeTempDirectoryScoped())
  const layer = TinkerServer.layer({
    base: model,
    names: ["tiny", model.name],
    tokenizerId: model.name,
    folder: checkpoints,
    device: "cpu",
    settings: ServerSettings.settings.complete({ maxRank: 8, ...settings }),
    host: "127.0.0.1",
    port,
    keys
  }).pipe(Layer.provide(OrtWorker.layer({ threads: 1 })))
  const context = yield* Layer.build(layer)
  return client(HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address), checkpoints)
})

/** A live test with files. */
export const live = <A, E>(
  effect: Effect.Effect<A, E, Scope.Scope | FileSystem.FileSystem | NodeServices.NodeServices>
) => Effect.scoped(Effect.provide(effect, NodeServices.layer))

/** Asks for a result until it is there. */
export const result = (client: Client, id: string, isBinary = false): Effect.Effect<Reply> =>
  client
    .post("retrieve_future", { request_id: id }, isBinary ? { accept: "application/x-protobuf" } : {})
    .pipe(
      Effect.flatMap((reply) =>
        reply.json?.type === "try_again" ? result(client, id, isBinary) : Effect.succeed(reply)
      )
    )

export const opened = (client: Client): Effect.Effect<string> =>
  Effect.map(client.post("create_session", { tags: [], sdk_version: "test" }), ({ json }) => String(json.session_id))

export interface NewModel {
  readonly number?: number
  readonly rank?: number
  readonly seed?: number
}

/** A model of a session, made. */
export const created = Effect.fnUntraced(function* (
  client: Client,
  session: string,
  { number = 0, rank = 4, seed = 1 }: NewModel = {}
) {
  const { json } = yield* client.post("create_model", {
    session_id: session,
    model_seq_id: number,
    base_model: "tiny",
    lora_config: { rank, seed, train_unembed: true, train_mlp: true, train_attn: true }
  })
  yield* result(client, json.request_id)
  return String(json.model_id)
})

/** A datum of cross-entropy over all its tokens. */
export const datum = (tokens: ReadonlyArray<number>, weight = 1): FB.Datum => ({
  tokens: Int32Array.from(tokens.slice(0, -1)),
  inputs: new Map([
    ["target_tokens", Tensor.row(Int32Array.from(tokens.slice(1)))],
    ["weights", Tensor.row(new Float32Array(tokens.length - 1).fill(weight))]
  ])
})

export interface Compute {
  readonly model: string
  readonly number: number
  readonly data: ReadonlyArray<FB.Datum>
  readonly loss?: string
  readonly config?: FB.LossConfig
  readonly forwardOnly?: boolean
}

/** Sends a forward_backward; its answer is that of the request. */
export const send = (client: Client, { config = new Map(), data, forwardOnly = false, loss, model, number }: Compute) =>
  client.postBinary(
    "forward_backward",
    FB.encode({
      modelId: model,
      seqId: number,
      data,
      lossFn: loss ?? "cross_entropy",
      lossConfig: config,
      forwardOnly
    })
  )

/** What a forward_backward comes to. */
export const computed = Effect.fnUntraced(function* (client: Client, compute: Compute) {
  const { json } = yield* send(client, compute)
  return yield* FBResult.decode((yield* result(client, json.request_id, true)).bytes)
})

/** The outcome of an operation that answers in JSON. */
export const done = Effect.fnUntraced(function* (client: Client, path: string, body: unknown) {
  const { json, status } = yield* client.post(path, body)
  return json.request_id === undefined ? { status, ...json } : (yield* result(client, json.request_id)).json
})

export const step = (client: Client, model: string, number: number, learningRate = 0.01) =>
  done(client, "optim_step", { model_id: model, seq_id: number, adam_params: { learning_rate: learningRate } })

/** A sampling session's completions. */
export const sampled = Effect.fnUntraced(function* (client: Client, session: string, body: object) {
  const { json } = yield* client.post("asample", { sampling_session_id: session, ...body })
  return yield* SampleAnswer.decode((yield* result(client, json.request_id, true)).bytes)
})
