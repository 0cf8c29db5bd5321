/**
 * Records expressions, by digest, on which `Pump` found nothing: its result depends only on the expression and on V8,
 * and the search takes a minute for all. `EXAMINE=all npx vitest run packages/api/test/regular` searches all of them
 * again and writes the record, which is required after a change of `Pump` or of Node; until then new expressions are
 * searched in every run.
 */
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"

const file = new URL("examined.txt", import.meta.url)

const digestOf = (expression: RegExp): string =>
  createHash("sha256").update(String(expression)).digest("hex").slice(0, 24)

export const read = () => {
  const isWritten = process.env["EXAMINE"] === "all"
  const [v8, ...digests] = readFileSync(file, "utf8").trimEnd().split("\n")
  const known = new Set(v8 === process.versions.v8 && !isWritten ? digests : [])
  return {
    has: (expression: RegExp): boolean => known.has(digestOf(expression)),
    add: (expression: RegExp): void => void known.add(digestOf(expression)),
    /** Writes the record if all were searched. */
    write: (): void => {
      if (isWritten) writeFileSync(file, `${[process.versions.v8, ...Array.from(known).toSorted()].join("\n")}\n`)
    }
  }
}
