/**
 * Scores of shipped suites against those of reference implementations, item by item. The answers were made, and the
 * references asked, by `scripts/make-evaluation-fixtures.py`. Programs have a test of their own, among the long ones.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as References from "./References.ts"

const fixtures = References.inFolder(new URL("fixtures/", import.meta.url))

/** Values that differ, and why: docs/evaluations.md. */
const different: { readonly [suite: string]: number } = { ifeval: 1, phybench: 2, simpleqa: 10 }

describe("suites score as their references", () => {
  it.effect.each(fixtures)("$suite", (fixture) =>
    Effect.gen(function* () {
      const { differences, values } = yield* References.compared(fixture)
      assert.isAtLeast(values, 50)
      const shown = JSON.stringify(differences.slice(0, 12), null, 1)
      assert.strictEqual(differences.length, different[fixture.suite] ?? 0, shown)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
