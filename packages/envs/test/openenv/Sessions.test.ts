/** Sessions with a server, which are shared by episodes, and given up where an episode is. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Address from "../../src/openenv/Address.ts"
import * as Sessions from "../../src/openenv/Sessions.ts"
import * as Recording from "./Recording.ts"

const open = Effect.fn(function* (limit: number) {
  const { asked, url } = yield* Recording.serve("echo_env")
  const address = Result.getOrThrow(Address.parse(url))
  const sessions = yield* Sessions.make({ address, headers: {}, timeout: Duration.hours(1), limit })
  return { asked, sessions }
})

describe("Sessions", () => {
  it.live("are used again by later episodes", () =>
    Effect.gen(function* () {
      const { asked, sessions } = yield* open(1)
      const first = yield* sessions.use((connection) => Effect.as(connection.reset({}), connection))
      const second = yield* sessions.use((connection) => Effect.succeed(connection))
      assert.strictEqual(first, second)
      assert.isTrue(first.isOpen())
      assert.lengthOf(asked, 1)
    }).pipe(Effect.scoped)
  )

  it.live("are waited for by those that find none, who may give up", () =>
    Effect.gen(function* () {
      const { sessions } = yield* open(1)
      const one = yield* Effect.forkChild(sessions.use(() => Effect.never))
      yield* Effect.yieldNow
      const two = yield* Effect.forkChild(sessions.use(() => Effect.never))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(two)
      yield* Fiber.interrupt(one)
      assert.isTrue(yield* sessions.use(({ isOpen }) => Effect.sync(isOpen)))
    }).pipe(Effect.scoped)
  )

  it.live("are not used again where an answer is still to come", () =>
    Effect.gen(function* () {
      const { sessions } = yield* open(1)
      const abandoned = yield* sessions.use((connection) =>
        Effect.gen(function* () {
          const asking = yield* Effect.forkChild(connection.reset({}))
          yield* Effect.yieldNow
          yield* Fiber.interrupt(asking)
          return connection
        })
      )
      assert.isFalse(abandoned.isOpen())
      const next = yield* sessions.use((connection) => Effect.as(connection.reset({}), connection))
      assert.notStrictEqual(next, abandoned)
    }).pipe(Effect.scoped)
  )

  it.effect("say which server did not answer in time", () =>
    Effect.gen(function* () {
      const { asked, sessions } = yield* open(1)
      const asking = yield* Effect.forkChild(Effect.flip(sessions.use(({ reset }) => reset({ silent: true }))))
      yield* Waits.untilTrue("the question", () => asked.length === 1)
      yield* TestClock.adjust("1 hour")
      const error = yield* Fiber.join(asking)
      assert.strictEqual(error.reason, "timeout")
      assert.match(error.message, /http:\/\/127.0.0.1:\d+ did not respond within 1h \(timeout\)/)
    }).pipe(Effect.scoped)
  )
})
