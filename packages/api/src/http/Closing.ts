/**
 * The end of a server, told to what would go on until its listener leaves: event streams end, claims that wait are
 * answered. Other requests are finished.
 *
 * `HttpServer.layer` tells it to the requests that it serves. Elsewhere (a router of one's own, the client without
 * HTTP) nothing closes, unless the embedder provides it.
 */
import { Context, Effect, Stream } from "effect"

/** Waits until the server closes. */
export const Closing = Context.Reference<Effect.Effect<void>>("@atropos/api/Closing", {
  defaultValue: () => Effect.never
})

/** In which what happened last, such as a run's last step, is still told. */
const moment = "200 millis"

/** The values until a moment after the server begins to close: the stream then ends as if there were no more. */
export const until = <A, E, R>(values: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.unwrap(
    Effect.map(Closing, (closing) => Stream.interruptWhen(values, Effect.andThen(closing, Effect.sleep(moment))))
  )
