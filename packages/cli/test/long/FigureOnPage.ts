/** The figure of a group in docs/environments.md is what the environment gives. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as EnvironmentsPage from "../../../../scripts/internal/EnvironmentsPage.ts"
import * as GroupFigures from "../../../../scripts/internal/GroupFigures.ts"

const page = readFileSync(new URL("../../../../docs/environments.md", import.meta.url), "utf8")

/** A test for each environment of this kind. */
export const of = (isOfKind: (name: string) => boolean): void => {
  for (const name of EnvironmentsPage.names.filter(isOfKind)) {
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
}
