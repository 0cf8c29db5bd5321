import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import * as Thread from "../../src/base/Thread.ts"
import type { Question } from "./EchoWorker.ts"

const file = Thread.fileBeside(import.meta.url, "EchoWorker")

const start = Thread.start<Question, unknown>(file, {
  workerData: "ready",
  resourceLimits: { maxOldGenerationSizeMb: 32 }
})

describe("Thread", () => {
  it.live("says what it has to say, then answers questions, whose memory may move there", () =>
    Effect.gen(function* () {
      const thread = yield* start
      assert.strictEqual(yield* thread.next, "ready")
      const bytes = Uint8Array.of(1, 2, 3)
      assert.deepStrictEqual(yield* thread.ask(bytes, [bytes.buffer]), Uint8Array.of(1, 2, 3))
      assert.strictEqual(bytes.byteLength, 0)
      assert.deepStrictEqual(yield* thread.ask(Uint8Array.of(4)), Uint8Array.of(4))
    })
  )

  it.live("takes no answer to a question whose asker was interrupted for the next one's", () =>
    Effect.gen(function* () {
      const thread = yield* start
      yield* thread.next
      for (let n = 0; n < 20; n++) {
        const abandoned = yield* Effect.forkChild(thread.ask(Uint8Array.of(n)), { startImmediately: true })
        yield* Fiber.interrupt(abandoned)
        assert.deepStrictEqual(yield* thread.ask(Uint8Array.of(n, n)), Uint8Array.of(n, n))
      }
    })
  )

  for (const [question, reason] of [
    ["exit", "exited"],
    ["fail", "failed"],
    ["grow", "outOfMemory"]
  ] as const) {
    it.live(`fails the question that ends it and each later one: ${reason}`, () =>
      Effect.gen(function* () {
        const thread = yield* start
        yield* thread.next
        assert.strictEqual((yield* Effect.flip(thread.ask(question))).reason, reason)
        assert.strictEqual((yield* Effect.flip(thread.ask(Uint8Array.of(1)))).reason, reason)
        assert.strictEqual((yield* Effect.flip(thread.next)).reason, reason)
      })
    )
  }

  it.live("is terminated with its scope, also in the middle of something", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const thread = yield* Scope.provide(start, scope)
      yield* thread.next
      assert.strictEqual(yield* thread.ask("hang"), "hanging")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Effect.flip(thread.ask("exit"))).reason, "exited")
    })
  )

  it.live("has ended at once where the scope was closed before", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      const thread = yield* Scope.provide(start, scope)
      assert.strictEqual((yield* Effect.flip(thread.ask(Uint8Array.of(1)))).reason, "exited")
    })
  )

  it.live("tells why it cannot be started", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Thread.start(file, { workerData: () => {} }))
      assert.strictEqual(error.reason, "notStarted")
      const missing = yield* Thread.start(new URL("NoSuchWorker.ts", file))
      assert.strictEqual((yield* Effect.flip(missing.next)).reason, "failed")
    })
  )
})
