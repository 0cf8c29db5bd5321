/**
 * The versioned endpoints of a service, as the platform's client derives them from their definition, with every failure
 * as a `TrajectoryError`. It sends nothing twice: trying again is the caller's.
 */
import { Context, Effect, Option, Ref, type Schema } from "effect"
import { HttpClient, type HttpClientError } from "effect/http"
import { HttpApiClient } from "effect/http-api"
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

/** Where the request of a call went, once it is sent. */
const SentTo = Context.Reference<Ref.Ref<Option.Option<string>>>("@atropos/core/ServiceApi/SentTo", {
  defaultValue: () => Ref.makeUnsafe(Option.none())
})

/**
 * A failure of the platform's client: before the request is sent, it cannot be; after that, its answer cannot be read.
 */
const failure = (error: Failure, sentTo: Option.Option<string>): TrajectoryError => {
  if (error instanceof TrajectoryError) return error
  const cause = error instanceof Error ? error : new Error(error._tag)
  return Option.match(sentTo, {
    onNone: () => new TrajectoryError({ reason: "rejected", message: `cannot be sent: ${cause.message}`, cause }),
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
