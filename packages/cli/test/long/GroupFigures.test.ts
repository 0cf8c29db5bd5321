/**
 * The figures of groups in docs/environments.md are what the environments give. Those of Python's packages are made
 * where `ATROPOS_TEST_PYTHON` names an interpreter that has the package.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as EnvironmentsPage from "../../../../scripts/internal/EnvironmentsPage.ts"
import * as GroupFigures from "../../../../scripts/internal/GroupFigures.ts"

const page = readFileSync(new URL("../../../../docs/environments.md", import.meta.url), "utf8")

describe("the figure of a group in docs/environments.md", () => {
  for (const name of EnvironmentsPage.names) {
    const absence = GroupFigures.absence(name)
    it.live.skipIf(absence !== undefined)(
      `is what ${name} gives${absence === undefined ? "" : ` (skipped: ${absence})`}`,
      () =>
        Effect.map(GroupFigures.make(name), (made) =>
          assert.strictEqual(
            EnvironmentsPage.figureIn(page, name),
            made,
            `run node --conditions=atropos-src scripts/make-environments-page.ts ${name}`
          )
        )
    )
  }
})
