/**
 * The versioned endpoints of a service, as the platform's client derives them from their definition, with every failure
 * as a `TrajectoryError`. Never retries: that is up to the caller.
 */
import { Context, Effect, Option, Ref, type Schema } from "effect"
import { HttpClient, type HttpClientError } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import * as ServiceHttp from "./ServiceHttp.ts"
import { TrajectoryApi } from "./TrajectoryApi.ts"
import { TrajectoryError } from "./TrajectoryError.ts"

export interface Options extends ServiceHttp.Options {
  /** Name of the run. Default: "default", the one used by the original's endpoints. */
  readonly run?: string
}

type Failure = TrajectoryError | HttpClientError.HttpClientError | Schema.SchemaError | { readonly _tag: string }

export interface ServiceApi {
  readonly run: string
  readonly api: HttpApiClient.ForApi<typeof TrajectoryApi, TrajectoryError>
  /** Converts the failures of a method of `api` to a `TrajectoryError`. */
  readonly call: <A>(effect: Effect.Effect<A, Failure>) => Effect.Effect<A, TrajectoryError>
  /** For requests that the platform's client does not support. */
  readonly http: ServiceHttp.ServiceHttp
}

/** The URL of a call's request, once it is sent. */
const SentTo = Context.Reference<Ref.Ref<Option.Option<string>>>("@atropos/core/ServiceApi/SentTo", {
  defaultValue: () => Ref.makeUnsafe(Option.none())
})

/**
 * Converts a failure of the platform's client: before the request is sent, it cannot be encoded; after that, the answer
 * cannot be read.
 */
const failure = (error: Failure, sentTo: Option.Option<string>): TrajectoryError => {
  if (error instanceof TrajectoryError) return error
  const cause = error instanceof Error ? error : new Error(error._tag)
  return Option.match(sentTo, {
    onNone: () =>
      new TrajectoryError({ reason: "rejected", message: `cannot encode the request: ${cause.message}`, cause }),
    onSome: (where) => ServiceHttp.unreadable(where, cause)
  })
}

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ServiceApi, never, HttpClient.HttpClient> {
  const http = yield* ServiceHttp.make(options)
  const httpClient = HttpClient.transform(http.whole, (answer, request) =>
    Effect.flatMap(SentTo, (sentTo) => Effect.andThen(Ref.set(sentTo, Option.some(http.where(request))), answer))
  )
  return {
    run: options.run ?? "default",
    api: yield* HttpApiClient.makeWith(TrajectoryApi, { httpClient }),
    http,
    call: (effect) =>
      Effect.flatMap(Ref.make(Option.none<string>()), (sentTo) =>
        effect.pipe(
          Effect.provideService(SentTo, sentTo),
          Effect.catch((error) => Effect.flatMap(Ref.get(sentTo), (where) => Effect.fail(failure(error, where))))
        )
      )
  }
})
