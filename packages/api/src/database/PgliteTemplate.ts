/**
 * An empty database as Postgres' `initdb` leaves it, so that a new one is unpacked (0.1 s) and not made (3 s of
 * processor time).
 *
 * `packages/api/template/prepare.js` makes it when the project is installed or built, once for each version of PGlite.
 * Where it is missing, `initdb` runs as ever.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"

/** Of the package that is installed: a database of another version may be laid out otherwise. */
const version = (): string => {
  const main = createRequire(import.meta.url).resolve("@electric-sql/pglite")
  const { version } = JSON.parse(readFileSync(join(dirname(main), "../package.json"), "utf8")) as { version: string }
  return version
}

// Seen from the sources or from what they were compiled to.
const file = (): string => {
  const dist = new URL(import.meta.url.endsWith(".ts") ? "../../dist" : "..", import.meta.url)
  return join(fileURLToPath(dist), `pglite-${version()}.tar.gz`)
}

/** The template as a tar archive; undefined where there is none. */
export const read = (): Buffer<ArrayBuffer> | undefined => {
  const path = file()
  return existsSync(path) ? gunzipSync(readFileSync(path)) : undefined
}

const block = 512

/**
 * The entries of an archive of plain files and folders with names under 100 bytes, which is all that a database
 * consists of.
 */
function* entries(tar: Buffer): Generator<{ readonly name: string; readonly bytes: Buffer | undefined }> {
  for (let at = 0; at + block <= tar.length && tar[at] !== 0;) {
    const text = (from: number, length: number) => tar.toString("latin1", at + from, at + from + length).split("\0")[0]!
    const name = text(0, 100)
    const size = Number.parseInt(text(124, 12), 8)
    const isFolder = text(156, 1) === "5"
    at += block
    yield { name, bytes: isFolder ? undefined : tar.subarray(at, at + size) }
    at += Math.ceil(size / block) * block
  }
}

/**
 * Makes the database in `dataDir`, which does not exist yet: whole or, where the process is killed meanwhile, not at
 * all.
 */
export const unpack = (tar: Buffer, dataDir: string): void => {
  const unfinished = `${dataDir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  for (const { bytes, name } of entries(tar)) {
    if (bytes === undefined) mkdirSync(join(unfinished, name))
    else writeFileSync(join(unfinished, name), bytes)
  }
  renameSync(unfinished, dataDir)
}
