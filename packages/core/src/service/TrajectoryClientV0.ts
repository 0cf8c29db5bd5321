/**
 * The trajectory service over the original's endpoints, so that our environments and trainers work with a Python
 * server.
 *
 * What that server cannot do is said plainly: no saved state and no metrics (`unsupported`), keys are ignored (a
 * submission whose answer was lost is stored twice when sent again), a batch is gone once it is handed out (it has no
 * lease: `ack` and `extend` do nothing, `nack` is `unsupported`), and there is one run. Steps are counted here, one per
 * batch from the run's starting step, because the server counts batches formed. It never sends a request twice: trying
 * again is the caller's.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Clock, Duration, Effect, Layer, Option, Ref, Schedule, Schema, Stream } from "effect"
import { HttpBody, type HttpClient, HttpClientRequest } from "effect/http"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import type { Batch } from "../Batch.ts"
import * as ServiceHttp from "./ServiceHttp.ts"
import * as PackedGroup from "./PackedGroup.ts"
import type { ScoredGroup } from "../ScoredGroup.ts"
import {
  type KeyedGroup,
  type SubmitOutcome,
  TrajectoryClient,
  type TrajectoryClientShape,
  TrajectoryError
} from "./TrajectoryClient.ts"
import * as WireGroup from "./WireGroup.ts"

export type Options = ServiceHttp.Options

const Info = Schema.Struct({ batch_size: Schema.Int, max_token_len: Schema.Int })
const WandbInfo = Schema.Struct({ group: Schema.NullOr(Schema.String), project: Schema.NullOr(Schema.String) })
const Status = Schema.Struct({ current_step: Schema.Int, queue_size: Schema.Int })
const EnvironmentStatus = Schema.Struct({
  current_step: Schema.Int,
  queue_size: Schema.Int,
  unallocated_fraction: Schema.optionalKey(Schema.Finite),
  self_queue_size: Schema.optionalKey(Schema.Int),
  max_group_size: Schema.optionalKey(Schema.Int),
  env_weight: Schema.Finite
})
const Registered = Schema.Struct({
  status: Schema.Literal("success"),
  env_id: Schema.Int,
  wandb_name: Schema.String,
  checkpoint_dir: Schema.String,
  starting_step: Schema.Int,
  checkpoint_interval: Schema.Int,
  num_steps: Schema.Int
})
const Registration = Schema.Union([Registered, Schema.Struct({ status: Schema.String })])
const Done = Schema.Struct({ status: Schema.String, error: Schema.optionalKey(Schema.String) })
const Received = Schema.Struct({ status: Schema.String, buffer_size: Schema.optionalKey(Schema.Int) })
const ListReceived = Schema.Struct({
  groups_processed: Schema.Int,
  buffered: Schema.optionalKey(Schema.Int),
  last_buffer_size: Schema.optionalKey(Schema.Int)
})
const BatchAnswer = Schema.Struct({
  batch: Schema.NullOr(Schema.Array(Schema.Unknown)),
  status: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String)
})

/** Below this, compressing costs more than it saves (the original's own threshold). */
const gzipFrom = 1024
const compress = promisify(gzip)

const isRegistered = Schema.is(Registered)

const jsonBody = (value: unknown) => HttpBody.text(JSON.stringify(value), "application/json")

/** A body of JSON text, compressed where that helps. */
const textBody = (parts: ReadonlyArray<Uint8Array>) => {
  const bytes = Buffer.concat(parts)
  if (bytes.length < gzipFrom)
    return Effect.succeed({ body: HttpBody.uint8Array(bytes, "application/json"), headers: {} })
  return Effect.map(
    // zlib fails on nothing but a lack of memory.
    Effect.promise(() => compress(bytes, { level: 1 })),
    (packed) => ({ body: HttpBody.uint8Array(packed, "application/json"), headers: { "content-encoding": "gzip" } })
  )
}

const openList = Buffer.from("[")
const comma = Buffer.from(",")
const closeList = Buffer.from("]")

const listParts = (groups: ReadonlyArray<ScoredGroup>): ReadonlyArray<Uint8Array> => [
  openList,
  ...groups.flatMap((group, index) => [...(index === 0 ? [] : [comma]), ...WireGroup.encodePieces(group)]),
  closeList
]

