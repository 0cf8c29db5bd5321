/**
 * A closed loop that is stopped and resumed, with an engine that knows nothing of what was before, makes the same
 * weights to the bit. On long rows and with router replay, nightly/ResumedLoop.test.ts shows it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TinyModel from "../../src/model/TinyModel.ts"
import { answer, guessing, resume, run, services, shape, steps } from "./Resuming.ts"

describe("a closed loop that is stopped and resumed", () => {
  it.live("stays on policy and makes the same weights, with in-flight updates and guessed tokens", () =>
    Effect.gen(function* () {
      const model = TinyModel.make({ ...shape, maxPositions: 32 })
      const kind = { model, rollOut: answer, trainer: { seqLen: 32 } }
      const { guessedTokens } = yield* resume(kind, guessing)
      assert.isAbove(guessedTokens, 0)
      // On policy no weights come while answers are under way: how they would be taken changes nothing.
      const inFlight = yield* run(kind, [steps], { weightUpdates: "in_flight" })
      const pinned = yield* run(kind, [steps], {})
      assert.deepStrictEqual(inFlight.parameters, pinned.parameters)
    }).pipe(Effect.provide(services))
  )
})
