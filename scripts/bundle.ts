/**
 * Writes `packages/core/dist/bundled/`: the parts that core uses of packages many times larger, one file each, with
 * their licence notices. Listed in `imports` of its package.json; a checkout uses the packages themselves.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import packageJson from "../packages/core/package.json" with { type: "json" }
import * as Notices from "./internal/Notices.ts"

const core = new URL("../packages/core/", import.meta.url)
const dir = fileURLToPath(new URL("dist/bundled/", core))

const bundled = await rolldown({
  cwd: fileURLToPath(core),
  platform: "node",
  input: Object.fromEntries(Object.entries(packageJson.imports).map(([name, to]) => [name.slice(1), to["atropos-src"]]))
})
const { output } = await bundled.write({
  dir,
  format: "esm",
  minify: false,
  chunkFileNames: "[name].js",
  cleanDir: true
})
const files = Notices.filesIn(Object.fromEntries(output.map((one) => [one.fileName, one])))
const notices = Notices.collect(files)
writeFileSync(`${dir}NOTICES.txt`, Notices.print("This folder", notices))
console.log(`packages/core/dist/bundled: ${notices.map(({ name }) => name).join(", ")}`)
