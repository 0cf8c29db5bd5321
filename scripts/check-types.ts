/**
 * The types of everything, and that those of the packages can be written down: `npm run build` needs declarations, and
 * the compiler says of tests, examples and scripts too what matters for the sources of packages alone.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const compiler = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url))
const words = ["--noEmit", "--declaration", "--pretty", "false", "-p", "tsconfig.json"]
const { error, signal, status, stderr, stdout } = spawnSync(process.execPath, [compiler, ...words], {
  encoding: "utf8",
  maxBuffer: 2 ** 26
})
if (error !== undefined) throw error
if (signal !== null || stderr !== "") throw new Error(`the compiler ended (${signal ?? status}): ${stderr}`)

/** A type that has no name where it is declared, or only a private one. */
const isOfDeclarations = (fault: string): boolean => /: error TS(?:2742|2883|4\d\d\d):/.test(fault)
const isPublished = (fault: string): boolean => /^packages\/\w+\/src\//.test(fault)

// Further lines of a fault are set in.
const faults = stdout.split(/\n(?=\S)/).filter((fault) => fault.trim() !== "")
const held = faults.filter((fault) => !isOfDeclarations(fault) || isPublished(fault))
for (const fault of held) console.log(fault.trimEnd())
if (held.length > 0) process.exitCode = 1
