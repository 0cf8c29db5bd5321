/** docs/viewer.md has every rule of a run's health, with its thresholds as the code has them. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as Health from "../../src/health/Health.ts"

describe("docs/viewer.md", () => {
  it("lists the rules of health in their order, in the words of the page", () => {
    const text = readFileSync(new URL("../../../../docs/viewer.md", import.meta.url), "utf8")
    const [, section = ""] = text.split("### Health\n")
    const rows = section
      .split(/\n##/)[0]!
      .split("\n")
      .filter((line) => line.startsWith("| `"))
    assert.deepStrictEqual(
      rows,
      Health.ruleNames.map((name) => `| \`${name}\` | ${Health.rules[name].title} | ${Health.rules[name].words} |`)
    )
    assert.include(section, `"${Health.ruleNames.length} checks"`)
  })
})
