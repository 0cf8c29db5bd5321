/**
 * What the threads load: every one begins with an empty process of its own, and core's index alone costs it 80 MB and
 * half a second.
 */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../", import.meta.url))

const threads = globSync("packages/*/src/**/{*[wW]orker,*WorkerThread,IndexThread,DeviceTrial}.ts", {
  cwd: root
}).filter((file) => !file.endsWith("/OrtWorker.ts"))

interface Exports {
  readonly [subpath: string]: { readonly "atropos-src": string }
}

/** The source of a module of ours, as the file that imports it means it; undefined for other packages'. */
const resolve = (specifier: string, from: string): string | undefined => {
  if (specifier.startsWith(".")) return join(dirname(from), specifier)
  const [, name, subpath] = /^@atropos\/([^/]+)(?:\/(.*))?$/.exec(specifier) ?? []
  if (name === undefined) return undefined
  const { exports } = createRequire(import.meta.url)(`${root}packages/${name}/package.json`) as {
    readonly exports: Exports
  }
  return join("packages", name, exports[subpath === undefined ? "." : `./${subpath}`]!["atropos-src"])
}

/** What runs at an import: types are gone by then. */
const imported = (file: string): ReadonlyArray<string> =>
  [...readFileSync(root + file, "utf8").matchAll(/^(?:import|export) (?!type )[^"]*?from "([^"]+)"/gm)].flatMap(
    ([, specifier = ""]) => resolve(specifier, file) ?? []
  )

/** The chain of modules from a file to one that is not for threads. */
const wayTo = (file: string, isWrong: (file: string) => boolean): ReadonlyArray<string> | undefined => {
  const ways = new Map<string, ReadonlyArray<string>>([[file, [file]]])
  for (const [at, way] of ways) {
    if (isWrong(at)) return way
    if (!at.endsWith(".ts")) continue
    for (const next of imported(at)) if (!ways.has(next)) ways.set(next, [...way, next])
  }
  return undefined
}

describe("the body of a thread", () => {
  it("is known here", () => assert.isAbove(threads.length, 10))

  it.each(threads)("loads what it needs, and no package's index: %s", (file) => {
    assert.isAbove(readFileSync(root + file, "utf8").length, 0)
    assert.strictEqual(wayTo(file, (at) => /^packages\/\w+\/src\/index\.ts$/.test(at))?.join("\n  -> "), undefined)
  })
})
