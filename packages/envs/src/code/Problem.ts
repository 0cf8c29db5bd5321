/**
 * Reads programming problems: rows of HumanEval, MBPP or LiveCodeBench, or built in (`Bank`).
 *
 * HumanEval (Chen et al. 2021, https://arxiv.org/abs/2107.03374): `prompt`, `canonical_solution`, `test`,
 * `entry_point`. MBPP (Austin et al. 2021, https://arxiv.org/abs/2108.07732): `text` or `prompt`, `code`, `test_list`,
 * and `test_setup_code` or `test_imports`. Contests: `Contest`.
 */
import { Columns } from "@atropos/core"
import * as Thinking from "../kit/Thinking.ts"
import { Option, Result, Schema } from "effect"
import { type Block, blocksOf } from "./Blocks.ts"
import * as Contest from "./Contest.ts"
import { withHelpers } from "./Helpers.ts"
import * as Inline from "./Inline.ts"
import * as Unfenced from "./Unfenced.ts"

export interface Problem {
  /** The task, as text or as the head of the function. */
  readonly question: string
  /** Python that the reply may rely on: imports, helpers, the head. */
  readonly preamble: string
  /** Run before the tests, in the same program. */
  readonly setup: string
  readonly tests: ReadonlyArray<string>
  /** The function under test; without it, the tests determine the names. */
  readonly entry?: string
  /** All names that the tests may use of a program. */
  readonly asks: ReadonlyArray<string>
  /** A whole program that passes; empty if none is known. */
  readonly solution: string
  /** Cases instead of tests. */
  readonly contest?: Contest.Contest
}

const HumanEval = Schema.Struct({
  prompt: Schema.NonEmptyString,
  canonical_solution: Schema.NonEmptyString,
  test: Schema.NonEmptyString,
  entry_point: Schema.NonEmptyString
})

const Mbpp = Schema.Struct({
  text: Schema.optionalKey(Schema.String),
  prompt: Schema.optionalKey(Schema.String),
  code: Schema.NonEmptyString,
  test_list: Schema.NonEmptyArray(Schema.NonEmptyString),
  test_setup_code: Schema.optionalKey(Schema.NullOr(Schema.String)),
  test_imports: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String)))
})

const definition = /^(?:async[ \t]+def|def|class)[ \t]+(\w+)|^(\w+)[ \t]*=(?!=)/gm

export const Row = Schema.Union([HumanEval, Mbpp])

export const fromRow = (row: typeof Row.Type): Problem => {
  if ("entry_point" in row) {
    const { canonical_solution: solution, entry_point: entry, prompt, test } = row
    return {
      question: prompt,
      preamble: prompt,
      setup: prompt,
      tests: [`${test}\ncheck(${entry})\n`],
      entry,
      asks: [entry],
      solution: `${prompt}${solution}`
    }
  }
  const { code, prompt, test_imports: imports, test_list: tests, test_setup_code: setup, text } = row
  return {
    question: text ?? prompt ?? "",
    preamble: "",
    setup: [setup ?? "", ...(imports ?? [])].join("\n"),
    tests,
    asks: Array.from(code.matchAll(definition), ([, defined, assigned]) => defined ?? assigned ?? ""),
    solution: code
  }
}

const names = [
  "prompt",
  "canonical_solution",
  "test",
  "entry_point",
  "text",
  "code",
  "test_list",
  "test_setup_code",
  "test_imports",
  "question_content",
  "starter_code",
  "public_test_cases",
  "private_test_cases",
  "metadata"
] as const

/** All columns of all layouts, each optional. */
export const columns: { readonly [name: string]: Columns.Column<unknown> } = Object.fromEntries(
  names.map((column) => [column, { setting: "source", column, kind: Columns.optional(Columns.anything) }])
)

const LiveCode = Schema.Struct({
  question_content: Schema.NonEmptyString,
  starter_code: Schema.optionalKey(Schema.String)
})
const decodeLiveCode = Schema.decodeUnknownOption(LiveCode)

