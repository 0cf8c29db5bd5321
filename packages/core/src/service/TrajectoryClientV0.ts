/**
 * Uses the trajectory service over the original's endpoints, so that our environments and trainers work with a Python
 * server.
 *
 * That server has one run, stores no states and accepts no telemetry: both are None. It ignores keys: a submission
 * whose answer was lost is stored twice when sent again. A batch is gone once handed out, without a lease: `ack`,
 * `nack`, `extend` and `trained` do nothing. It holds no environment back. Never sends a request twice: retries are up
 * to the caller.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Duration, Effect, Layer, Option, Schedule, Stream } from "effect"
import { HttpBody, type HttpClient, HttpClientRequest } from "effect/http"
import type { EnvironmentClientShape } from "./EnvironmentClient.ts"
import * as ServiceHttp from "./ServiceHttp.ts"
import * as TelemetryClient from "./TelemetryClient.ts"
import * as TrajectoryClient from "./TrajectoryClient.ts"
import { TrajectoryError } from "./TrajectoryError.ts"
import * as V0Answers from "./V0Answers.ts"
import * as V0Claims from "./V0Claims.ts"
import * as V0Submission from "./V0Submission.ts"

export type Options = ServiceHttp.Options

/** Polling interval of the status. */
const statusPause = Duration.seconds(1)

const jsonBody = (value: unknown) => HttpBody.text(JSON.stringify(value), "application/json")

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<TrajectoryClient.TrajectoryClient, never, HttpClient.HttpClient> {
  const http = yield* ServiceHttp.make(options)
  const claims = yield* V0Claims.make(http)
  const { get, post, setBody } = HttpClientRequest
  const sendRegistration = http.sendFor(V0Answers.Registration)
  const sendEnvironmentStatus = http.sendFor(V0Answers.EnvironmentStatus)

  const status: EnvironmentClientShape["status"] = (envId) =>
    // A GET with a body: required by the original, and supported by undici (unlike fetch).
    Effect.map(sendEnvironmentStatus(setBody(get("/status-env"), jsonBody({ env_id: envId }))), (answer) => ({
      currentStep: answer.current_step,
      queueSize: answer.queue_size,
      selfQueueSize: answer.self_queue_size ?? 0,
      maxGroupSize: answer.max_group_size ?? 1,
      envWeight: answer.env_weight,
      unallocatedFraction: answer.unallocated_fraction ?? 1
    }))

  return {
    ...TelemetryClient.none,
    runInfo: Effect.map(http.sendFor(V0Answers.Info)(get("/info")), (info) => ({
      batchSize: info.batch_size,
      maxTokenLength: info.max_token_len
    })),
    wandbInfo: http.sendFor(V0Answers.WandbInfo)(get("/wandb_info")),
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
          V0Answers.isRegistered(answer)
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
        .sendFor(V0Answers.Done)(setBody(post("/disconnect-env"), jsonBody({ env_id: envId })))
        .pipe(
          Effect.flatMap(({ error, status }) =>
            status === "success"
              ? Effect.void
              : Effect.fail(
                  new TrajectoryError({ reason: "notFound", message: error ?? `no environment ${envId} is registered` })
                )
          )
        ),
    submit: V0Submission.make(http),
    status,
    statusChanges: (envId) =>
      Stream.fromEffectSchedule(status(envId), Schedule.spaced(statusPause)).pipe(Stream.changes),
    begin: (_, { more }) => Effect.succeed(more),
    savedStates: Effect.succeedNone,
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
            .pipe(Effect.andThen(claims.startAt(spec.startingStep)))
        : Effect.fail(
            new TrajectoryError({
              reason: "unsupported",
              message: `a run named ${spec.name} needs a service with the /v1 API; this one only has the run "default"`
            })
          ),
    claim: claims.claim,
    ack: () => Effect.void,
    nack: () => Effect.void,
    extend: () => Effect.void,
    trained: () => Effect.void
  }
})

/** Uses the caller's client, which must send bodies with GET (`NodeHttpClient`, not fetch). */
export const layerNoDeps = (options: Options): Layer.Layer<TrajectoryClient.Clients, never, HttpClient.HttpClient> =>
  TrajectoryClient.layer(make(options))

/** Uses its own keep-alive connections. */
export const layer = (options: Options): Layer.Layer<TrajectoryClient.Clients> =>
  Layer.provide(layerNoDeps(options), NodeHttpClient.layerUndici)
