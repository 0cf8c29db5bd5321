import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, PubSub, Schema, SchemaGetter, Stream } from "effect"
import type { HttpServerResponse } from "effect/http"
import * as Events from "../../src/http/Events.ts"

/** What the body of an answer says, until it says `end`. */
const heard = ({ body }: HttpServerResponse.HttpServerResponse, end: string) => {
  assert(body._tag === "Stream")
  return body.stream.pipe(
    Stream.orDie,
    Stream.decodeText,
    Stream.takeUntil((text) => text.includes(end)),
    Stream.runCollect
  )
}

describe("events for all who listen to one thing", () => {
  it.live("are read and written once for all of them, also for those who come later", () =>
    Effect.gen(function* () {
      let written = 0
      let read = 0
      const Counted = Schema.String.pipe(
        Schema.decodeTo(Schema.String, {
          decode: SchemaGetter.transform((text: string) => text),
          encode: SchemaGetter.transform((text: string) => {
            written++
            return text
          })
        })
      )
      const notifications = yield* PubSub.unbounded<string>({ replay: 3 })
      let listening = 0
      const shared = yield* Events.shared("news", Counted, (key: string, listeners) =>
        Stream.fromPubSub(notifications).pipe(
          Stream.map((text) => {
            read++
            listening = listeners()
            return `${key} ${text}`
          })
        )
      )
      yield* PubSub.publish(notifications, "first")
      const listeners = yield* Effect.forEach(Array.from({ length: 100 }), () =>
        Effect.forkChild(heard(shared("run"), "last"), { startImmediately: true })
      )
      // All of them listen when the first who came after them has heard.
      assert.include((yield* heard(shared("run"), "first")).join(""), 'event: news\ndata: "run first"\n\n')
      yield* PubSub.publish(notifications, "last")
      const all = yield* Effect.forEach(listeners, Fiber.join)
      for (const texts of all) assert.include(texts.join(""), 'data: "run last"')
      assert.isAtLeast(listening, 100)
      assert.deepStrictEqual([read, written], [2, 2])
      // Nobody is left: the next begins anew, with what there is.
      assert.include((yield* heard(shared("run"), "last")).join(""), "run last")
    })
  )

  it.live("begin anew after a failure, though one who listened to what failed has not gone yet", () =>
    Effect.gen(function* () {
      const mayFail = yield* Deferred.make<void>()
      let begun = 0
      const shared = yield* Events.shared("news", Schema.String, () =>
        Stream.suspend(() =>
          ++begun === 1
            ? Stream.make("before").pipe(
                Stream.concat(Stream.fromEffect(Effect.as(Deferred.await(mayFail), "last"))),
                Stream.concat(Stream.fail("away"))
              )
            : Stream.concat(Stream.succeed("after"), Stream.never)
        )
      )
      // Takes one event and then no more, as a machine that sleeps does.
      const stuck = yield* Deferred.make<void>()
      const { body } = shared("run")
      assert(body._tag === "Stream")
      yield* body.stream.pipe(
        Stream.runForEach(() => Effect.andThen(Deferred.succeed(stuck, undefined), Effect.never)),
        Effect.forkScoped
      )
      yield* Deferred.await(stuck)
      const other = shared("run").body
      assert(other._tag === "Stream")
      // Whoever listens hears what it had said before, and its end.
      const said = yield* other.stream.pipe(
        Stream.decodeText,
        Stream.tap(() => Deferred.succeed(mayFail, undefined)),
        Stream.runCollect
      )
      assert.include(said.join(""), '"last"')
      // Behind the one that is stuck it would wait for ever.
      assert.include((yield* heard(shared("run"), "after")).join(""), '"after"')
    })
  )
})
