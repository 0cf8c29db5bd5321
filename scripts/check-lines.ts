/**
 * Enforces line widths: comments of sources at 120 columns (the formatter handles the code), Markdown pages at 160.
 * Exempt is text that cannot be broken: tables, fenced blocks and single words, such as addresses.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { parseSync } from "rolldown/utils"

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8" }).split("\n")
const sources = tracked.filter((file) => /\.(?:[cm]?[jt]s|tsx)$/.test(file) && !/\/(?:gen|fixtures)\//.test(file))
const pages = tracked.filter((file) => file.endsWith(".md") && !file.includes("/fixtures/"))

/** False for a single word after the marks of a comment or a list, which takes a line in any case. */
const isBreakable = (line: string): boolean => /\S\s+\S/.test(line.replace(/^\s*(?:\/?\*+|\/\/|[-*]|\d+\.)?\s*/, ""))

const faults: Array<string> = []
const hold = (file: string, lines: ReadonlyArray<string>, width: number, isHeld: (line: number) => boolean) => {
  for (const [index, line] of lines.entries()) {
    if (line.length > width && isHeld(index + 1) && isBreakable(line)) {
      faults.push(`${file}:${index + 1}: ${line.length} columns, not ${width}`)
    }
  }
}

for (const file of sources) {
  const text = readFileSync(file, "utf8")
  const lines = text.split("\n")
  if (!lines.some((line) => line.length > 120)) continue
  const held = new Set<number>()
  for (const { end, start } of parseSync(file, text).comments) {
    const first = text.slice(0, start).split("\n").length
    const count = text.slice(start, end).split("\n").length
    for (let line = first; line < first + count; line += 1) held.add(line)
  }
  hold(file, lines, 120, (line) => held.has(line))
}

for (const file of pages) {
  let isFenced = false
  const free = new Set<number>()
  const lines = readFileSync(file, "utf8").split("\n")
  for (const [index, line] of lines.entries()) {
    const isFence = /^\s*```/.test(line)
    if (isFence || isFenced || line.startsWith("|")) free.add(index + 1)
    if (isFence) isFenced = !isFenced
  }
  hold(file, lines, 160, (line) => !free.has(line))
}

for (const fault of faults) console.log(fault)
if (faults.length > 0) {
  console.log(`${faults.length} lines are too long`)
  process.exitCode = 1
}
