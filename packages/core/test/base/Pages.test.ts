import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const read = (file: string): string => readFileSync(`${root}${file}`, "utf8")

describe("the pages of the repository", () => {
  it("name every folder of the packages that have more than one", () => {
    const sections = read("docs/architecture.md").split(/^### /m)
    for (const name of ["core", "api", "trainer", "cli"]) {
      const section = sections.find((one) => one.startsWith(`\`packages/${name}/src\``))
      const files = globSync("**/*.ts", { cwd: `${root}packages/${name}/src`, exclude: ["**/gen/**"] })
      for (const folder of new Set(files.map((file) => dirname(file)).filter((one) => one !== "."))) {
        assert.include(section, `\`${folder}/\``, `docs/architecture.md: packages/${name}/src`)
      }
    }
  })

  it("name only files that there are", () => {
    for (const page of globSync("{*.md,bench/*.md,docs/*.md}", { cwd: root })) {
      for (const [, path = ""] of read(page).matchAll(/`((?:packages|examples|bench|scripts|docs)\/[\w./-]+)`/g)) {
        const stem = `${root}${path}`
        assert.isTrue(existsSync(stem) || existsSync(`${stem}.ts`), `${page} names ${path}`)
      }
    }
  })
})
