/**
 * Code that a page shows, which is a file of `examples/agents`, word for word: so it is checked as all files are, and
 * run. In the page it is a block of code that begins with its name: `// openai-agent.ts`.
 */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")

/** The blocks of TypeScript of a page, without the indentation of a list that they stand in. */
const blocksOf = (page: string): ReadonlyArray<string> =>
  Array.from(read(page).matchAll(/^( *)```ts\n(.*?)^\1```$/gms), ([, indent = "", code = ""]) =>
    code.replaceAll(new RegExp(`^${indent}`, "gm"), "")
  )

const nameOf = (code: string): string | undefined => /^\/\/ (\S+\.ts)\n/.exec(code)?.[1]

/** The names of a page's blocks; one without a name could be anything, and nobody would run it. */
export const names = (page: string): ReadonlyArray<string | undefined> => blocksOf(page).map(nameOf)

/** Where the code of a page is that begins with this name; `folder`: of `examples/agents`. */
export const file = (page: string, name: string, folder = ""): string => {
  const shown = blocksOf(page).find((code) => nameOf(code) === name)
  assert.strictEqual(shown, read(`examples/agents/${folder}${name}`), `${page} shows ${name} as it is`)
  return new URL(`../agents/${folder}${name}`, import.meta.url).href
}
