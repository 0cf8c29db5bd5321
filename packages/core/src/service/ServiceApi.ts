/**
 * The versioned endpoints of a service, as the platform's client derives them from their definition, with every failure as a
 * `TrajectoryError`. It sends nothing twice: trying again is the caller's.
 */
import { Effect, type Schema } from "effect"
import type { HttpClient, HttpClientError } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { oneLine } from "../base/oneLine.ts"
import * as ServiceHttp from "./ServiceHttp.ts"
import { TrajectoryApi } from "./TrajectoryApi.ts"
import { TrajectoryError } from "./TrajectoryError.ts"

export interface Options extends ServiceHttp.Options {
  /** Name of the run. Default: "default", the one the original's endpoints speak of. */
  readonly run?: string
}

type Failure = TrajectoryError | HttpClientError.HttpClientError | Schema.SchemaError | { readonly _tag: string }

export interface ServiceApi {
  readonly run: string
  readonly api: HttpApiClient.ForApi<typeof TrajectoryApi, TrajectoryError>
  /** What a method of `api` fails with, as a `TrajectoryError`. */
  readonly call: <A>(effect: Effect.Effect<A, Failure>) => Effect.Effect<A, TrajectoryError>
  /** For what the platform's client cannot do. */
  readonly http: ServiceHttp.ServiceHttp
}

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ServiceApi, never, HttpClient.HttpClient> {
  const http = yield* ServiceHttp.make(options)
  const broken = (cause: { readonly message: string }) =>
    new TrajectoryError({
      reason: "unsupported",
      message: `${http.base} answered something else than the protocol says: ${oneLine(cause)}`,
      cause
    })
  const api = yield* HttpApiClient.makeWith(TrajectoryApi, {
    httpClient: http.whole,
    // What fails here was answered: what fails elsewhere could not be sent.
    transformResponse: Effect.mapError((failure) =>
      failure instanceof TrajectoryError
        ? failure
        : broken(failure instanceof Error ? failure : { message: `${failure}` })
    )
  })
  return {
    run: options.run ?? "default",
    api,
    http,
    call: Effect.mapError((failure) =>
      failure instanceof TrajectoryError
        ? failure
        : new TrajectoryError({
            reason: "rejected",
            message: `cannot be sent: ${failure instanceof Error ? failure.message : failure._tag}`,
            cause: failure
          })
    )
  }
})
