import { afterAll, assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Made } from "./MadeExpressions.ts"
import * as Examined from "./Examined.ts"
import { attackOn } from "./Pump.ts"
import * as Sources from "./Sources.ts"

/** Of these, those in a file that begin so may take more than linear time, for this reason. */
interface Exception {
  readonly file: string
  readonly begins: string
  readonly why: string
  /** Characters that it is given at most: so few that it may take quadratic time. */
  readonly bound?: number
}

/** Ratios of what takes quadratic time are below it. */
const cubic = 32

const exceptions: ReadonlyArray<Exception> = [
  {
    file: "packages/envs/src/verify/text/Boxes.ts",
    begins: "^[\\s$\"'`<[(]*(?:\\\\(?:text",
    why: "a placeholder is short",
    bound: 60
  },
  {
    file: "packages/envs/src/verify/text/Boxes.ts",
    begins: "[a-zA-Z](?:_\\{?\\w+\\}?)?\\s*=",
    why: "it reads gaps between boxes",
    bound: 60
  },
  {
    file: "packages/envs/src/verify/text/Formulas.ts",
    begins: "(?<!\\\\)\\$\\$([^$]+)",
    why: "it reads the end of an answer, and no formula of more than 2,000 characters",
    bound: 20_000
  },
  { file: "packages/core/src/base/StackFrames.ts", begins: "(?:\\(|at ", why: "it reads the frames of a stack" },
  { file: "packages/envs/src/code/Problem.ts", begins: '"(?:\\\\.', why: "it reads the solutions of a data set" },
  { file: "packages/cli/src/view/StaticPage.ts", begins: "<script", why: "it reads the viewer's own page" },
  { file: "packages/api/src/ViewerPage.ts", begins: "<script", why: "it reads the viewer's own page" },
  { file: "packages/api/src/database/Database.ts", begins: "database .* does", why: "it reads what Postgres says" }
]

const exceptionFor = (file: string, { source }: RegExp): Exception | undefined =>
  exceptions.find((one) => one.file === file && source.startsWith(one.begins))

/** Expressions of a policy, which may be anything: they are tried in a thread with a deadline. */
const foreign = ["packages/envs/src/regex/RegexWorker.ts"]

const { literals, made: sites } = Sources.expressions()
const made = sites.filter(({ file }) => !foreign.includes(file))

const makes = fileURLToPath(new URL("MadeExpressions.ts", import.meta.url))

/** What is made when the modules are loaded and their functions called. */
const madeWhenRun = (): ReadonlyArray<Made> => {
  const modules = Array.from(new Set(made.map(({ file }) => join(Sources.root, file))))
  const said = execFileSync(process.execPath, ["--conditions=atropos-src", makes, ...modules], { encoding: "utf8" })
  // What it prints is what it says it does.
  return JSON.parse(said.trimEnd().split("\n").at(-1)!) as ReadonlyArray<Made>
}

const examined = Examined.read()

const shown = (file: string, line: number, expression: RegExp): string => `${file}:${line} ${expression}`.slice(0, 200)

/** Those on which a text was found that takes them longer than linear time, with the text. */
const slow = (all: ReadonlyArray<Sources.Literal>): ReadonlyArray<string> => {
  const seen = new Set<string>()
  return all.flatMap(({ expression, file, line }) => {
    if (seen.has(String(expression))) return []
    seen.add(String(expression))
    const exception = exceptionFor(file, expression)
    if (exception !== undefined && exception.bound === undefined) return []
    if (examined.has(expression)) return []
    const attack = attackOn(expression)
    if (attack === undefined) {
      examined.add(expression)
      return []
    }
    const where = `${shown(file, line, expression)} on ${JSON.stringify(attack)}`
    return exception?.bound !== undefined && attack.ratio < cubic ? [] : [where]
  })
}

describe("regular expressions", () => {
  afterAll(() => examined.write())

  it("are found in the sources, literals and others", () => {
    assert.isAbove(literals.length, 400)
    assert.isAbove(made.length, 10)
    for (const { begins, bound = 0, file } of exceptions) {
      assert.isAtMost(bound, 20_000)
      const fitting = literals.filter((one) => one.file === file && one.expression.source.startsWith(begins))
      assert.lengthOf(fitting, 1, `${file}: the exception for ${begins}`)
    }
  })

  it("take linear time on text that is pumped from themselves", () => assert.deepStrictEqual(slow(literals), []))

  it("take linear time also where they are made", () => {
    const found = madeWhenRun().map(({ file, flags, line, source }) => ({
      file: Sources.fromRoot(file),
      line,
      expression: new RegExp(source, flags)
    }))
    const places = new Set(found.map(({ file, line }) => `${file}:${line}`))
    const missing = made.map(({ file, line }) => `${file}:${line}`).filter((place) => !places.has(place))
    assert.deepStrictEqual(missing, [], "MadeExpressions.ts has to do what makes these")
    assert.deepStrictEqual(slow(found), [])
  })
})

describe("attackOn", () => {
  // What stood in the sources, and stalled a reader or a page.
  const known = [
    /^(?: {0,3}> ?){60}/m,
    /^\s*\n|\s+$/g,
    /<think>([\s\S]*?)<\/think>/,
    /\/+$/,
    /\s*\n\s*/g,
    /^[^\S\n]*\d+\.\s/gm,
    /^[+-]?(?:\d+\.?\d*|\.\d+)$/,
    /^(.*[^\s])\s*\\text\{([^{}]*[a-zA-Z][^{}]*)\}\s*(\^\s*\{?\s*[23]\s*\}?)?$/,
    /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs,
    /^(a+)+$/,
    /^(a|aa)+$/,
    /(?:x+x+)+y/
  ]
  it.each(known.map((expression) => [String(expression), expression] as const))(
    "finds a text for %s",
    (_, expression) => assert.isDefined(attackOn(expression))
  )

  it.each(
    [/^a+b$/, /(?<!\s)\s+$/, /\d{1,3}(?:,\d{3})*/, /^ {0,3}(?:> {0,4}){59}>/m, /[^"]*"/y].map(
      (one) => [String(one), one] as const
    )
  )("finds none for %s", (_, expression) => assert.isUndefined(attackOn(expression)))
})
