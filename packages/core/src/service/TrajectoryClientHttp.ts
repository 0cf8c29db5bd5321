/**
 * The trajectory service over its versioned endpoints: packed bodies, long poll, pushed status.
 *
 * It never sends a request twice: trying again is the caller's (the rollout runner's, the trainer's), and safe, because
 * submissions carry their keys and batches their lease tokens. Only `statusChanges` reconnects by itself, for ever,
 * with a growing pause of at most five seconds; it ends with an error where the service refuses (unknown run or
 * environment, wrong token).
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Duration, Effect, Layer, Option, Result, Schedule, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpBody, type HttpClient, HttpClientRequest } from "effect/http"
import type { Batch } from "../Batch.ts"
import * as Readings from "./Readings.ts"
import * as PackedGroup from "./PackedGroup.ts"
import * as ServiceHttp from "./ServiceHttp.ts"
import * as Wire from "./TrajectoryApiSchema.ts"
import { type KeyedGroup, TrajectoryClient, type TrajectoryClientShape, TrajectoryError } from "./TrajectoryClient.ts"

export interface Options extends ServiceHttp.Options {
  /** Name of the run. Default: "default", the one the original's endpoints speak of. */
  readonly run?: string
}

const Outcomes = Schema.Struct({ outcomes: Schema.Array(Wire.SubmitOutcome) })

/** Longer than the service's pauses between signs of life. */
const silence = Duration.seconds(45)

const reconnecting = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("5 seconds")]).pipe(
  Schedule.jittered,
  Schedule.setInputType<TrajectoryError>(),
  Schedule.while(({ input }) => input.reason === "unreachable" || input.reason === "overloaded")
)

const encodeJson = <A, I>(schema: Schema.Codec<A, I>) => {
  const encode = Schema.encodeEffect(Schema.fromJsonString(Schema.toCodecJson(schema)))
  return (value: A) =>
    Effect.map(
      Effect.mapError(
        encode(value),
        (cause) => new TrajectoryError({ reason: "rejected", message: `cannot be sent: ${cause.message}`, cause })
      ),
      (json) => HttpBody.text(json, "application/json")
    )
}

const bodyOf = {
  run: encodeJson(Wire.RunSpec),
  environment: encodeJson(Wire.EnvironmentSpec),
  claim: encodeJson(Wire.Claim),
  lease: encodeJson(Wire.Lease),
  extension: encodeJson(Wire.LeaseExtension),
  state: encodeJson(Wire.SavedState),
  metrics: encodeJson(Wire.Metrics),
  pieces: encodeJson(Wire.Pieces),
  report: encodeJson(Wire.EnvironmentReport)
}

const packSubmission = (envId: number, groups: ReadonlyArray<KeyedGroup>): HttpBody.HttpBody =>
  HttpBody.uint8Array(
    PackedGroup.encodeList(groups.map(({ group, key }) => ({ key, bytes: PackedGroup.encode({ ...group, envId }) }))),
    Wire.packedContentType
  )

const notPacked = (message: string, cause?: unknown) =>
  new TrajectoryError({ reason: "unsupported", message: `the service's batch cannot be read: ${message}`, cause })

const decodeHead = Schema.decodeUnknownEffect(Schema.toCodecStringTree(Wire.BatchHead))

/** The batch of a packed answer: its head in the headers `atropos-*`, its groups in the body. */
const readBatch = (answer: ServiceHttp.Answer): Effect.Effect<Batch, TrajectoryError> =>
  Effect.gen(function* () {
    const header = (name: string) => answer.headers[`atropos-${name}`]
    const head = yield* Effect.mapError(
      decodeHead({
        id: header("batch-id"),
        step: header("step"),
        lease_token: header("lease-token"),
        lease_until: header("lease-until"),
        deliveries: header("deliveries")
      }),
      (cause) => notPacked(cause.message, cause)
    )
    const groups = Result.flatMap(PackedGroup.decodeList(answer.bytes), (items) =>
      Result.all(items.map(({ bytes }) => PackedGroup.decode(bytes)))
    )
    if (Result.isFailure(groups))
      return yield* notPacked(`${groups.failure.field}: ${groups.failure.message}`, groups.failure)
    return { ...head, groups: groups.success }
  })

