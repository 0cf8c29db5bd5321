/**
 * Regenerates the list and the figures of docs/environments.md from the registry and the groups of environments: run it
 * when a description, a prompt or a reward changes. The sections themselves are written by hand.
 *
 * Arguments: names of environments whose figures to regenerate. An environment that needs a Python package keeps its
 * figure unless `ATROPOS_TEST_PYTHON` names an interpreter that has it.
 */
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import * as EnvironmentsPage from "./internal/EnvironmentsPage.ts"
import * as GroupFigures from "./internal/GroupFigures.ts"

const file = new URL("../docs/environments.md", import.meta.url)
const asked = process.argv.slice(2)

const figures = new Map<string, string>()
for (const name of asked.length === 0 ? EnvironmentsPage.names : asked) {
  const absence = GroupFigures.absence(name)
  if (absence === undefined) figures.set(name, await Effect.runPromise(GroupFigures.make(name)))
  else console.log(`the figure of ${name} is kept: ${absence}`)
}
writeFileSync(file, EnvironmentsPage.remade(readFileSync(file, "utf8"), figures))
