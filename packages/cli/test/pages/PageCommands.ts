/**
 * The command lines that the pages tell people to type, as a shell would hand them to the command.
 *
 * Taken are `npx @atropos/cli …`, `atropos …`, `npm start -- …` and `npm run atropos -- …`, from blocks of code of a
 * page and code within its lines; lines that end in a backslash go on. `…`, `FOLDER`, `NAME` and the like stand for
 * what a reader puts there.
 */
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../../../", import.meta.url))

export interface PageCommand {
  /** `docs/agents.md:577` */
  readonly at: string
  /** As it stands there. */
  readonly text: string
  /** What follows the command's own name. */
  readonly words: ReadonlyArray<string>
  /** Named in a sentence, where what a reader adds may be left out. */
  readonly isMention: boolean
}

export const pages: ReadonlyArray<string> = globSync(
  "{*.md,bench/*.md,docs/*.md,examples/**/*.{md,sh,yaml,yml,sbatch},integrations/*/README.md}",
  // What once was called otherwise is in the log of changes.
  { cwd: root, exclude: ["**/node_modules/**", "CHANGELOG.md"] }
).toSorted()

/** One word: quoted parts, escaped characters, plain ones. */
const wordPattern = /(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\;&|<>])+/y

const unquoted = (word: string): string =>
  word.replaceAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, (_, single?: string, double?: string, escaped?: string) =>
    single !== undefined ? single : double !== undefined ? double.replaceAll(/\\(["\\$`])/g, "$1") : (escaped ?? "")
  )

/** What a shell makes of `data/*.jsonl` where there are two of them. */
const expanded = (word: string): ReadonlyArray<string> =>
  /^[^'"]*\*[^'"]*$/.test(word) ? ["a", "b"].map((name) => word.replace("*", name)) : [unquoted(word)]

/** The commands of a line, each as its words. */
export const split = (line: string): ReadonlyArray<ReadonlyArray<string>> => {
  const commands: Array<Array<string>> = [[]]
  let at = 0
  while (at < line.length) {
    const rest = line.slice(at)
    if (/^\s/.test(rest)) at++
    else if (rest.startsWith("#")) break
    else if (/^[;&|<>]/.test(rest)) {
      commands.push([])
      at++
    } else {
      wordPattern.lastIndex = at
      const word = wordPattern.exec(line)?.[0]
      if (word === undefined) throw new Error(`a quote is not closed: ${line}`)
      commands.at(-1)!.push(...expanded(word))
      at += word.length
    }
  }
  return commands.filter((words) => words.length > 0)
}

const beginnings: ReadonlyArray<{ readonly of: ReadonlyArray<string>; readonly is: ReadonlyArray<string> }> = [
  { of: ["npx", "@atropos/cli"], is: [] },
  { of: ["node_modules/.bin/atropos"], is: [] },
  { of: ["npm", "run", "atropos", "--"], is: [] },
  { of: ["npm", "start", "--"], is: ["up"] },
  { of: ["atropos"], is: [] }
]

/** The words after the command's name; none where the words are another program's. */
const ours = (words: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  // Variables before the command, and programs that start another.
  const from = words.findIndex((word) => !/^[A-Z_]+=/.test(word) && !["srun", "exec", "nohup"].includes(word))
  const rest = words.slice(Math.max(from, 0))
  for (const { is, of } of beginnings) {
    if (of.every((word, index) => rest[index] === word)) return [...is, ...rest.slice(of.length)]
  }
  return undefined
}

/** Code within lines, and the lines of blocks, with the number of the line each begins on. */
const codeOf = (text: string, isPage: boolean) => {
  const found: Array<{ readonly line: number; readonly code: string; readonly isMention: boolean }> = []
  let inBlock = !isPage
  let fence = ""
  const lines = text.split("\n")
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const begun = at + 1
    // A fence within a block, as an answer of a model may have one, stands further in.
    const indent = isPage ? /^(\s*)```/.exec(line)?.[1] : undefined
    if (indent !== undefined && (!inBlock || line.trimEnd() === `${fence}\`\`\``)) {
      inBlock = !inBlock
      fence = indent
    } else if (inBlock) {
      let whole = line
      while (whole.endsWith("\\") && at + 1 < lines.length) whole = `${whole.slice(0, -1)} ${lines[++at]!.trim()}`
      found.push({ line: begun, code: whole.trim(), isMention: false })
    } else {
      for (const [, code = ""] of line.matchAll(/`([^`]+)`/g)) found.push({ line: begun, code, isMention: true })
    }
  }
  return found
}

/** How a usage is written, and tables and prose of a block: no command lines. */
const isShape = (code: string): boolean => /\[[a-z]|<[a-z]|^atropos: |^\| |VERB/.test(code)

export const commandsOf = (page: string): ReadonlyArray<PageCommand> =>
  codeOf(readFileSync(`${root}${page}`, "utf8"), page.endsWith(".md")).flatMap(({ code, isMention, line }) =>
    !/(?:^|\s|\/)(?:@atropos\/cli|atropos|npm start --)\s/.test(code) || isShape(code)
      ? []
      : split(code).flatMap((words) => {
          const rest = ours(words)
          return rest === undefined || rest.length === 0
            ? []
            : [{ at: `${page}:${line}`, text: code, words: rest, isMention }]
        })
  )

export interface ShellLine {
  /** `README.md:28` */
  readonly at: string
  /** The heading it stands under. */
  readonly section: string
  /** Without its comment. */
  readonly code: string
}

/** All that a page's blocks for a shell have, whatever programs they are of. */
export const shellLinesOf = (page: string): ReadonlyArray<ShellLine> => {
  const found: Array<ShellLine> = []
  let section = ""
  let inBlock = false
  for (const [index, line] of readFileSync(`${root}${page}`, "utf8").split("\n").entries()) {
    if (line.startsWith("```")) inBlock = line === "```sh"
    else if (inBlock && line.trim() !== "") {
      found.push({ at: `${page}:${index + 1}`, section, code: line.replace(/\s#\s.*$/, "").trim() })
    } else section = /^#+ (.*)/.exec(line)?.[1] ?? section
  }
  return found
}
