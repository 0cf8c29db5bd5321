/** A separate service for each test file: real HTTP on a free port, over the store that the test provides. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Layer, type Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import * as Auth from "../src/http/Auth.ts"
import * as TrajectoryService from "../src/TrajectoryService.ts"

export class ServiceUrl extends Context.Service<ServiceUrl, string>()("@atropos/api/test/ServiceUrl") {}

export const urlOf = HttpServer.addressFormattedWith(Effect.succeed)

const listening = TrajectoryService.serve({ host: "127.0.0.1", port: 0 })

/** The address of a fresh service, and a client for raw requests. */
export const layer = (tokens?: Redacted.Redacted) =>
  Layer.effect(ServiceUrl, urlOf).pipe(
    Layer.provide(listening),
    Layer.provide(tokens === undefined ? Auth.layerOpen : Auth.layer(tokens)),
    Layer.merge(NodeHttpClient.layerUndici)
  )

export interface Call {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE"
  readonly json?: unknown
  readonly bytes?: Uint8Array
  readonly headers?: { readonly [name: string]: string }
  readonly token?: string
}

const requestOf = (url: string, { bytes, headers, json, method, token }: Call) => {
  const verb = method ?? (json === undefined && bytes === undefined ? "GET" : "POST")
  let request = HttpClientRequest.make(verb)(url)
  if (json !== undefined) request = HttpClientRequest.bodyJsonUnsafe(request, json)
  if (bytes !== undefined) request = HttpClientRequest.bodyUint8Array(request, bytes, headers?.["content-type"])
  if (token !== undefined) request = HttpClientRequest.bearerToken(request, token)
  return HttpClientRequest.setHeaders(request, headers ?? {})
}

export const call = Effect.fnUntraced(function* (path: string, options: Call = {}) {
  const url = yield* ServiceUrl
  const client = yield* HttpClient.HttpClient
  const response = yield* client.execute(requestOf(`${url}${path}`, options))
  const bytes = new Uint8Array(yield* response.arrayBuffer)
  const text = new TextDecoder().decode(bytes)
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text,
    /** The JSON of the body; tests call it only if there is one. */
    json: (): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>
  }
})
