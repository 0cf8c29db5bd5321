/** What the packages export: an index each, and the modules that other packages, examples or pages name one by one. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const read = (file: string): string => readFileSync(`${root}${file}`, "utf8")

/** Who counts as a user of a package's names: not its own sources, nobody's tests, no measurement. */
const users = globSync(
  ["packages/*/{src,bin}/**/*.{ts,js}", "packages/api/viewer/src/**/*.{ts,tsx}", "examples/*.ts", "docs/*.md", "*.md"],
  { cwd: root }
).map((file) => ({ file, text: read(file) }))

/**
 * In the inferred types of what other packages, and users, export: the compiler writes a type into a declaration by the
 * module that has it, and stops (TS2883) where none of its names is public. `npm run build` tells what is missing.
 */
const declared: { readonly [name: string]: ReadonlyArray<string> } = {
  core: [
    "Environment",
    "base/NotConfigured",
    "data/Dataset",
    "definition/EnvironmentError",
    "inference/SampledWith",
    "inference/ServerManager",
    "inference/backend/Slurm",
    "inference/tokenizer/Tokenizer",
    "service/ServiceApi",
    "service/WireGroup",
    "trajectory/Trajectory"
  ],
  envs: ["sandbox/Sandbox"],
  trainer: ["checkpoint/CheckpointError", "learn/TrainerError", "model/file/ModelError", "tinker/client/TinkerError"]
}

interface Target {
  readonly [condition: string]: string
}
const exportsOf = (name: string): { readonly [subpath: string]: Target } =>
  JSON.parse(read(`packages/${name}/package.json`)).exports

describe.each(["core", "api", "envs", "trainer"])("the exports of %s", (name) => {
  const targets = exportsOf(name)

  it("are its index and modules that exist, with types and code from the same source", () => {
    assert.property(targets, ".")
    for (const [subpath, target] of Object.entries(targets)) {
      const module = subpath === "." ? "index" : subpath.slice(2)
      assert.deepStrictEqual(target, {
        "atropos-src": `./src/${module}.ts`,
        types: `./dist/${module}.d.ts`,
        default: `./dist/${module}.js`
      })
      assert.isTrue(existsSync(`${root}packages/${name}/src/${module}.ts`), subpath)
    }
  })

  it("open no internal folder", () => {
    for (const subpath of Object.keys(targets)) assert.notMatch(subpath, /internal|\*/)
  })

  it("name nothing that only its own sources, tests and measurements use, but what types of others are made of", () => {
    const unused = Object.keys(targets).filter((subpath) => {
      if (declared[name]?.includes(subpath.slice(2))) return false
      const word = `"@atropos/${name}${subpath.slice(1)}"`
      return !users.some(({ file, text }) => !file.startsWith(`packages/${name}/src/`) && text.includes(word))
    })
    assert.deepStrictEqual(unused, [])
  })
})

describe("the command", () => {
  it("exports nothing: it is a program", () => {
    assert.isUndefined(exportsOf("cli"))
  })
})

/** The first text that is passed behind the type arguments of a service or reference; an annotation passes none. */
const keysOf = (name: string): ReadonlyArray<string> =>
  globSync(`packages/${name}/src/**/*.ts`, { cwd: root }).flatMap((file) =>
    read(file)
      .split(/Context\.(?:Service|Reference)</)
      .slice(1)
      .flatMap((rest) => />(?:\(\))?\(\s*"([^"]+)"/.exec(rest)?.[1] ?? [])
  )

describe("the keys of services", () => {
  it("begin with their package, and no two are the same", () => {
    const packages = ["core", "api", "envs", "trainer", "cli"]
    const keys = packages.flatMap((name) => keysOf(name).map((key) => ({ key, name })))
    assert.isAbove(keys.length, 20)
    assert.deepStrictEqual(
      keys.filter(({ key, name }) => !key.startsWith(`@atropos/${name}/`)),
      []
    )
    assert.lengthOf(new Set(keys.map(({ key }) => key)), keys.length)
  })
})
