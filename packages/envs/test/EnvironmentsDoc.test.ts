import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { registry, type RegistryEntry } from "@atropos/envs"
import * as EnvironmentsPage from "../../../scripts/internal/EnvironmentsPage.ts"

const page = readFileSync(new URL("../../../docs/environments.md", import.meta.url), "utf8")
const sections = EnvironmentsPage.sections(page)

describe("docs/environments.md", () => {
  for (const [name, entry] of Object.entries<RegistryEntry>(registry)) {
    it(`has a section for ${name}: data, reward, evaluation, and a command with settings that it has`, () => {
      const section = sections.get(name)
      assert.isDefined(section, `write a section "## ${name}"`)
      for (const part of ["**Data.**", "**Reward.**", "**Evaluation.**"]) assert.include(section, part)
      const commands = Array.from(section.matchAll(/^```sh\n([^]*?)^```/gm), ([, text = ""]) => text)
      assert.include(commands.join("\n"), `--env ${name}`)
      const settings = EnvironmentsPage.settingsOf(entry)
      const known = new Set(settings.map((setting) => setting.name))
      const flags = commands.join("\n").matchAll(/--env\.(\w+)[ =](?:'([^']*)'|"([^"]*)"|(\S+))/g)
      for (const [, flag = "", ...values] of flags) {
        assert.isTrue(known.has(flag), flag)
        const isList = Array.isArray(settings.find((setting) => setting.name === flag)?.default)
        if (isList) assert.isArray(JSON.parse(values.find((value) => value !== undefined) ?? ""), flag)
      }
    })
  }

  for (const name of EnvironmentsPage.names) {
    it(`shows a group of ${name}, briefly`, () => {
      const figure = EnvironmentsPage.figureIn(page, name)
      assert.isDefined(figure, `run node --conditions=atropos-src scripts/make-environments-page.ts ${name}`)
      const lines = figure.split("\n")
      assert.isAtMost(lines.length, 14)
      for (const line of lines) assert.isAtMost(Array.from(line).length, 120, line)
      assert.notMatch(figure, /[^\P{Cc}\n]|\p{Cf}/u)
      // What would end the block.
      assert.notMatch(figure, /^ {0,3}`{3,} *$/m)
      const rollouts = Array.from(figure.matchAll(/^\d +score (\S+) +advantage (\S+)/gm), ([, ...found]) =>
        found.map(Number)
      )
      assert.isNotEmpty(rollouts)
      const mean = rollouts.reduce((sum, [score = NaN]) => sum + score, 0) / rollouts.length
      for (const [score, advantage] of rollouts) assert.closeTo(score! - mean, advantage!, 2e-3)
    })
  }

  it("has the list of all, and no section of another", () => {
    assert.include(page, EnvironmentsPage.list(), "run node scripts/make-environments-page.ts")
    assert.sameMembers(Array.from(sections.keys()), [...EnvironmentsPage.names])
  })
})
