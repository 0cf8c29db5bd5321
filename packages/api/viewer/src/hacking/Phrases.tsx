/** Lists phrases linked to high scores, with links to their groups. */
import { useMemo, useState } from "react"
import { Link } from "wouter"
import * as Filter from "../query/Filter.ts"
import * as Guilty from "../health/Guilty.ts"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import type * as Wire from "../source/Wire.ts"
import { count, number, plural } from "../ui/Format.ts"
import * as Ngrams from "./Ngrams.ts"
import { fewTokens, sampleOf, useAnswers } from "./useAnswers.ts"

const percent = (share: number): string => `${number(share * 100, 2)}%`

const figure = (id: "better" | "worse" | "early" | "late", title: string): Column<Ngrams.Phrase> => ({
  id,
  title,
  isNumber: true,
  value: (phrase) => phrase[id],
  cell: (phrase) => percent(phrase[id])
})

const columnsOf = (run: string): ReadonlyArray<Column<Ngrams.Phrase>> => [
  {
    id: "phrase",
    title: "Phrase",
    value: ({ text }) => text,
    cell: ({ text }) => (
      <Link
        href={Guilty.address(run, { ...Filter.none, text: `"${text}"`, sort: "best" })}
        title="Groups with it, best first"
      >
        {text}
      </Link>
    )
  },
  figure("better", "Better answers"),
  figure("worse", "Other answers"),
  figure("early", "Early answers"),
  figure("late", "Late answers"),
  { id: "answers", title: "Answers", isNumber: true, value: ({ answers }) => answers }
]

export const Phrases = ({ rows, run }: { readonly run: string; readonly rows: ReadonlyArray<Wire.RolloutRow> }) => {
  const sample = useMemo(() => sampleOf(rows), [rows])
  const tokens = sample.reduce((sum, { row }) => sum + row.tokens, 0)
  const [isWanted, setIsWanted] = useState(false)
  const key = sample.length > 0 && (isWanted || tokens <= fewTokens) ? sample.map(({ row }) => row.id).join() : null
  const { answers, done, problem } = useAnswers(run, key, sample)
  const phrases = useMemo(() => (answers === null ? null : Ngrams.find(answers)), [answers])
  const columns = useMemo(() => columnsOf(run), [run])
  return (
    <section className="chart-section" aria-labelledby="phrases-title">
      <div className="section-head">
        <h2 id="phrases-title">Phrases linked to high scores</h2>
        <p className="muted" role="status">
          {problem !== null
            ? problem
            : sample.length === 0
              ? "no groups with messages and different scores"
              : answers !== null
                ? `${plural(answers.length, "answer")} from ${plural(sample.length, "group")}`
                : key !== null
                  ? `${count(done)} of ${plural(sample.length, "group")} loaded`
                  : ""}
        </p>
      </div>
      {sample.length > 0 && key === null && (
        <p>
          <button type="button" onClick={() => setIsWanted(true)}>
            Load {plural(sample.length, "group")}
          </button>{" "}
          <span className="muted">{count(tokens)} tokens, from the first and the last third of the run</span>
        </p>
      )}
      {phrases !== null &&
        (phrases.length === 0 ? (
          <p>No phrase is linked to high scores.</p>
        ) : (
          <>
            <p>{toldOf(phrases[0]!)}</p>
            <DataTable
              caption="Phrases linked to high scores"
              columns={columns}
              rows={phrases}
              rowKey={({ text }) => text}
            />
          </>
        ))}
      <p className="muted rule">{Ngrams.rule}</p>
    </section>
  )
}

const toldOf = ({ better, early, late, text, worse }: Ngrams.Phrase): string =>
  `“${text}” is in ${percent(better)} of the answers above their group mean, and in ${percent(worse)} of the others; early in ${percent(early)}, late in ${percent(late)}.`
