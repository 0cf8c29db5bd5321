import { assert, describe, it } from "@effect/vitest"
import { EnvironmentUnusable } from "@atropos/core/definition/EnvironmentError"
import { Effect, Exit } from "effect"
import * as FirstRuns from "../../src/agent/FirstRuns.ts"

const silent: FirstRuns.FailedRun = {
  outcome: { kind: "silent", reason: "it never asked" },
  hasReached: false,
  hasAnswers: false,
  isRefused: false,
  isTraining: true
}
const threw: FirstRuns.FailedRun = {
  outcome: { kind: "threw", reason: "threw TypeError: no" },
  hasReached: true,
  hasAnswers: true,
  isRefused: false,
  isTraining: true
}

/** After how many such runs it fails, of 1,000; undefined: never. */
const failsAfter = (runs: FirstRuns.FirstRuns, run: FirstRuns.FailedRun) =>
  Effect.gen(function* () {
    for (let count = 1; count <= 1000; count++) {
      const exit = yield* Effect.exit(runs.failed(run))
      if (Exit.isFailure(exit)) return count
    }
    return undefined
  })

describe("the first runs of an agent", () => {
  it.effect("none of which reached the model end it after 16, or four items", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* failsAfter(FirstRuns.make(1), silent), 16)
      assert.strictEqual(yield* failsAfter(FirstRuns.make(8), silent), 32)
      assert.strictEqual(yield* failsAfter(FirstRuns.make(4), { ...silent, isTraining: false }), 16)
      const runs = FirstRuns.make(4)
      yield* failsAfter(runs, { ...silent, outcome: { kind: "threw", reason: "threw AuthenticationError: 401" } })
      // Also from then on, for whoever asks again.
      const error = yield* Effect.flip(runs.failed(silent))
      assert.instanceOf(error, EnvironmentUnusable)
      assert.strictEqual(error.message, "none of the first 17 runs of the agent reached the model: it never asked")
      const other = FirstRuns.make(4)
      yield* failsAfter(other, { ...silent, outcome: { kind: "threw", reason: "threw AuthenticationError: 401" } })
      const thrown = { ...silent, outcome: { kind: "threw", reason: "threw AuthenticationError: 401" } } as const
      assert.match(
        (yield* Effect.flip(other.failed(thrown))).message,
        /last failure: threw AuthenticationError: 401; requests must go to model\.baseURL/
      )
    })
  )

  it.effect("of a program end it after one item, if none reached the model", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* failsAfter(FirstRuns.make(4, "program"), silent), 4)
    })
  )

  it.effect("end it after one item if all their requests were refused", () =>
    Effect.gen(function* () {
      const reason = "the agent ended without a response: client_metadata is not supported"
      const refused = { ...silent, hasReached: true, isRefused: true, outcome: { kind: "silent", reason } } as const
      const runs = FirstRuns.make(4)
      assert.strictEqual(yield* failsAfter(runs, refused), 4)
      const error = yield* Effect.flip(runs.failed(refused))
      assert.match(error.message, /^the requests of the first 5 runs were all refused: .*client_metadata/)
    })
  )

  it.effect("all of which fail after they have reached it end it later, in training alone", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* failsAfter(FirstRuns.make(4), threw), 64)
      assert.isUndefined(yield* failsAfter(FirstRuns.make(4), { ...threw, isTraining: false }))
      const runs = FirstRuns.make(4)
      yield* failsAfter(runs, threw)
      assert.match(
        (yield* Effect.flip(runs.failed(threw))).message,
        /threw TypeError: no\. To penalize failures.* scoreFailure/
      )
    })
  )

  it.effect("of a built-in environment end it without advice on an agent's file", () =>
    Effect.gen(function* () {
      const runs = FirstRuns.make(4, "built-in")
      yield* failsAfter(runs, threw)
      assert.match((yield* Effect.flip(runs.failed(threw))).message, /last failure: threw TypeError: no$/)
      const unreached = FirstRuns.make(4, "built-in")
      const reason = "threw AuthenticationError: 401"
      const thrown = { ...silent, outcome: { kind: "threw", reason } } as const
      yield* failsAfter(unreached, thrown)
      assert.match(
        (yield* Effect.flip(unreached.failed(thrown))).message,
        /last failure: threw AuthenticationError: 401$/
      )
    })
  )

  it.effect("whose time ends while servers are away say nothing about the agent", () =>
    Effect.gen(function* () {
      const waiting: FirstRuns.FailedRun = {
        ...threw,
        outcome: { kind: "timeout", reason: "too long" },
        hasAnswers: false
      }
      assert.isUndefined(yield* failsAfter(FirstRuns.make(4), waiting))
      assert.strictEqual(yield* failsAfter(FirstRuns.make(4), { ...waiting, hasAnswers: true }), 64)
    })
  )

  it.effect("end nothing once one succeeded", () =>
    Effect.gen(function* () {
      const runs = FirstRuns.make(4)
      yield* runs.failed(silent)
      runs.succeeded()
      assert.isUndefined(yield* failsAfter(runs, silent))
      assert.isUndefined(yield* failsAfter(runs, threw))
    })
  )
})
