/**
 * Stores objects in S3 or a compatible service (MinIO, Ceph, R2, Garage), addressed by path: `https://host/bucket`,
 * optionally followed by a prefix.
 *
 * Requests are signed by `aws4fetch` (an optional peer; AWS signature version 4) over the digest of the whole body,
 * which guards against corruption. Transient failures (no response, 429, 5xx) are retried four times, and then
 * reported as transient.
 */
import * as Installed from "@atropos/core/base/system/Installed"
import { Config, Duration, Effect, Layer, Option, Redacted, Schedule, Schema, Semaphore } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import packageJson from "../../package.json" with { type: "json" }
import { ObjectStore, type ObjectStoreShape } from "../store/ObjectStore.ts"
import { StoreError } from "../store/TrajectoryStore.ts"

/** The object storage cannot be used: settings, a missing package, or a refusal at the first request. */
export class ObjectStoreError extends Schema.TaggedError<ObjectStoreError>()("ObjectStoreError", {
  message: Schema.String
}) {}

export interface Options {
  /** `https://host/bucket/prefix` */
  readonly url: URL
  readonly accessKeyId: string
  readonly secretAccessKey: Redacted.Redacted
  readonly sessionToken?: Redacted.Redacted
  /** Default: derived from the host, otherwise us-east-1. */
  readonly region?: string
  /** Min stored bytes of a payload. Default 64 KiB. */
  readonly threshold?: number
}

export const defaultThreshold = 65_536

const library = "aws4fetch"
const atOnce = 16
const requestTime: Duration.Input = "30 seconds"

type Method = "GET" | "PUT" | "DELETE"

const hex = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString("hex")

const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** The contents of all occurrences of a tag in an XML response. */
const between = (xml: string, tag: string): ReadonlyArray<string> =>
  xml
    .split(`<${tag}>`)
    .slice(1)
    .map((rest) => rest.slice(0, rest.indexOf(`</${tag}>`)))

const refusal = (status: number, body: string): string => {
  const detail = [...between(body, "Code"), ...between(body, "Message")].join(": ")
  return `${status} ${detail.slice(0, 300)}`.trim()
}

