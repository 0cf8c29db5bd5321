/**
 * Code that a page shows, which is a file of `examples/agents`, word for word: so it is checked as all files are, and
 * run. In the page it is a block of code that begins with its name: `// openai-agent.ts`.
 */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")

/** The blocks of TypeScript of a page, by the names that they begin with. */
const blocksOf = (page: string): ReadonlyMap<string, string> =>
  new Map(
    Array.from(read(`docs/${page}`).matchAll(/^```ts\n(\/\/ (\S+\.ts)\n.*?)^```$/gms), ([, code = "", name = ""]) => [
      name,
      code
    ])
  )

/** Where the code of a page is that begins with this name. */
export const file = (page: string, name: string): string => {
  assert.strictEqual(blocksOf(page).get(name), read(`examples/agents/${name}`), `docs/${page} shows ${name} as it is`)
  return new URL(`../agents/${name}`, import.meta.url).href
}
