/** Every example is run; what it prints is what its text says. (03 is a test file itself.) */
import { assert, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { TestConsole } from "effect/testing"
import * as Letters from "../01-letters.ts"
import * as TwoEnvironments from "../02-two-environments.ts"
import * as Embedding from "../04-embedding.ts"
import * as MultiTurn from "../05-multi-turn.ts"

const printed = <E>(program: Effect.Effect<unknown, E>) =>
  Effect.andThen(program, TestConsole.logLines).pipe(
    Effect.map((lines) => lines.map(String)),
    Effect.provideService(References.MinimumLogLevel, "None")
  )

describe("examples", () => {
  it.effect("01: scores a group of each word", () =>
    Effect.map(printed(Letters.program), (lines) =>
      assert.deepStrictEqual(lines, ["scores 1 0 0", "scores 0 1 0", "scores 0 0 0"])
    )
  )

  it.live("02: fills exact batches from two environments", () =>
    Effect.gen(function* () {
      const lines = yield* printed(TwoEnvironments.program).pipe(Effect.provide(TestConsole.layer))
      assert.deepStrictEqual(
        lines.map((line) => line.slice(0, 16)),
        ["step 0: 4 groups", "step 1: 4 groups", "step 2: 4 groups"]
      )
    })
  )

  it.live("04: serves its own route and the service's under a path", () =>
    Effect.gen(function* () {
      const [own, service] = yield* printed(Embedding.program).pipe(Effect.provide(TestConsole.layer))
      assert.strictEqual(own, "the host application")
      assert.match(service!, /^trajectory service at http:.*\/atropos: batch size -1$/)
    })
  )

  it.effect("05: makes one sequence of a game's turns, whose answers are trained", () =>
    Effect.map(printed(MultiTurn.program), (lines) =>
      // An answer is a digit and the end of the turn.
      assert.deepStrictEqual(lines, [
        "score 0.25, 8 tokens trained",
        "score 0.33, 6 tokens trained",
        "score 0.25, 8 tokens trained",
        "score 0.50, 4 tokens trained"
      ])
    )
  )
})
