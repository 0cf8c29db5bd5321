/**
 * The versioned endpoints of a service, as the platform's client derives them from their definition, with every failure as a
 * `TrajectoryError`. It sends nothing twice: trying again is the caller's.
 */
import { Effect, type Schema, type Scope } from "effect"
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
