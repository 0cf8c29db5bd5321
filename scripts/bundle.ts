/**
 * Writes `dist/bundled/` of core and envs: the parts that they use of packages many times larger, one file each, with
 * their licence notices. Listed in `imports` of their package.json; a checkout uses the packages themselves.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import core from "../packages/core/package.json" with { type: "json" }
import envs from "../packages/envs/package.json" with { type: "json" }
import * as Notices from "./internal/Notices.ts"

interface Imports {
  readonly [name: string]: { readonly "atropos-src": string }
}

const bundle = async (name: string, imports: Imports): Promise<void> => {
  const folder = new URL(`../packages/${name}/`, import.meta.url)
  const dir = fileURLToPath(new URL("dist/bundled/", folder))
  const bundled = await rolldown({
    cwd: fileURLToPath(folder),
    platform: "node",
    input: Object.fromEntries(Object.entries(imports).map(([name, to]) => [name.slice(1), to["atropos-src"]]))
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
  console.log(`packages/${name}/dist/bundled: ${notices.map(({ name }) => name).join(", ")}`)
}

await bundle("core", core.imports)
await bundle("envs", envs.imports)
