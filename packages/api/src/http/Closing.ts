/**
 * Signals that the server is closing to requests that would otherwise continue until their client leaves: event streams
 * end, waiting claims are answered. Other requests finish normally.
 *
 * `HttpServer.layer` provides the signal to the requests it serves. Elsewhere (a custom router, the in-process client)
 * nothing closes unless the embedder provides it.
 */
import { Context, Effect, Stream } from "effect"

/** Waits until the server closes. */
export const Closing = Context.Reference<Effect.Effect<void>>("@atropos/api/Closing", {
  defaultValue: () => Effect.never
})

/** Grace period for final events, such as a run's last step. */
const moment = "200 millis"

/** The values until shortly after the server begins to close, when the stream ends normally. */
export const until = <A, E, R>(values: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.unwrap(
    Effect.map(Closing, (closing) => Stream.interruptWhen(values, Effect.andThen(closing, Effect.sleep(moment))))
  )
