/**
 * Records expressions, by digest, on which `Pump` found nothing: its result depends only on the expression and on V8,
 * and the search takes minutes for all. New expressions are searched in every run, until `EXAMINE=new npx vitest run
 * packages/api/test/regular` adds them to the record and drops those that are gone. After a change of `Pump` or of Node
 * `EXAMINE=all` searches all of them again.
 */
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"

const file = new URL("examined.txt", import.meta.url)

const digestOf = (expression: RegExp): string =>
  createHash("sha256").update(String(expression)).digest("hex").slice(0, 24)

export const read = () => {
  const mode = process.env["EXAMINE"]
  const [v8, ...digests] = readFileSync(file, "utf8").trimEnd().split("\n")
  const known = new Set(v8 === process.versions.v8 && mode !== "all" ? digests : [])
  const met = new Set<string>()
  return {
    has: (expression: RegExp): boolean => {
      const digest = digestOf(expression)
      if (known.has(digest)) met.add(digest)
      return known.has(digest)
    },
    add: (expression: RegExp): void => {
      known.add(digestOf(expression))
      met.add(digestOf(expression))
    },
    /** Writes the record if it was asked for. */
    write: (): void => {
      if (mode !== "all" && mode !== "new") return
      writeFileSync(file, `${[process.versions.v8, ...Array.from(met).toSorted()].join("\n")}\n`)
    }
  }
}
