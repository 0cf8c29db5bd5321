/**
 * Records expressions on which `Pump` found nothing, by digest: the result depends on the expression and on V8 alone, and
 * searching all of them takes a minute. `EXAMINE=all npx vitest run packages/api/test/regular` searches all of them and
 * writes the record, due after a change of `Pump` or of Node; expressions that are not in it are searched in every run.
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
    /** Where all were searched. */
    write: (): void => {
      if (isWritten) writeFileSync(file, `${[process.versions.v8, ...Array.from(known).toSorted()].join("\n")}\n`)
    }
  }
}