/** The problem of a LiveCodeBench row, or the reason if none. */
const fromContest = (picked: { readonly [name: string]: unknown }): Result.Result<Problem, string> => {
  const row = decodeLiveCode(picked)
  if (Option.isNone(row)) return Result.fail("its question_content or starter_code is not a text")
  const { question_content: content, starter_code: starter = "" } = row.value
  const contest = Contest.ofRow({
    publicTestCases: picked["public_test_cases"],
    privateTestCases: picked["private_test_cases"],
    metadata: picked["metadata"]
  })
  const question =
    starter.trim() === "" ? content : `${content}\n\nComplete this code.\n\n\`\`\`python\n${starter.trimEnd()}\n\`\`\``
  return Result.map(contest, (contest) => ({
    question,
    preamble: "",
    setup: "",
    tests: [],
    asks: [],
    solution: "",
    contest
  }))
}

const decodeRow = Schema.decodeUnknownOption(Row)

/** The problem of a row, or the reason if none. */
export const fromColumns = (picked: { readonly [name: string]: unknown }): Result.Result<Problem, string> => {
  const present = Object.fromEntries(Object.entries(picked).filter(([, value]) => value !== null))
  if ("question_content" in present) return fromContest(present)
  const problem = Option.map(decodeRow(present), fromRow)
  if (Option.isNone(problem)) {
    const there = Object.keys(present).join(", ")
    return Result.fail(
      "it must have prompt, canonical_solution, test and entry_point as HumanEval has them, text (or prompt), code and " +
        "test_list as MBPP has them, or question_content and public_test_cases or private_test_cases as LiveCodeBench " +
        `has them; of these it has ${there === "" ? "none" : there}`
    )
  }
  const { setup, tests } = problem.value
  // Without an assertion every program would pass.
  return [setup, ...tests].some((code) => /\b(?:assert|raise)/.test(code))
    ? Result.succeed(problem.value)
    : Result.fail("its tests assert nothing")
}

/**
 * The program with the value of its last `return` changed, its truthiness too: a minimal wrong program. Empty if it
 * returns nothing.
 */
