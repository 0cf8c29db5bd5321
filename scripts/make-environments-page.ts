/**
 * Writes what docs/environments.md has from the registry, the settings and the groups of the environments anew: run it
 * when a setting, its default, its description, a prompt or a reward changes. Sections themselves are written by hand.
 *
 * Names of environments as arguments: figures of these alone. What needs a Python package keeps its figure where
 * `ATROPOS_TEST_PYTHON` names no interpreter that has it.
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
  else console.log(`the figure of ${name} stays: ${absence}`)
}
writeFileSync(file, EnvironmentsPage.remade(readFileSync(file, "utf8"), figures))