export const make = Effect.fn("S3.make")(function* (
  options: Options
): Effect.fn.Return<ObjectStoreShape, ObjectStoreError, HttpClient.HttpClient> {
  const client = yield* HttpClient.HttpClient
  if (Installed.folder(library, import.meta.url) === undefined) {
    return yield* new ObjectStoreError({
      message: `object storage needs the package ${library}, which is not installed: npm install ${library}@${packageJson.peerDependencies[library]}`
    })
  }
  const { AwsV4Signer } = yield* Effect.promise(() => import("aws4fetch"))
  const [bucket, ...rest] = options.url.pathname.split("/").filter((part) => part !== "")
  if (bucket === undefined) {
    return yield* new ObjectStoreError({ message: `${options.url.href} has no bucket: expected https://host/bucket` })
  }
  const base = `${options.url.origin}/${bucket}`
  const prefix = rest.map((part) => `${part}/`).join("")
  const location = `${base}/${prefix}`
  const credentials = {
    accessKeyId: options.accessKeyId,
    secretAccessKey: Redacted.value(options.secretAccessKey),
    service: "s3",
    ...(options.sessionToken !== undefined && { sessionToken: Redacted.value(options.sessionToken) }),
    ...(options.region !== undefined && { region: options.region })
  }
  const slots = yield* Semaphore.make(atOnce)

  const failed = (what: string, message: string, isTransient: boolean, cause: unknown, isLost = false) =>
    new StoreError({
      message: `the object storage ${location} failed: ${what}: ${message}`,
      isTransient,
      cause,
      ...(isLost && { isLost })
    })

  const attempt = Effect.fnUntraced(function* (method: Method, url: string, body: Uint8Array | undefined) {
    const bytes = Buffer.from(body ?? new Uint8Array(0))
    const digest = yield* Effect.promise(() => crypto.subtle.digest("SHA-256", bytes))
    const signed = yield* Effect.promise(() =>
      new AwsV4Signer({ ...credentials, method, url, headers: { "x-amz-content-sha256": hex(digest) } }).sign()
    )
    const request = HttpClientRequest.make(method)(signed.url.href).pipe(
      HttpClientRequest.setHeaders(Object.fromEntries(signed.headers.entries()))
    )
    return yield* client.execute(
      body === undefined ? request : HttpClientRequest.bodyUint8Array(request, bytes, "application/octet-stream")
    )
  })

  const ask = <A>(
    method: Method,
    path: string,
    body: Uint8Array | undefined,
    read: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, { readonly message: string }>
  ): Effect.Effect<A, StoreError> => {
    const what = `${method} ${path}`
    return Effect.gen(function* () {
      const response = yield* attempt(method, `${base}${path}`, body)
      const { status } = response
      if ((status >= 200 && status < 300) || status === 404) return yield* read(response)
      return yield* failed(what, refusal(status, yield* response.text), isPassing(status), undefined)
    }).pipe(
      Effect.timeout(requestTime),
      Effect.mapError((error) => (error instanceof StoreError ? error : failed(what, error.message, true, error))),
      Effect.retry({
        times: 4,
        schedule: Schedule.jittered(Schedule.exponential("100 millis")),
        while: ({ isTransient }) => isTransient
      }),
      slots.withPermits(1)
    )
  }

  const pathOf = (name: string) => `/${prefix}${name}`
  const missing = (what: string) => Effect.fail(failed(what, "404 not found", false, undefined))

  const store: ObjectStoreShape = {
    location,
    threshold: options.threshold ?? defaultThreshold,
    put: (name, bytes) =>
      ask("PUT", pathOf(name), bytes, ({ status }) => (status === 404 ? missing(`PUT ${pathOf(name)}`) : Effect.void)),
    get: (name) =>
      ask("GET", pathOf(name), undefined, (response) =>
        response.status === 404
          ? Effect.flatMap(response.text, (body) =>
              // A missing bucket is a configuration error and may reappear, so nothing is lost.
              Effect.fail(
                failed(
                  `GET ${pathOf(name)}`,
                  `404 not found: ${between(body, "Code").join()}`,
                  false,
                  undefined,
                  !between(body, "Code").includes("NoSuchBucket")
                )
              )
            )
          : Effect.map(response.arrayBuffer, (buffer) => new Uint8Array(buffer))
      ),
    list: (from, after) => {
      const query = new URLSearchParams({
        "list-type": "2",
        "max-keys": "1000",
        prefix: `${prefix}${from}`,
        ...(after !== undefined && { "start-after": `${prefix}${after}` })
      })
      return ask("GET", `?${query.toString()}`, undefined, (response) =>
        response.status === 404
          ? missing("list")
          : Effect.map(response.text, (xml) => between(xml, "Key").map((key) => key.slice(prefix.length)))
      )
    },
    remove: (name) => ask("DELETE", pathOf(name), undefined, () => Effect.void)
  }
  // A wrong key or a missing bucket fails at startup rather than at the first large group.
  yield* Effect.mapError(store.list("", undefined), ({ message }) => new ObjectStoreError({ message }))
  return store
})

export const layer = (options: Options): Layer.Layer<never, ObjectStoreError> =>
  Layer.effect(ObjectStore, make(options)).pipe(Layer.provide(FetchHttpClient.layer))

/**
 * Uses `ATROPOS_OBJECTS` (the URL), `ATROPOS_OBJECTS_FROM` (the threshold) and the variables of AWS's own tools; none
 * if the first is unset.
 */
export const layerConfig: Layer.Layer<never, ObjectStoreError | Config.ConfigError> = Layer.unwrap(
  Effect.gen(function* () {
    const url = yield* Config.option(Config.URL("ATROPOS_OBJECTS"))
    if (Option.isNone(url)) return Layer.empty
    const input = yield* Config.all({
      threshold: Config.Int("ATROPOS_OBJECTS_FROM").pipe(Config.withDefault(defaultThreshold)),
      accessKeyId: Config.NonEmptyString("AWS_ACCESS_KEY_ID"),
      secretAccessKey: Config.Redacted("AWS_SECRET_ACCESS_KEY"),
      sessionToken: Config.option(Config.Redacted("AWS_SESSION_TOKEN")),
      region: Config.option(Config.NonEmptyString("AWS_REGION"))
    })
    return layer({
      url: url.value,
      accessKeyId: input.accessKeyId,
      secretAccessKey: input.secretAccessKey,
      threshold: Math.max(1024, input.threshold),
      ...(Option.isSome(input.sessionToken) && { sessionToken: input.sessionToken.value }),
      ...(Option.isSome(input.region) && { region: input.region.value })
    })
  })
)
