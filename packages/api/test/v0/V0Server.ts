/** The original's endpoints on a free port, over a separate store, and plain requests to them. */
import { Effect, Layer } from "effect"
import { HttpServer as Address } from "effect/http"
import { type Agent, request, type IncomingHttpHeaders } from "node:http"
import * as HttpServer from "../../src/http/HttpServer.ts"
import type { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"
import * as V0 from "../../src/v0/V0.ts"

export const layer = <E, R>(
  store: Layer.Layer<TrajectoryStore, E, R>,
  options?: V0.Options & Pick<HttpServer.Options, "origins">
) => HttpServer.layer(V0.layer(options), { host: "127.0.0.1", port: 0, ...options }).pipe(Layer.provideMerge(store))

export const port = Effect.map(Address.HttpServer, ({ address }) => ("port" in address ? address.port : 0))

export interface Sent {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  readonly json: () => unknown
}

export interface Outgoing {
  readonly body?: string | Uint8Array
  readonly headers?: { readonly [name: string]: string }
  readonly agent?: Agent
}

/** One request; a body is JSON unless its headers state otherwise. */
export const send = (method: string, path: string, { agent, body, headers }: Outgoing = {}) =>
  Effect.flatMap(port, (to) =>
    Effect.callback<Sent, Error>((resume) => {
      const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(body)
      const length = headers?.["transfer-encoding"] === undefined ? { "content-length": bytes?.length } : {}
      const type = bytes === undefined ? {} : { "content-type": "application/json", ...length }
      const outgoing = request(
        { host: "127.0.0.1", port: to, method, path, headers: { ...type, ...headers }, ...(agent && { agent }) },
        (incoming) => {
          const chunks: Array<Buffer> = []
          incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
          incoming.on("error", (error) => resume(Effect.fail(error)))
          incoming.on("end", () => {
            const all = Buffer.concat(chunks)
            const text = all.toString()
            const sent: Sent = {
              status: incoming.statusCode ?? 0,
              headers: incoming.headers,
              bytes: all,
              text,
              json: () => JSON.parse(text)
            }
            resume(Effect.succeed(sent))
          })
        }
      )
      outgoing.on("error", (error) => resume(Effect.fail(error)))
      outgoing.end(bytes)
    })
  )

export const post = (path: string, value: unknown) => send("POST", path, { body: JSON.stringify(value) })
export const get = (path: string, headers?: Outgoing["headers"]) => send("GET", path, headers && { headers })
export const json = <E, R>(sent: Effect.Effect<Sent, E, R>) => Effect.map(sent, (reply) => reply.json())

/** A run of batches of two, and a group that is one batch. */
export const registration = {
  wandb_group: "",
  wandb_project: "",
  batch_size: 2,
  max_token_len: 512,
  checkpoint_dir: "",
  save_checkpoint_interval: 1,
  starting_step: 0,
  num_steps: 10
}
export const group = { tokens: [[1], [2]], masks: [[1], [2]], scores: [0, 1], env_id: null }
