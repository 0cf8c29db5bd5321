/** Sends server-sent events: each value as a named JSON event, with occasional comments as keep-alive. */
import { Effect, RcMap, Schema, type Scope, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Closing from "./Closing.ts"

const encoder = new TextEncoder()
const signOfLife = encoder.encode(": alive\n\n")

const encoded = <A, I, E>(
  name: string,
  schema: Schema.Codec<A, I>,
  values: Stream.Stream<A, E>,
  idOf?: (value: A) => string | undefined
): Stream.Stream<Uint8Array> => {
  const encode = Schema.encodeEffect(Schema.fromJsonString(Schema.toCodecJson(schema)))
  return values.pipe(
    Stream.mapEffect((value) =>
      Effect.map(Effect.orDie(encode(value)), (json) => {
        const id = idOf?.(value)
        return encoder.encode(`${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${json}\n\n`)
      })
    ),
    Stream.catchCause((cause) => Stream.fromEffectDrain(Effect.logWarning("event stream ended", cause)))
  )
}

const answer = (events: Stream.Stream<Uint8Array>): HttpServerResponse.HttpServerResponse => {
  const body = Stream.merge(
    events,
    Stream.map(Stream.tick("15 seconds"), () => signOfLife),
    { haltStrategy: "left" }
  ).pipe(Closing.until)
  return HttpServerResponse.stream(body, {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
  })
}

/**
 * A response that continues until the client leaves, the server closes, or the values fail (then it ends, and the
 * client reconnects).
 */
export const response = <A, I, E>(
  name: string,
  schema: Schema.Codec<A, I>,
  values: Stream.Stream<A, E>,
  /** The id by which a client resumes after this value. */
  idOf?: (value: A) => string | undefined
): HttpServerResponse.HttpServerResponse => answer(encoded(name, schema, values, idOf))

/**
 * A response shared by all clients of a key, for which only the newest value counts: values are read and encoded once
 * for all. A later client gets the last event immediately; a slow one misses intermediate values.
 */
export const shared = Effect.fnUntraced(function* <K, A, I, E>(
  name: string,
  schema: Schema.Codec<A, I>,
  valuesOf: (key: K, listeners: () => number) => Stream.Stream<A, E>
): Effect.fn.Return<(key: K) => HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
  interface Thing {
    readonly events: Stream.Stream<Uint8Array>
    readonly listeners: { count: number }
  }
  const things: RcMap.RcMap<K, Thing> = yield* RcMap.make({
    lookup: (key: K) => {
      const listeners = { count: 0 }
      return encoded(
        name,
        schema,
        valuesOf(key, () => listeners.count)
      ).pipe(
        // A failed stream stays while a slow client still reads it; a reconnecting client gets a new one.
        Stream.concat(Stream.fromEffectDrain(Effect.suspend(() => RcMap.invalidate(things, key)))),
        Stream.share({ capacity: 1, strategy: "sliding", replay: 1 }),
        Effect.map((events): Thing => ({ events, listeners }))
      )
    }
  })
  return (key) =>
    answer(
      Stream.unwrap(
        Effect.gen(function* () {
          const { events, listeners } = yield* RcMap.get(things, key)
          yield* Effect.acquireRelease(
            Effect.sync(() => void listeners.count++),
            () => Effect.sync(() => void listeners.count--)
          )
          return events
        })
      )
    )
})
