/** Tells an address of a run that `stop_on` ended, before the command fails. */
import { TrainerError } from "@atropos/trainer/learn/TrainerError"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"

interface Options {
  readonly run: string
  /** Empty: nobody is told. */
  readonly stopWebhook: string
}

/** An address that does not answer is told of, and changes nothing. */
const tell = ({ run, stopWebhook }: Options, message: string) =>
  HttpClientRequest.post(stopWebhook).pipe(
    HttpClientRequest.bodyJsonUnsafe({ run, message, text: `${run}: ${message}` }),
    HttpClient.execute,
    Effect.flatMap((response) =>
      response.status < 300
        ? Effect.void
        : Effect.logWarning("the webhook refused", { url: stopWebhook, status: response.status })
    ),
    Effect.timeout("10 seconds"),
    Effect.catch(({ message }) => Effect.logWarning("the webhook cannot be reached", { url: stopWebhook, message })),
    Effect.provide(NodeHttpClient.layerUndici)
  )

export const telling =
  (options: Options) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapError(effect, (error) =>
      error instanceof TrainerError && error.reason === "stopped" && options.stopWebhook !== ""
        ? tell(options, error.message)
        : Effect.void
    )
