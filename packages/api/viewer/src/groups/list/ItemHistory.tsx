/** Shows how the mean score of one item changed over its groups, oldest first. */
import { mean } from "@atropos/core/health/Health"
import { useMemo } from "react"
import type * as Wire from "../../source/Wire.ts"
import { number, plural } from "../../ui/Format.ts"
import { TileCurve } from "../../ui/TileCurve.tsx"

/** Mean scores of the loaded groups, oldest first. */
export const historyOf = (rows: ReadonlyArray<Pick<Wire.RolloutRow, "created_at" | "id" | "scores">>): Float64Array =>
  Float64Array.from(
    rows
      .filter(({ scores }) => scores.length > 0)
      .toSorted((a, b) => a.created_at - b.created_at || Number(BigInt(a.id) - BigInt(b.id))),
    ({ scores }) => mean(scores)
  )

/** Nothing until all groups of the item are loaded: others would be taken for the first and the last. */
export const ItemHistory = ({
  rows,
  total
}: {
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  readonly total: number | null
}) => {
  const means = useMemo(() => historyOf(rows), [rows])
  if (means.length < 2 || rows.length !== total) return null
  return (
    <p className="item-history number">
      mean score of the item {number(means[0]!, 3)} → {number(means.at(-1)!, 3)} over {plural(means.length, "group")}
      <TileCurve values={means} />
    </p>
  )
}
