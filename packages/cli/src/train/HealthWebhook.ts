/**
 * Tells an address what the rules of a run's health find: one POST each. The address is a secret, for whoever knows it
 * may post there: logs, spans and records of settings have its host at most.
 */
import * as Reason from "@atropos/core/base/Reason"
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

/** Only the host: paths and queries of webhooks are secrets. */
const hostOf = (url: string): string => URL.parse(url)?.host ?? "(no URL)"

/** An address that does not answer is told of in the log, and changes nothing. */
export const tell = (url: string, news: News): Effect.Effect<void> =>
  HttpClientRequest.post(url).pipe(
    HttpClientRequest.bodyJsonUnsafe(bodyOf(news)),
    HttpClient.execute,
    Effect.flatMap((response) =>
      response.status < 300
        ? Effect.void
        : Effect.logWarning("the webhook refused", { host: hostOf(url), status: response.status })
    ),
    // A span would name the URL.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.timeout("10 seconds"),
    Effect.catch((error) =>
      Effect.logWarning("the webhook cannot be reached", {
        host: hostOf(url),
        // Errors of clients name the URL.
        reason: Reason.root(error).replaceAll(url, hostOf(url))
      })
    ),
    Effect.provide(NodeHttpClient.layerUndici)
  )