const unsupported = (what: string) =>
  new TrajectoryError({
    reason: "unsupported",
    message: `${what} needs a service with versioned endpoints; this one has the original's alone`
  })

/** The original checks nothing: a number that is not finite would come back as a failing batch. */
const checked = ({ group, key }: KeyedGroup): Effect.Effect<ScoredGroup, TrajectoryError> =>
  Effect.mapError(
    Effect.fromResult(PackedGroup.check(group)),
    (cause) =>
      new TrajectoryError({ reason: "rejected", message: `group ${key}: ${cause.field}: ${cause.message}`, cause })
  )

const first = Duration.millis(100)
const longest = Duration.seconds(1)

const make = Effect.fnUntraced(function* (options: Options) {
  const http = yield* ServiceHttp.make(options)
  const { get, post, setBody } = HttpClientRequest
  /** The step of the next batch; none until it is known. */
  const nextStep = yield* Ref.make(Option.none<number>())
  const served = yield* Ref.make(0)

  const sendRegistration = http.sendFor(Registration)
  const sendEnvironmentStatus = http.sendFor(EnvironmentStatus)
  const sendBatch = http.sendFor(BatchAnswer)
  const sendReceived = http.sendFor(Received)
  const sendListReceived = http.sendFor(ListReceived)
  const currentStep = Effect.map(http.sendFor(Status)(get("/status")), (status) => status.current_step)

  const status: TrajectoryClientShape["status"] = (envId) =>
    // A GET with a body: what the original wants, and what undici (unlike fetch) sends.
    Effect.map(sendEnvironmentStatus(setBody(get("/status-env"), jsonBody({ env_id: envId }))), (answer) => ({
      currentStep: answer.current_step,
      queueSize: answer.queue_size,
      selfQueueSize: answer.self_queue_size ?? 0,
      maxGroupSize: answer.max_group_size ?? 1,
      envWeight: answer.env_weight,
      unallocatedFraction: answer.unallocated_fraction ?? 1
    }))

  const submitOne = (group: ScoredGroup): Effect.Effect<ReadonlyArray<SubmitOutcome>, TrajectoryError> =>
    textBody([...WireGroup.encodePieces(group)]).pipe(
      Effect.flatMap(({ body, headers }) => sendReceived(setBody(post("/scored_data", { headers }), body))),
      Effect.map(({ buffer_size, status }) => [
        status === "buffered" ? { status, bufferSize: buffer_size ?? 0 } : { status: "received" }
      ])
    )

  /**
   * One request, so that it is all or nothing. The answer does not say which groups were buffered: then all count as
   * buffered.
   */
  const submitSeveral = (
    groups: ReadonlyArray<ScoredGroup>
  ): Effect.Effect<ReadonlyArray<SubmitOutcome>, TrajectoryError> =>
    textBody(listParts(groups)).pipe(
      Effect.flatMap(({ body, headers }) => sendListReceived(setBody(post("/scored_data_list", { headers }), body))),
      Effect.map(({ buffered, last_buffer_size }) =>
        groups.map(() =>
          buffered === undefined || buffered === 0
            ? { status: "received" }
            : { status: "buffered", bufferSize: last_buffer_size ?? 0 }
        )
      )
    )

  const submit = Effect.fnUntraced(function* (envId: number, keyed: ReadonlyArray<KeyedGroup>) {
    const groups = yield* Effect.forEach(keyed, checked)
    const [only, ...others] = groups.map((group): ScoredGroup => ({ ...group, envId }))
    if (only === undefined) return []
    return yield* others.length === 0 ? submitOne(only) : submitSeveral([only, ...others])
  })

  const takeStep = Effect.gen(function* () {
    const known = yield* Ref.get(nextStep)
    // The server has counted this batch already.
    const step = Option.isSome(known) ? known.value : Math.max(1, yield* currentStep)
    yield* Ref.set(nextStep, Option.some(step + 1))
    return step
  })

  const poll = Effect.gen(function* () {
    const answer = yield* sendBatch(get("/batch"))
    if (answer.status === "error") {
      return yield* new TrajectoryError({ reason: "notFound", message: answer.message ?? "no run is registered" })
    }
    if (answer.batch === null) return Option.none<Batch>()
    const groups = yield* Effect.forEach(answer.batch, (group) =>
      Effect.mapError(
        Effect.fromResult(WireGroup.decode(group)),
        (cause) =>
          new TrajectoryError({ reason: "unsupported", message: `a group cannot be read: ${cause.message}`, cause })
      )
    )
    const step = yield* takeStep
    const number = yield* Ref.getAndUpdate(served, (count) => count + 1)
    return Option.some<Batch>({
      id: String(number),
      step,
      leaseToken: "",
      leaseUntil: Number.MAX_SAFE_INTEGER,
      deliveries: 1,
      groups
    })
  })

  return {
    registerRun: (spec) =>
      spec.name === "default"
        ? http
            .send(
              setBody(
                post("/register"),
                jsonBody({
                  wandb_group: spec.wandbGroup,
                  wandb_project: spec.wandbProject,
                  batch_size: spec.batchSize,
                  max_token_len: spec.maxTokenLength,
                  checkpoint_dir: spec.checkpointDir,
                  save_checkpoint_interval: spec.saveCheckpointInterval,
                  starting_step: spec.startingStep,
                  num_steps: spec.numSteps
                })
              )
            )
            .pipe(
              Effect.andThen(
                Ref.update(
                  nextStep,
                  Option.orElse(() => Option.some(spec.startingStep + 1))
                )
              )
            )
        : Effect.fail(unsupported(`a run named ${spec.name} (there is one run, "default")`)),
    runInfo: Effect.map(http.sendFor(Info)(get("/info")), (info) => ({
      batchSize: info.batch_size,
      maxTokenLength: info.max_token_len
    })),
    wandbInfo: http.sendFor(WandbInfo)(get("/wandb_info")),
    registerEnvironment: (spec) =>
      sendRegistration(
        setBody(
          post("/register-env"),
          jsonBody({
            max_token_length: spec.maxTokenLength,
            desired_name: spec.desiredName,
            weight: spec.weight,
            group_size: spec.groupSize,
            min_batch_allocation: spec.minBatchAllocation
          })
        )
      ).pipe(
        Effect.map((answer) =>
          isRegistered(answer)
            ? Option.some({
                envId: answer.env_id,
                name: answer.wandb_name,
                startingStep: answer.starting_step,
                numSteps: answer.num_steps,
                checkpointDir: answer.checkpoint_dir,
                checkpointInterval: answer.checkpoint_interval
              })
            : Option.none()
        )
      ),
    disconnectEnvironment: (envId) =>
      http
        .sendFor(Done)(setBody(post("/disconnect-env"), jsonBody({ env_id: envId })))
        .pipe(
          Effect.flatMap(({ error, status }) =>
            status === "success"
              ? Effect.void
              : Effect.fail(
                  new TrajectoryError({ reason: "notFound", message: error ?? `no environment ${envId} is registered` })
                )
          )
        ),
    submit,
    status,
    statusChanges: (envId) => Stream.fromEffectSchedule(status(envId), Schedule.spaced(longest)).pipe(Stream.changes),
    loadState: () => Effect.fail(unsupported("loading saved state")),
    saveState: () => Effect.fail(unsupported("saving state")),
    claim: ({ wait }) =>
      Effect.gen(function* () {
        const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(wait)
        let pause = first
        while (true) {
          const found = yield* poll
          const left = deadline - (yield* Clock.currentTimeMillis)
          if (Option.isSome(found) || left <= 0) return found
          yield* Effect.sleep(Duration.min(pause, Duration.millis(left)))
          pause = Duration.min(Duration.times(pause, 2), longest)
        }
      }),
    ack: () => Effect.void,
    nack: () => Effect.fail(unsupported("giving a batch back")),
    extend: () => Effect.void,
    recordMetrics: () => Effect.fail(unsupported("recording metrics")),
    servesViewers: Effect.succeed(false),
    recordPieces: () => Effect.fail(unsupported("keeping the text of tokens")),
    recordReport: () => Effect.fail(unsupported("keeping reports"))
  } satisfies TrajectoryClientShape
})

/** Over a client of the caller's, which must send bodies with GET (`NodeHttpClient`, not fetch). */
export const layerNoDeps = (options: Options): Layer.Layer<TrajectoryClient, never, HttpClient.HttpClient> =>
  Layer.effect(TrajectoryClient, make(options))

/** Over connections of its own, kept open between requests. */
export const layer = (options: Options): Layer.Layer<TrajectoryClient> =>
  Layer.provide(layerNoDeps(options), NodeHttpClient.layerUndici)
