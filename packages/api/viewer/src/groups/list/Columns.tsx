/** Defines the columns of the group list. */
import { createColumnHelper, tableFeatures } from "@tanstack/react-table"
import type { ReactNode } from "react"
import type * as Wire from "../../source/Wire.ts"
import { Ago } from "../../ui/Ago.tsx"
import { count, number } from "../../ui/Format.ts"
import type { Sort } from "../../query/Filter.ts"
import { type Scale, ScoreStrip } from "./ScoreStrip.tsx"
import { columnOf } from "./SortNames.ts"

export const features = tableFeatures({})

const helper = createColumnHelper<typeof features, Wire.RolloutRow>()

const states: { readonly [S in Wire.RolloutState]: string } = {
  buffered: "waiting for a full batch",
  queued: "in the queue",
  formed: "in a batch",
  leased: "at the trainer",
  consumed: "trained on"
}

const mean = ({ scores }: Wire.RolloutRow): string =>
  scores.length === 0 ? "–" : number(scores.reduce((sum, score) => sum + score, 0) / scores.length, 3)

export interface Shown {
  /** Hides steps, environments and states, which saved groups lack. */
  readonly isPlain: boolean
  /** True if some prompts are not extracted yet. */
  readonly isReading: boolean
  /** The sort key of the list; its value replaces the tokens column. */
  readonly sort: Sort | null
  readonly component: string | null
}

const ofService = new Set(["step", "environment", "state"])

/** `link` renders the link to a group. */
export const columns = (
  scaleOf: (row: Wire.RolloutRow) => Scale,
  { component, isPlain, isReading, sort }: Shown,
  link: (row: Wire.RolloutRow, index: number) => ReactNode
) => {
  const sorted = columnOf(sort, component)
  const all = helper.columns([
    helper.accessor("id", { header: "Group", cell: ({ row }) => link(row.original, row.index) }),
    helper.accessor("step", { header: "Step", cell: ({ getValue }) => getValue() ?? "–" }),
    helper.accessor("environment", { header: "Environment", cell: ({ getValue }) => getValue() ?? "–" }),
    helper.accessor("scores", {
      header: "Scores",
      cell: ({ row }) => <ScoreStrip scores={row.original.scores} scale={scaleOf(row.original)} />
    }),
    helper.display({ id: "mean", header: "Mean", cell: ({ row }) => mean(row.original) }),
    helper.accessor("preview", {
      header: "Prompt",
      cell: ({ getValue }) =>
        getValue() ?? (
          <span className="muted" title={isReading ? "not indexed yet" : undefined}>
            {isReading ? "…" : "–"}
          </span>
        )
    }),
    helper.accessor("tokens", {
      header: sorted?.head ?? "Tokens",
      cell: ({ getValue, row }) => (sorted === null ? count(getValue()) : (sorted.shown(row.original) ?? "–"))
    }),
    helper.accessor("state", {
      header: "State",
      cell: ({ getValue }) => (
        <span className={`state state-${getValue()}`} title={states[getValue()]}>
          {getValue()}
        </span>
      )
    }),
    helper.accessor("created_at", {
      header: "Received",
      cell: ({ getValue }) => <Ago at={getValue()} />
    })
  ])
  return isPlain ? all.filter((column) => !("accessorKey" in column && ofService.has(column.accessorKey))) : all
}
