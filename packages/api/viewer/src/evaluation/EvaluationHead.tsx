/** Shows the results of an evaluation, or the differences of two: overall, by score and by category. */
import type * as Comparison from "@atropos/core/evaluation/Comparison"
import * as Summary from "@atropos/core/evaluation/Summary"
import { type ReactNode, useMemo } from "react"
import { Link } from "wouter"
import { evaluationPath, evaluationsPath } from "../route/Location.ts"
import type * as Save from "../save/Save.ts"
import { SaveMenu } from "../save/SaveMenu.tsx"
import type * as Wire from "../source/Wire.ts"
import { count, number, plural } from "../ui/Format.ts"
import * as EvaluationTables from "./EvaluationTables.ts"
import { Difference, headline, Mean, Share } from "./Figures.tsx"
import type { Items } from "./Items.ts"
import { figureOf, titleOf, titlesOf } from "./Title.ts"

interface Loaded {
  readonly row: Wire.EvaluationRow
  readonly items: Items
}

export const EvaluationHead = ({
  after,
  before,
  comparison
}: {
  readonly before: Loaded
  readonly after: Loaded | null
  readonly comparison: Comparison.Comparison | null
}) => (
  <>
    <div className="evaluation-title">
      <h1>
        {titleOf(before.row)}
        {after !== null && (
          <>
            <span className="muted"> → </span>
            {titleOf(after.row)}
          </>
        )}
      </h1>
      <Link className="button small" href={evaluationsPath(before.row.run, true)}>
        All evaluations
      </Link>
      {after !== null && (
        <Link className="button small" href={evaluationPath(after.row.id, before.row.id)}>
          Swap
        </Link>
      )}
    </div>
    <Missing rows={after === null ? [before.row] : [before.row, after.row]} />
    {comparison === null ? (
      <Whole evaluation={before} />
    ) : (
      <Compared comparison={comparison} name={titlesOf(before.row, after?.row)} />
    )}
  </>
)

/** Samples that were announced but are not stored. */
const Missing = ({ rows }: { readonly rows: ReadonlyArray<Wire.EvaluationRow> }) =>
  rows.map((row) => {
    const failed = figureOf(row, "failed_items") ?? 0
    return (
      <p className="muted" key={row.id} hidden={row.stored === row.samples && failed === 0}>
        {row.stored < row.samples &&
          `${titleOf(row)}: ${count(row.stored)} of ${plural(row.samples, "sample")} stored. `}
        {failed > 0 && `${titleOf(row)}: ${plural(failed, "item")} failed and are not counted.`}
      </p>
    )
  })

const Whole = ({ evaluation: { items, row } }: { readonly evaluation: Loaded }) => {
  const whole = useMemo(() => Summary.of(items), [items])
  const categories = useMemo(() => Summary.byCategory(items), [items])
  const temperature = figureOf(row, "temperature")
  if (whole === undefined) return null
  return (
    <>
      <dl className="evaluation-figures number">
        {whole.correct !== undefined && (
          <Figure name="Correct">
            <Share estimate={whole.correct} />
          </Figure>
        )}
        <Figure name="Score">
          <Mean estimate={whole.score} />
        </Figure>
        {Object.entries(whole.rewards).map(([name, estimate]) => (
          <Figure key={name} name={name}>
            <Mean estimate={estimate} />
          </Figure>
        ))}
        <Figure name="Items">{count(whole.items)}</Figure>
        {temperature !== null && <Figure name="Temperature">{number(temperature)}</Figure>}
      </dl>
      {Object.keys(categories).length > 1 && (
        <Categories
          name={`categories of ${titleOf(row)}`}
          table={() => EvaluationTables.ofCategories(categories)}
          heads={["Category", "Items", whole.correct === undefined ? "Score" : "Correct"]}
          rows={Object.entries(categories).map(([name, { correct, items, score }]) => [
            name,
            count(items),
            correct === undefined ? <Mean key="mean" estimate={score} /> : <Share key="share" estimate={correct} />
          ])}
        />
      )}
    </>
  )
}

const Compared = ({ comparison, name }: { readonly comparison: Comparison.Comparison; readonly name: string }) => {
  const { broken, categories, correct, fixed, items, onlyInA, onlyInB, scores, unchanged } = comparison
  const kinds = Object.entries(categories)
  return (
    <>
      {correct !== undefined && <p className="evaluation-headline number">{headline(correct)}</p>}
      <dl className="evaluation-figures number">
        {correct !== undefined && (
          <Figure name="Correct">
            <Difference compared={correct} isShare />
          </Figure>
        )}
        {Object.entries(scores).map(([name, one]) => (
          <Figure key={name} name={name}>
            <Difference compared={one} isShare={false} />
          </Figure>
        ))}
        <Figure name="Items in both">{count(items)}</Figure>
        <Figure name="Fixed">
          <span className="rising">{count(fixed.length)}</span>
        </Figure>
        <Figure name="Regressed">
          <span className="falling">{count(broken.length)}</span>
        </Figure>
        <Figure name="Unchanged">{count(unchanged)}</Figure>
        {onlyInA + onlyInB > 0 && (
          <Figure name="In one only">{`${count(onlyInA)} in the first, ${count(onlyInB)} in the second`}</Figure>
        )}
      </dl>
      {kinds.length > 1 && (
        <Categories
          name={`categories of ${name}`}
          table={() => EvaluationTables.ofCompared(comparison)}
          heads={["Category", "Items", "Difference"]}
          rows={kinds.map(([name, one]) => [
            name,
            count(one.items),
            <Difference key="difference" compared={one} isShare={correct !== undefined} />
          ])}
        />
      )}
    </>
  )
}

const Figure = ({ children, name }: { readonly name: string; readonly children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const Categories = ({
  heads,
  name,
  rows,
  table
}: {
  /** Name of the saved file. */
  readonly name: string
  readonly table: () => Save.Table
  readonly heads: ReadonlyArray<string>
  readonly rows: ReadonlyArray<readonly [string, ...ReadonlyArray<ReactNode>]>
}) => (
  <details className="evaluation-categories">
    <summary>{plural(rows.length, "category", "categories")}</summary>
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Categories">
      <table className="data-table">
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, ...cells]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {cells.map((cell, at) => (
                // oxlint-disable-next-line react/no-array-index-key -- columns never move
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <SaveMenu name={name} table={table} />
  </details>
)
