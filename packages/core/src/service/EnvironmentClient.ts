/**
 * The trajectory service's API for environments: register, follow the queue, submit groups and save state.
 *
 * Submissions have a key: sending twice stores once.
 */
import { Context, Duration, Effect, Option, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpBody, HttpClientRequest } from "effect/http"
import * as PackedGroup from "./PackedGroup.ts"
import * as RunReader from "./RunReader.ts"
import type * as ServiceApi from "./ServiceApi.ts"
import * as ServiceHttp from "./ServiceHttp.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import * as Api from "./TrajectoryApi.ts"
import { reconnecting, TrajectoryError } from "./TrajectoryError.ts"

export interface KeyedGroup {
  /** UUID; a second submission with the same key has no effect. */
  readonly key: string
  readonly group: ScoredGroup
}

/** States of environments, stored by the service under their names. */
export interface SavedStates {
  readonly load: (environmentName: string) => Effect.Effect<Option.Option<Api.SavedState>, TrajectoryError>
  readonly save: (environmentName: string, state: Api.SavedState) => Effect.Effect<void, TrajectoryError>
}

export interface EnvironmentClientShape extends RunReader.RunReader {
  /** None until the trainer has started: retry later. */
  readonly registerEnvironment: (
    spec: Api.EnvironmentSpec
  ) => Effect.Effect<Option.Option<Api.Registration>, TrajectoryError>
  readonly disconnectEnvironment: (envId: number) => Effect.Effect<void, TrajectoryError>
  readonly submit: (
    envId: number,
    groups: ReadonlyArray<KeyedGroup>
  ) => Effect.Effect<ReadonlyArray<Api.SubmitOutcome>, TrajectoryError>
  readonly status: (envId: number) => Effect.Effect<Api.EnvironmentStatus, TrajectoryError>
  /** The current status and all changes; pushed if the service supports it, polled otherwise. */
  readonly statusChanges: (envId: number) => Stream.Stream<Api.EnvironmentStatus, TrajectoryError>
  /**
   * Requests permits to start `more` groups in addition to `underWay`, if the run's environments wait at a staleness
   * bound; returns how many may start, and with which policy version. All of them without a bound.
   */
  readonly begin: (envId: number, request: Api.Begin) => Effect.Effect<Api.Begun, TrajectoryError>
  readonly savedStates: SavedStates
}

export class EnvironmentClient extends Context.Service<EnvironmentClient, EnvironmentClientShape>()(
  "@atropos/core/EnvironmentClient"
) {}

/** Longer than the interval of the service's keep-alives. */
const maxSilence = Duration.seconds(45)

const packSubmission = (envId: number, groups: ReadonlyArray<KeyedGroup>): HttpBody.HttpBody =>
  HttpBody.uint8Array(
    PackedGroup.encodeList(groups.map(({ group, key }) => ({ key, bytes: PackedGroup.encode({ ...group, envId }) }))),
    Api.packedContentType
  )

/**
 * Uses the versioned endpoints. Two of them do not use the platform's client: packed groups have no schema, and a dead
 * connection is only detectable from the bytes, because the service's keep-alives are comments, not events.
 */
export const overHttp = ({ api, call, http, run }: ServiceApi.ServiceApi): EnvironmentClientShape => {
  const path = `/v1/runs/${encodeURIComponent(run)}`
  const sendOutcomes = http.sendFor(Api.SubmitAnswer)

  const statusEvents = (envId: number) => {
    const events = `${path}/environments/${envId}/events`
    return Stream.unwrap(
      Effect.map(http.open(HttpClientRequest.get(events)), (response) =>
        response.stream.pipe(
          Stream.mapError(ServiceHttp.fromTransport(events)),
          Stream.timeoutOrElse({
            duration: maxSilence,
            orElse: () =>
              Stream.fail(
                new TrajectoryError({
                  reason: "unreachable",
                  message: `no events for ${Duration.format(maxSilence)}`
                })
              )
          }),
          Stream.decodeText,
          Stream.pipeThroughChannel(Sse.decodeDataSchema(Api.EnvironmentStatus)),
          Stream.map(({ data }) => data),
          Stream.mapError((error) =>
            error._tag === "TrajectoryError"
              ? error
              : new TrajectoryError({ reason: "unsupported", message: `not a status: ${error._tag}`, cause: error })
          )
        )
      )
    ).pipe(
      // The service ends the stream only when it shuts down.
      Stream.concat(
        Stream.fail(new TrajectoryError({ reason: "unreachable", message: "the service closed the stream of events" }))
      )
    )
  }

  return {
    ...RunReader.overHttp({ api, call, run }),
    registerEnvironment: (spec) =>
      Effect.map(call(api.environments.register({ params: { run }, payload: spec })), (answer) =>
        answer.status === "registered" ? Option.some(answer) : Option.none()
      ),
    disconnectEnvironment: (envId) => call(api.environments.disconnect({ params: { run, envId } })),
    submit: (envId, groups) =>
      groups.length === 0
        ? Effect.succeed([])
        : Effect.suspend(() =>
            sendOutcomes(
              HttpClientRequest.setBody(HttpClientRequest.post(`${path}/groups`), packSubmission(envId, groups))
            )
          ).pipe(Effect.map(({ outcomes }) => outcomes)),
    status: (envId) => call(api.environments.status({ params: { run, envId } })),
    statusChanges: (envId) => statusEvents(envId).pipe(Stream.retry(reconnecting), Stream.changes),
    begin: (envId, payload) => call(api.environments.begin({ params: { run, envId }, payload })),
    savedStates: {
      load: (environment) =>
        call(api.environments.loadState({ params: { run, environment } })).pipe(
          Effect.asSome,
          Effect.catchIf(
            ({ reason }) => reason === "notFound",
            () => Effect.succeedNone
          )
        ),
      save: (environment, state) => call(api.environments.saveState({ params: { run, environment }, payload: state }))
    }
  }
}