export const withChangedReturn = (program: string): string => {
  const start = Array.from(program.matchAll(/\breturn[ (]/g)).at(-1)?.index
  if (start === undefined) return ""
  const from = start + "return".length
  const to = endOfStatement(program, from)
  const changed = `return (lambda value: None if value else "changed")((${program.slice(from, to).trim()}\n))`
  return program.slice(0, start) + changed + program.slice(to)
}

/** The end of a statement: the first line break outside of brackets and strings. */
const endOfStatement = (program: string, from: number): number => {
  const parts = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[([{]|[)\]}]|\n/g
  parts.lastIndex = from
  let depth = 0
  for (let match = parts.exec(program); match !== null; match = parts.exec(program)) {
    if ("([{".includes(match[0])) depth++
    else if (")]}".includes(match[0])) depth--
    else if (match[0] === "\n" && depth <= 0) return match.index
  }
  return program.length
}

/** Starts of program lines that prose never has. */
const programStart =
  /^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:]|import[ \t]+\w+(?:[ \t]*[,.]|[ \t]*$|[ \t]+as[ \t])|from[ \t]+[\w.]+[ \t]+import[ \t]|@\w+|[a-z_]\w{0,40}(?:[ \t]?,[ \t]?\w{1,40}){0,8}[ \t]?=[ \t]?[\w.]{1,60}\(|print\(|(?:for|while)[ \t][^\n]{1,200}:[ \t]*$)/
const indented = /^(?: {2,}|\t)\S/

const defines = /^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+/m

const isIndented = (text: string): boolean => /^[ \t]/.test(text.split("\n").find((line) => line.trim() !== "") ?? "")

const isPython = ({ language }: Block): boolean => /^(?:i?python|py)3?$/i.test(language)

/** Languages that are not Python: a block with any other name (`text`, `code`, `jupyter`) may be a program. */
const isForeign = ({ language }: Block): boolean =>
  /^(?:js|jsx|javascript|ts|tsx|typescript|java|c|h|cpp|c\+\+|cc|cs|csharp|go|golang|rust|rs|ruby|rb|php|swift|kotlin|kt|scala|r|sql|bash|sh|shell|zsh|powershell|html|css|json|jsonl|ya?ml|xml|toml|ini|csv|diff|haskell|hs|lua|perl|matlab|julia|jl|latex|tex|dart|elixir|exs?|erlang|erl|crystal|groovy|nim|zig|ocaml|ml|fsharp|fs|clojure|clj|vb|fortran|pascal|cobol|lisp|scheme|racket|objc|objective-c|solidity|prolog|coffeescript|makefile|dockerfile)$/i.test(
    language
  )

/** Without the language, if it is on its own line above the program. */
const withoutName = (code: string): string => code.replace(/^\s*(?:python|py)3?[ \t]*\n/i, "")

/** The block, or those inside of a Markdown block. */
const opened = (block: Block): ReadonlyArray<Block> =>
  /^(?:markdown|md)$/i.test(block.language) ? blocksOf(block.code) : [block]

/** True if a block begins lines like a program, unlike a program's output or input. */
const isProgram = ({ code }: Block): boolean => code.split("\n").some((line) => programStart.test(line))

/** A line without a statement: a comment, or a value that a program prints. */
const idle = /^(?:\s*#.*|(?:[-+\d.,:\s[\](){}]|True|False|None|'[^'\\]{0,200}'|"[^"\\]{0,200}")*)$/

/** True if a block can only show how a program is used, or what it prints. */
const isShown = ({ code }: Block): boolean => /^\s*>>> /.test(code) || code.split("\n").every((line) => idle.test(line))

/** True if code uses the names that are asked for and defines none of them: an example. */
const onlyUses = (code: string, names: ReadonlyArray<string>): boolean => {
  const isDefined = [...code.matchAll(definition)].some(([, defined, assigned]) =>
    names.includes(defined ?? assigned ?? "")
  )
  return !isDefined && [...code.matchAll(/\w+/g)].some(([word]) => names.includes(word))
}

/** The body of a function without its indentation gets it: at the top level it would be no program. */
const asBody = (code: string): string =>
  /^return\b/m.test(code) && !defines.test(code) ? code.replaceAll(/^(?=.)/gm, "    ") : code

/**
 * The program of a reply, after its thinking: its last Python block, else the last one without a language that begins
 * like a program, or the last, after earlier blocks that define what it uses. Without a block, the lines between prose
 * that define functions are the program, or the first indented ones if there is a head to continue (`preamble`). A
 * transcript (`>>> `), a block without a statement, and one that uses what is asked for without defining it, are
 * examples and no programs if there is another block.
 */
export const programOf = (
  reply: string,
  { asks = [], preamble }: Pick<Problem, "preamble"> & Partial<Pick<Problem, "asks">>
): string | undefined => {
  const answer = withoutName(Thinking.visibleText(reply))
  const goesOn = preamble !== "" && isIndented(answer)
  const all = blocksOf(answer, goesOn ? indented : programStart)
    .flatMap(opened)
    .map((block) => ({ ...block, code: withoutName(block.code) }))
  const blocks = all.every(isShown) ? all : all.filter((block) => !isShown(block))
  const bare = blocks.filter(({ isBare }) => isBare)
  const fenced = blocks.filter(isPython)
  // After a program without an opening fence, a fenced block may be an example of its use.
  const isExample = bare.length > 0 && !defines.test(fenced.at(-1)?.code ?? "")
  const unnamed = blocks.filter(({ language }) => language === "")
  const programs = unnamed.filter((block) => isProgram(block) || (preamble !== "" && isIndented(block.code)))
  const others = blocks.filter(
    (block) => block.language !== "" && !isPython(block) && !isForeign(block) && isProgram(block)
  )
  const plain = [programs, others, unnamed].find((one) => one.length > 0) ?? []
  const ranked = isExample ? [bare] : [fenced, bare, plain]
  const match =
    ranked.flatMap((one) => one.findLast(({ code }) => !onlyUses(code, asks)) ?? [])[0] ??
    ranked.find((one) => one.length > 0)?.at(-1)
  if (match !== undefined) {
    const program = preamble === "" ? match.code : asBody(match.code)
    const earlier = fenced.slice(0, Math.max(0, fenced.indexOf(match))).map(({ code }) => code)
    return isIndented(program) ? program : withHelpers(program, earlier)
  }
  if (blocks.length > 0) return undefined
  const defining = goesOn ? [] : Unfenced.partsOf(answer, false).filter((part) => defines.test(part))
  if (defining.length > 0) return defining.join("\n\n")
  const inline = Inline.programsOf(answer)
  if (inline.length > 0) return inline.findLast((code) => !onlyUses(code, asks)) ?? inline.at(-1)
  return preamble === "" ? undefined : Unfenced.partsOf(answer, true).find(isIndented)
}
