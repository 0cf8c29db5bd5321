/**
 * Checks types and Effect diagnostics of all code, including TypeScript blocks in the pages, in one pass of the
 * compiler that has both.
 *
 * Errors about declarations count only for the sources of packages: `npm run build` writes their declarations, but the
 * compiler reports such errors for tests, examples and scripts too.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import * as PageCommands from "../packages/cli/test/pages/PageCommands.ts"
import * as PageTypes from "../packages/cli/test/pages/PageTypes.ts"
import tsconfig from "../tsconfig.json" with { type: "json" }

const root = fileURLToPath(new URL("..", import.meta.url))
const effect = join(root, "node_modules/.bin/effect-tsgo")
const compiler = execFileSync(effect, ["get-exe-path"], { encoding: "utf8" }).trim()

const blocks = PageCommands.pages.flatMap((page) => PageTypes.blocksOf(page))
if (blocks.length < 20) throw new Error(`${blocks.length} blocks of TypeScript found in the pages: are they there?`)
const written = new Map<string, string>(Object.entries(PageTypes.beside))
/** The origin of a block, for example `docs/losses.md:40`, by its file name. */
const places = new Map<string, string>()
for (const block of blocks) {
  const { name, text } = PageTypes.fileOf(block)
  written.set(name, text)
  places.set(name, `${block.page}:${block.line}`)
}

// Within the project, so that the blocks can import its packages.
const folder = mkdtempSync(join(root, "node_modules/.pages-"))
const compile = () => {
  for (const [name, text] of written) writeFileSync(join(folder, name), text)
  const settings = {
    extends: join(root, "tsconfig.json"),
    include: tsconfig.include.map((path) => join(root, path)),
    exclude: tsconfig.exclude.map((path) => join(root, path)),
    files: Array.from(written.keys())
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const words = [
    "--noEmit",
    "--declaration",
    // Several check the types of what they share once each: a quarter more processor time.
    "--checkers",
    "1",
    "--pretty",
    "false",
    "-p",
    join(folder, "tsconfig.json")
  ]
  return spawnSync(compiler, words, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })
}
const { error, signal, status, stderr, stdout } = (() => {
  try {
    return compile()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})()
if (error !== undefined) throw error
if (signal !== null || stderr !== "") throw new Error(`the compiler ended (${signal ?? status}): ${stderr}`)

const isError = (fault: string): boolean => /^(?:\S+: )?error TS\d+:/.test(fault)
const isInPage = (fault: string): boolean => fault.startsWith(`${relative(root, folder)}/`)
/** A type that has no name at its declaration, or only a private one. */
const isOfDeclarations = (fault: string): boolean => /: error TS(?:2742|2883|4\d\d\d):/.test(fault)
const isPublished = (fault: string): boolean => /^packages\/\w+\/src\//.test(fault)
/** A page's block may declare unused names. */
const isUnused = (fault: string): boolean => /: error TS(?:6133|6192|6196|6198):/.test(fault)

// Continuation lines of an error are indented.
const faults = stdout.split(/\n(?=\S)/).filter((fault) => fault.trim() !== "")
if (status !== 0 && !faults.some(isError)) throw new Error(`the compiler ended with ${status}: ${stdout}`)
const held = faults.filter(
  (fault) => isError(fault) && (!isOfDeclarations(fault) || isPublished(fault)) && !(isInPage(fault) && isUnused(fault))
)
for (const fault of held) {
  const [path = ""] = /^[^(]+/.exec(fault) ?? []
  const place = places.get(path.slice(path.lastIndexOf("/") + 1))
  console.log(place === undefined || !isInPage(fault) ? fault.trimEnd() : `${place}: ${fault.trimEnd()}`)
}
if (held.length > 0) process.exitCode = 1
