/** The architectures that README counts and docs/models.md lists are those that load. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { families } from "../../src/model/family/Families.ts"

const read = (file: string): string => readFileSync(new URL(`../../../../${file}`, import.meta.url), "utf8")

describe("the architectures", () => {
  it("have a row each in docs/models.md", () => {
    const [, table = ""] = /^\| `model_type` .*\n\| ---.*\n((?:\|.*\n)+)/m.exec(read("docs/models.md")) ?? []
    const rows = Array.from(table.matchAll(/^\| ([^|]+) \|/gm), ([, types = ""]) =>
      Array.from(types.matchAll(/`([^`]+)`/g), ([, type = ""]) => type)
    )
    assert.sameMembers(
      // Beside its own type a row may have that of a model of which it is a part.
      rows.map((types) => types.find((type) => type in families)),
      Object.keys(families)
    )
  })

  it("are as many as README says", () => {
    const [, count] = /\[(\d+) architectures\]\(docs\/models\.md\)/.exec(read("README.md")) ?? []
    assert.strictEqual(Number(count), Object.keys(families).length)
  })
})
