/** Tells an address what the rules of a run's health find: one POST each. */
import type * as Health from "@atropos/core/health/Health"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"

export interface News {
  readonly run: string
  readonly finding: Health.Found
  /** Whether it ended the run. */
  readonly stopped: boolean
  /** What happened, in a sentence. */
  readonly message: string
}

const bodyOf = ({ finding: { from, rule, severity, source }, message, run, stopped }: News) => ({
  run,
  rule,
  severity,
  source,
  from,
  stopped,
  message,
  // Where chat services look for it.
  text: `${run}: ${message}`
})

/** An address that does not answer is told of in the log, and changes nothing. */
export const tell = (url: string, news: News): Effect.Effect<void> =>
  HttpClientRequest.post(url).pipe(
    HttpClientRequest.bodyJsonUnsafe(bodyOf(news)),
    HttpClient.execute,
    Effect.flatMap((response) =>
      response.status < 300 ? Effect.void : Effect.logWarning("the webhook refused", { url, status: response.status })
    ),
    Effect.timeout("10 seconds"),
    Effect.catch(({ message }) => Effect.logWarning("the webhook cannot be reached", { url, message })),
    Effect.provide(NodeHttpClient.layerUndici)
  )
