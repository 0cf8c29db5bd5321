import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import * as Thread from "../../src/base/Thread.ts"
import type { Reply, Task } from "../../src/postgres/reading/TextWorker.ts"

const caller = new URL("../../src/postgres/reading/GroupTexts.ts", import.meta.url).href

const notCompressed: ReadonlyArray<Task> = [{ encoding: 1, bytes: Uint8Array.of(1) }]

describe("Thread", () => {
  it.live("is started by the first task, and ends after whoever was made after it", () =>
    Effect.gen(function* () {
      const answers: Array<number> = []
      const scope = yield* Scope.make()
      const ask = yield* Scope.provide(Thread.make<ReadonlyArray<Reply>>("TextWorker", caller), scope)
      const count = Effect.map(Effect.orDie(ask([])), (replies) => answers.push(replies.length))
      yield* Scope.addFinalizer(scope, count)
      yield* count
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(answers, [0, 0])
    })
  )

  it.live("is replaced after a task that killed it", () =>
    Effect.gen(function* () {
      const ask = yield* Thread.make<ReadonlyArray<Reply>>("TextWorker", caller)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(ask(notCompressed))))
      assert.deepStrictEqual(yield* ask([]), [])
    })
  )
})
