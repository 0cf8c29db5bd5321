/**
 * Creates the database that `src/database/PgliteTemplate.ts` unpacks, unless it exists; npm runs it after an
 * installation. Plain JavaScript for the system's Node.
 */
import { PGlite } from "@electric-sql/pglite"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const main = createRequire(import.meta.url).resolve("@electric-sql/pglite")
const { version } = JSON.parse(readFileSync(join(dirname(main), "../package.json"), "utf8"))
const dist = fileURLToPath(new URL("../dist", import.meta.url))
const file = join(dist, `pglite-${version}.tar.gz`)

if (!existsSync(file)) {
  const database = await PGlite.create()
  const archive = await database.dumpDataDir("gzip")
  await database.close()
  mkdirSync(dist, { recursive: true })
  writeFileSync(`${file}.${process.pid}`, Buffer.from(await archive.arrayBuffer()))
  renameSync(`${file}.${process.pid}`, file)
}
