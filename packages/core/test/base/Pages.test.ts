import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
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
        // A folder without files is not in a clone.
        const found = globSync([path, `${path}.ts`, `${path}/**/*.*`], { cwd: root, withFileTypes: true })
        assert.isTrue(
          found.some((entry) => entry.isFile()),
          `${page} names ${path}`
        )
      }
    }
  })

  it("link to pages and headings that there are", () => {
    const pages = globSync(
      "{*.md,llms.txt,bench/**/*.md,docs/*.md,examples/**/*.md,integrations/**/*.md,packages/*/README.md}",
      {
        cwd: root,
        exclude: ["**/node_modules/**"]
      }
    )
    const slugs = (page: string): ReadonlySet<string> =>
      new Set(
        Array.from(read(page).matchAll(/^#+ (.+)$|^<a id="([\w-]+)">/gm), ([, title, id = ""]) =>
          title === undefined
            ? id
            : title
                .toLowerCase()
                .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
                .trim()
                .replaceAll(/\s/g, "-")
        )
      )
    let count = 0
    for (const page of pages) {
      for (const [link, path = "", heading] of read(page).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
        const target = path === "" ? page : join(dirname(page), path)
        assert.isTrue(existsSync(`${root}${target}`), `${page} links to ${link}`)
        if (heading !== undefined && target.endsWith(".md")) assert.include(slugs(target), heading, `${page}: ${link}`)
        count++
      }
    }
    assert.isAbove(count, 100)
  })

  it("are all in llms.txt, and every example has its line", () => {
    for (const page of globSync("docs/*.md", { cwd: root })) assert.include(read("llms.txt"), `](${page})`)
    for (const example of globSync("examples/*.{ts,yaml}", { cwd: root })) {
      assert.include(read("examples/README.md"), `](${example.slice("examples/".length)}) | `)
    }
  })

  it("name the versions of dependencies that are installed", () => {
    const { packages }: { readonly packages: { readonly [place: string]: { readonly version?: string } } } = JSON.parse(
      read("package-lock.json")
    )
    const wrong: Array<string> = []
    let count = 0
    for (const [, names = ""] of read("docs/decisions.md").matchAll(/^\| ([^|]+) \|/gm)) {
      for (const [, name = "", version] of names.matchAll(/((?:@[\w-]+\/)?[\w.-]+) (\d+\.\d+\.\d+)/g)) {
        const installed = packages[`node_modules/${name}`]?.version
        if (installed !== version) wrong.push(`${name} ${version}: ${installed ?? "not there"}`)
        count++
      }
    }
    assert.isAbove(count, 40)
    assert.deepStrictEqual(wrong, [])
  })

  it("explain messages as they are", () => {
    const sources = globSync("packages/*/src/**/*.ts", { cwd: root })
      .map((file) => read(file))
      .join("\n")
    const messages = read("docs/troubleshooting.md").matchAll(/^\| `([^`]+)`(?: …)? \|/gm)
    const quoted = Array.from(messages, ([, text = ""]) => text)
    assert.isAbove(quoted.length, 15)
    for (const message of quoted) assert.include(sources, message)
  })
})
