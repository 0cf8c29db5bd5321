/** The table of docs/evaluations.md says what the files of the suites say. */
import { Suite } from "@atropos/envs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Suites from "../../src/config/Suites.ts"

type Of = Suite.Suite
type Kind = Of["score"][string]["by"]

const page = readFileSync(new URL("../../../../docs/evaluations.md", import.meta.url), "utf8")

/** Cells by lines, without the head. */
const rows: ReadonlyArray<ReadonlyArray<string>> = page
  .slice(page.indexOf("| suite | rows |"))
  .split("\n\n", 1)[0]!
  .split("\n")
  .slice(2)
  .map((line) => line.split("|").slice(1, -1))
  .map((cells) => cells.map((cell) => cell.trim()))

const code = (text: string): string => `\`${text}\``

const rowsOf = ({ data }: Of): string =>
  data === undefined
    ? code("--data")
    : typeof data === "string"
      ? code(data)
      : code(data[0].source) + (data.length > 1 ? ` and ${data.length - 1} more` : "")

const kinds: { readonly [kind in Kind]: string } = {
  text: "text",
  choice: "letter",
  number: "number",
  math: "formula",
  words: "words",
  drop: "DROP",
  ifeval: "IFEval",
  eed: "EED",
  grid: "grid",
  program: "tests",
  patterns: "patterns",
  judge: "judge",
  comparison: "judge, both orders",
  rating: "rating",
  likelihood: "likelihood"
}

const kindOf = (suite: Of): string => {
  const main = Suite.mainOf(suite)
  const name = suite.mean_of?.[main]?.[0] ?? main
  // Several values of one score have names of their own.
  return kinds[(suite.score[name] ?? Object.values(suite.score)[0]!).by]
}

/** What templates name that is no column. */
const words = new Set(["choices", "letters", "examples", "answer_a", "answer_b"])

const namesIn = (template = ""): ReadonlyArray<string> =>
  Array.from(template.replaceAll(/\{\{|\}\}/g, "").matchAll(/\{([\w.]+)\}/g), ([, name = ""]) => name).filter(
    (name) => !words.has(name)
  )

/** Columns that a suite names, but for those that a kind of score reads. */
const columnsOf = ({
  choices,
  columns = {},
  gold,
  grids,
  id,
  pairs,
  prompt,
  reference,
  score,
  turns,
  where,
  ...rest
}: Of) =>
  new Set(
    [
      ...Object.values(columns).flatMap(({ each, of }) => [each, ...namesIn(of)]),
      rest.likelihood?.blank,
      ...namesIn(grids === undefined ? prompt : ""),
      ...Object.values(grids ?? {}),
      ...Object.values(pairs ?? {}),
      ...(choices?.from ?? "").split(/,\s*/),
      choices?.labels,
      choices?.answer,
      id,
      rest.category,
      reference,
      turns,
      typeof gold === "string" ? gold : gold?.from,
      ...Object.keys(where ?? {}),
      ...Object.values(score).map((one) => (one.by === "comparison" ? one.with : undefined))
    ].filter((name): name is string => name !== undefined && name !== "" && !Object.hasOwn(columns, name))
  )

/** Columns that a kind of score reads, whatever the suite says. */
const read: { readonly [kind in Kind]?: ReadonlySet<string> } = {
  program: new Set(
    "canonical_solution test entry_point test_list code public_test_cases private_test_cases starter_code metadata".split(
      " "
    )
  ),
  ifeval: new Set(["instruction_id_list", "kwargs"]),
  drop: new Set(["validated_answers"])
}

describe("docs/evaluations.md", () => {
  it.effect("has a line for each suite: its rows, columns, main score and samples", () =>
    Effect.gen(function* () {
      const suites = (yield* Suites.all).map(({ suite }) => suite)
      assert.deepStrictEqual(
        rows.map(([name = ""]) => name).toSorted(),
        suites.map(({ name }) => code(name)).toSorted()
      )
      assert.include(page, `${suites.length} are shipped`)
      for (const suite of suites) {
        const [, source = "", columns = "", score, samples] = rows.find(([name]) => name === code(suite.name)) ?? []
        const main = `${code(Suite.mainOf(suite))}: ${kindOf(suite)}`
        assert.deepStrictEqual([source, score, samples], [rowsOf(suite), main, String(suite.samples ?? 1)], suite.name)
        const listed = Array.from(columns.matchAll(/`([^`]+)`/g), ([, name = ""]) => name)
        const named = columnsOf(suite)
        assert.deepStrictEqual(
          [...named].filter((name) => !listed.includes(name)),
          [],
          `${suite.name}: missing`
        )
        const byScore = Object.values(suite.score).map(({ by }) => read[by])
        const unknown = listed.filter((name) => !named.has(name) && !byScore.some((names) => names?.has(name)))
        assert.deepStrictEqual(unknown, [], `${suite.name}: named nowhere`)
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