const make = Effect.fnUntraced(function* (options: Options) {
  const http = yield* ServiceHttp.make(options)
  const run = options.run ?? "default"
  const path = `/v1/runs/${encodeURIComponent(run)}`
  const { get, post, put, setBody } = HttpClientRequest
  const readRun: Effect.Effect<Option.Option<typeof Wire.Run.Type>, TrajectoryError> = http
    .sendFor(Wire.Run)(get(path))
    .pipe(
      Effect.map((found) => (found.registered ? Option.some(found) : Option.none())),
      Effect.catchIf(
        ({ reason }) => reason === "notFound",
        () => Effect.succeedNone
      )
    )

  const statusEvents = (envId: number) =>
    Stream.unwrap(
      Effect.map(http.open(get(`${path}/environments/${envId}/events`)), (response) =>
        response.stream.pipe(
          Stream.mapError(ServiceHttp.fromTransport(`${path}/environments/${envId}/events`)),
          Stream.timeoutOrElse({
            duration: silence,
            orElse: () =>
              Stream.fail(
                new TrajectoryError({
                  reason: "unreachable",
                  message: `no sign of life for ${Duration.format(silence)}`
                })
              )
          }),
          Stream.decodeText,
          Stream.pipeThroughChannel(Sse.decodeDataSchema(Wire.EnvironmentStatus)),
          Stream.map(({ data }) => data),
          Stream.mapError((error) =>
            error._tag === "TrajectoryError"
              ? error
              : new TrajectoryError({ reason: "unsupported", message: `not a status: ${error._tag}`, cause: error })
          )
        )
      )
    ).pipe(
      // The service ends the stream only when it goes away.
      Stream.concat(
        Stream.fail(new TrajectoryError({ reason: "unreachable", message: "the service closed the stream of events" }))
      )
    )

  const sendStatus = http.sendFor(Wire.EnvironmentStatus)
  const sendRegistration = http.sendFor(Wire.Registration)
  const sendOutcomes = http.sendFor(Outcomes)
  const sendState = http.sendFor(Wire.SavedState)
  const batchPath = (id: string, verb: string) => `${path}/batches/${encodeURIComponent(id)}/${verb}`
  const settle =
    (verb: "ack" | "nack"): TrajectoryClientShape["ack"] =>
    ({ id, leaseToken }) =>
      bodyOf.lease({ leaseToken }).pipe(
        Effect.flatMap((body) => http.send(setBody(post(batchPath(id, verb)), body))),
        Effect.asVoid
      )
  const statePath = (environmentName: string) => `${path}/state/${encodeURIComponent(environmentName)}`

  return {
    registerRun: (spec) =>
      bodyOf.run(spec).pipe(
        Effect.flatMap((body) => http.send(setBody(post("/v1/runs"), body))),
        Effect.asVoid
      ),
    runInfo: Effect.map(
      readRun,
      Option.match({
        onNone: () => ({ batchSize: -1, maxTokenLength: -1 }),
        onSome: ({ batchSize, maxTokenLength }) => ({ batchSize, maxTokenLength })
      })
    ),
    wandbInfo: Effect.map(
      readRun,
      Option.match({
        onNone: () => ({ group: null, project: null }),
        onSome: ({ wandbGroup, wandbProject }) => ({ group: wandbGroup, project: wandbProject })
      })
    ),
    registerEnvironment: (spec) =>
      bodyOf.environment(spec).pipe(
        Effect.flatMap((body) => sendRegistration(setBody(post(`${path}/environments`), body))),
        Effect.map((answer) => (answer.status === "registered" ? Option.some(answer) : Option.none()))
      ),
    disconnectEnvironment: (envId) => Effect.asVoid(http.send(post(`${path}/environments/${envId}/disconnect`))),
    submit: (envId, groups) =>
      groups.length === 0
        ? Effect.succeed([])
        : Effect.suspend(() => sendOutcomes(setBody(post(`${path}/groups`), packSubmission(envId, groups)))).pipe(
            Effect.map(({ outcomes }) => outcomes)
          ),
    status: (envId) => sendStatus(get(`${path}/environments/${envId}/status`)),
    statusChanges: (envId) => statusEvents(envId).pipe(Stream.retry(reconnecting), Stream.changes),
    loadState: (environmentName) =>
      sendState(get(statePath(environmentName))).pipe(
        Effect.asSome,
        Effect.catchIf(
          ({ reason }) => reason === "notFound",
          () => Effect.succeedNone
        )
      ),
    saveState: (environmentName, state) =>
      bodyOf.state(state).pipe(
        Effect.flatMap((body) => http.send(setBody(put(statePath(environmentName)), body))),
        Effect.asVoid
      ),
    claim: ({ lease, owner, wait }) => {
      const extraTime = Duration.fromInputUnsafe(wait)
      return bodyOf
        .claim({ owner, waitSeconds: Duration.toSeconds(extraTime), leaseSeconds: Duration.toSeconds(lease) })
        .pipe(
          Effect.flatMap((body) =>
            http.send(
              post(`${path}/batches/claim`, { headers: { accept: Wire.packedContentType } }).pipe(setBody(body)),
              { extraTime }
            )
          ),
          Effect.flatMap((answer) => (answer.status === 204 ? Effect.succeedNone : Effect.asSome(readBatch(answer))))
        )
    },
    ack: settle("ack"),
    nack: settle("nack"),
    extend: ({ id, leaseToken }, lease) =>
      bodyOf.extension({ leaseToken, leaseSeconds: Duration.toSeconds(lease) }).pipe(
        Effect.flatMap((body) => http.send(setBody(post(batchPath(id, "extend")), body))),
        Effect.asVoid
      ),
    recordMetrics: ({ values, ...metrics }) =>
      bodyOf.metrics({ ...metrics, values: Readings.encode(values) }).pipe(
        Effect.flatMap((body) => http.send(setBody(post(`${path}/metrics`), body))),
        Effect.asVoid
      ),
    servesViewers: Effect.succeed(true),
    recordPieces: (pieces) =>
      bodyOf.pieces({ pieces: Object.fromEntries(pieces) }).pipe(
        Effect.flatMap((body) => http.send(setBody(post(`${path}/pieces`), body))),
        Effect.asVoid
      ),
    recordReport: (envId, report) =>
      bodyOf.report(report).pipe(
        Effect.flatMap((body) => http.send(setBody(post(`${path}/environments/${envId}/report`), body))),
        Effect.asVoid
      )
  } satisfies TrajectoryClientShape
})

/** Over a client of the caller's. */
export const layerNoDeps = (options: Options): Layer.Layer<TrajectoryClient, never, HttpClient.HttpClient> =>
  Layer.effect(TrajectoryClient, make(options))

/** Over connections of its own, kept open between requests. */
export const layer = (options: Options): Layer.Layer<TrajectoryClient> =>
  Layer.provide(layerNoDeps(options), NodeHttpClient.layerUndici)
