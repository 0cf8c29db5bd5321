import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Docs from "../../src/base/Docs.ts"

const packages = fileURLToPath(new URL("../../../", import.meta.url))

describe("pages of the documentation in messages", () => {
  it("are named by a path that leads to them", () => {
    assert.isTrue(existsSync(Docs.path("training.md")))
  })

  it("exist, all that the sources name, and none is named as if every folder had docs/", () => {
    for (const name of ["core", "api", "envs", "trainer", "cli"]) {
      const source = join(packages, name, "src")
      for (const file of readdirSync(source, { recursive: true, encoding: "utf8" }).filter((one) =>
        one.endsWith(".ts")
      )) {
        const code = readFileSync(join(source, file), "utf8")
        for (const [, page = ""] of code.matchAll(/Docs\.path\("([^"]+)"\)/g)) {
          assert.isTrue(existsSync(Docs.path(page)), `${file}: ${page}`)
        }
        // In comments it is the repository's.
        for (const line of code.split("\n").filter((one) => !/^\s*(\*|\/\*|\/\/)/.test(one))) {
          assert.notMatch(line, /["'`(; ]docs\/[\w-]+\.md(?! of @atropos)/, `${name}/src/${file}`)
        }
      }
    }
  })
})
