import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as CommandsPage from "../../../../scripts/internal/CommandsPage.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const page = readFileSync(`${root}docs/commands.md`, "utf8")

describe("docs/commands.md", () => {
  it.live("has every verb and flag as its help has them", () =>
    Effect.map(CommandsPage.make, (made) =>
      assert.strictEqual(page, made, "run node --conditions=atropos-src scripts/make-commands-page.ts")
    )
  )

  it("names every environment variable that the sources read as a setting", () => {
    const sources = globSync("packages/*/src/**/*.ts", { cwd: root })
    const read = sources.flatMap((file) =>
      Array.from(
        readFileSync(`${root}${file}`, "utf8").matchAll(/Config\.\w+\("([A-Z_]{4,})"/g),
        ([, name = ""]) => name
      )
    )
    assert.isAbove(read.length, 20)
    for (const name of read) assert.include(page, `\`${name}\``)
  })

  it("sends whoever looks for a variable to a page that has it", () => {
    const rows = Array.from(page.matchAll(/^\| `([A-Z_]+)`.*\]\((\w+\.md)[^)]*\).*\|$/gm))
    assert.isAbove(rows.length, 5)
    for (const [, name = "", other = ""] of rows) {
      assert.include(readFileSync(`${root}docs/${other}`, "utf8"), name, `docs/commands.md: ${name}`)
    }
  })
})
