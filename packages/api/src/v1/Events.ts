/** Server-sent events: each value as one named event of JSON, and a comment now and then as a sign of life. */
import { Effect, Schema, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Closing from "../Closing.ts"

const signOfLife = ": alive\n\n"

/** An answer that goes on until the listener leaves, the server closes, or the values fail (then it ends, and the listener comes back). */
export const response = <A, I, E>(
  name: string,
  schema: Schema.Codec<A, I>,
  values: Stream.Stream<A, E>,
  /** What a listener names to go on after this value. */
  idOf?: (value: A) => string | undefined
): HttpServerResponse.HttpServerResponse => {
  const encode = Schema.encodeEffect(Schema.fromJsonString(Schema.toCodecJson(schema)))
  const events = values.pipe(
    Stream.mapEffect((value) =>
      Effect.map(Effect.orDie(encode(value)), (json) => {
        const id = idOf?.(value)
        return `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${json}\n\n`
      })
    ),
    Stream.catchCause((cause) => Stream.fromEffectDrain(Effect.logWarning("event stream ended", cause)))
  )
  const body = Stream.merge(
    events,
    Stream.map(Stream.tick("15 seconds"), () => signOfLife),
    { haltStrategy: "left" }
  ).pipe(Closing.until, Stream.encodeText)
  return HttpServerResponse.stream(body, {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
  })
}
