/** Server-sent events: each value as one named event of JSON, and a comment now and then as a sign of life. */
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
 * An answer that goes on until the listener leaves, the server closes, or the values fail (then it ends, and the
 * listener comes back).
 */
export const response = <A, I, E>(
  name: string,
  schema: Schema.Codec<A, I>,
  values: Stream.Stream<A, E>,
  /** What a listener names to go on after this value. */
  idOf?: (value: A) => string | undefined
): HttpServerResponse.HttpServerResponse => answer(encoded(name, schema, values, idOf))

/**
 * The same for all who listen to one thing, of which only the newest value counts: it is read and written once for all
 * of them. Who comes later gets the last event at once; who is slow misses those in between.
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
        // What has failed stays as long as one who is slow listens to it: who comes back gets it from its beginning.
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
