/**
 * What the packages say of themselves, and what an installation of the checkout asks for. That the packages can be
 * installed is tried by `npm run check:install`, which takes minutes.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = new URL("../../../", import.meta.url)
const read = (file: string): string => readFileSync(new URL(file, root), "utf8")
type Names = { readonly [name: string]: string }
interface Manifest {
  readonly engines?: { readonly node: string }
  readonly keywords?: ReadonlyArray<string>
  readonly license?: string
  readonly dependencies?: Names
  readonly peerDependencies?: Names
  readonly bin?: Names
}
const manifest = (name: string): Manifest => JSON.parse(read(`packages/${name}/package.json`))

const names = ["core", "api", "envs", "trainer", "cli"]

describe.each(names)("the package %s", (name) => {
  const { dependencies = {}, engines, keywords = [], license, peerDependencies = {} } = manifest(name)

  it("has a README, a licence, keywords and the Node it needs", () => {
    assert.include(read(`packages/${name}/README.md`), `# @atropos/${name}`)
    assert.strictEqual(license, "MIT")
    assert.isAbove(keywords.length, 3)
    assert.strictEqual(engines?.node, ">=22.19")
  })

  it("leaves Effect to the application, so that there is one copy of it", () => {
    assert.notProperty(dependencies, "effect")
    assert.notProperty(dependencies, "@effect/platform-node")
    assert.strictEqual(peerDependencies["effect"], name === "cli" ? ">=4.1.0 <4.2.0" : ">=4.0.5 <4.2.0")
  })

  it("asks for nothing with an install script, or that only few need", () => {
    for (const heavy of ["onnxruntime-node", "@huggingface/transformers"]) assert.notProperty(dependencies, heavy)
  })
})

describe("the command", () => {
  it("is the only program of its package, so that npx @atropos/cli runs it", () => {
    assert.deepStrictEqual(manifest("cli").bin, { atropos: "bin/atropos.js" })
  })

  it("is called by the name of its package in every text that people read", () => {
    for (const file of ["README.md", "AGENTS.md", ...names.map((name) => `packages/${name}/README.md`)]) {
      // The one mention is that of what not to type.
      assert.notMatch(read(file), /npx atropos (?!would|runs)\w/)
    }
  })
})

describe("npm ci of a checkout", () => {
  it("runs no install script but that of Node's own package", () => {
    const { packages }: { readonly packages: { readonly [place: string]: { readonly hasInstallScript?: boolean } } } =
      JSON.parse(read("package-lock.json"))
    const scripted = Object.entries(packages).flatMap(([place, { hasInstallScript }]) =>
      hasInstallScript ? [place] : []
    )
    // protobufjs prints a line. That of onnxruntime-node fetches from another host: npm runs what the lockfile says has
    // a script.
    assert.deepStrictEqual(scripted, ["node_modules/node", "node_modules/protobufjs"])
  })

  it("has only settings that npm knows, of which it warns in every call", () => {
    const keys = read(".npmrc")
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [line.split("=")[0]]))
    assert.deepStrictEqual(keys, ["omit-lockfile-registry-resolved", "save-exact", "fund", "audit"])
  })
})

describe("the documentation", () => {
  it("has every page that the packages' READMEs name", () => {
    for (const name of names) {
      for (const [, page = ""] of read(`packages/${name}/README.md`).matchAll(/docs\/([\w-]+\.md)/g)) {
        assert.isTrue(existsSync(fileURLToPath(new URL(`docs/${page}`, root))), `${name}: ${page}`)
      }
    }
  })
})
