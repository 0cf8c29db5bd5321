/** Refusals of the original's endpoints: their clients drop the reply, so the reason is logged. */
import { assert, describe, it } from "@effect/vitest"
import { WireGroup } from "@atropos/core"
import { Effect, Logger, Result } from "effect"
import { refuse } from "../../src/v0/Refusal.ts"

const rejected = (json: string) => {
  const result = WireGroup.read(new TextEncoder().encode(json))
  assert(Result.isFailure(result))
  return result.failure
}

describe("refusals", () => {
  it.effect("a rejected group is logged with its field and the reason, ever more rarely", () => {
    const logged: Array<string> = []
    const group = rejected('{"tokens":[[1],[2]],"masks":[[1],[2]],"scores":[1,2],"distill_logprobs":[[[1]]]}')
    return Effect.gen(function* () {
      for (let times = 0; times < 64; times++) assert.strictEqual((yield* refuse(group)).status, 422)
      // Other suites of this process may have been rejected before.
      assert.isAtLeast(logged.length, 1)
      assert.isAtMost(logged.length, 7)
      assert.match(logged[0]!, /request rejected.*"field":"body\.distill_logprobs".*one entry per sequence.*2, not 1/)
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(JSON.stringify(message)))])))
  })
})
