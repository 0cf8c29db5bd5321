/**
 * Posts each health finding of a run to a URL. The URL is a secret, since anyone who knows it may post there: logs,
 * spans and saved settings contain at most its host.
 */
import * as Reason from "@atropos/core/base/Reason"
import type * as Health from "@atropos/core/health/Health"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"

export interface News {
  readonly run: string
  readonly finding: Health.Found
  /** True if the finding ended the run. */
  readonly stopped: boolean
  /** One sentence about the event. */
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
  // The field that chat services display.
  text: `${run}: ${message}`
})

/** Only the host: paths and queries of webhooks are secrets. */
const hostOf = (url: string): string => URL.parse(url)?.host ?? "(no URL)"

/** A failure is logged and otherwise ignored. */
export const notify = (url: string, news: News): Effect.Effect<void> =>
  HttpClientRequest.post(url).pipe(
    HttpClientRequest.bodyJsonUnsafe(bodyOf(news)),
    HttpClient.execute,
    Effect.flatMap((response) =>
      response.status < 300
        ? Effect.void
        : Effect.logWarning("webhook rejected the request", { host: hostOf(url), status: response.status })
    ),
    // A span would contain the URL.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.timeout("10 seconds"),
    Effect.catch((error) =>
      Effect.logWarning("webhook unreachable", {
        host: hostOf(url),
        // Client errors contain the URL.
        reason: Reason.root(error).replaceAll(url, hostOf(url))
      })
    ),
    Effect.provide(NodeHttpClient.layerUndici)
  )
