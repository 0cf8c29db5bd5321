/** Shows the headline metrics: a status bar for one run, a comparison table for several. */
import type { ReactNode } from "react"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"
import { Swatch } from "../chart/Legend.tsx"
import * as Headline from "./Headline.ts"
import { duration, quantity } from "../ui/Quantity.ts"
import { Liveness, type RunStatus } from "./Liveness.tsx"
import { Change, heldOut, StatusBar } from "./StatusBar.tsx"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import { useRunStates } from "../metrics/useRunMetrics.ts"

interface HeadlinesProps {
  readonly metrics: RunMetrics
  readonly runs: ReadonlyArray<Wire.Run>
  readonly colors: ReadonlyArray<string>
}

interface Row extends RunStatus {
  readonly color: string
  readonly isLossFirst: boolean
}

/** True if the run's loss uses no rewards, as in supervised training: the loss shows its progress. */
export const isLossFirst = (run: Wire.Run | undefined): boolean => run?.advantages?.is_used === false

export const Headlines = ({ colors, metrics, runs }: HeadlinesProps) => {
  const rows = useRunStates(metrics).map((run) => {
    const own = runs.find(({ name }) => name === run.name)
    return {
      run,
      activity: own?.activity,
      color: colors[run.tone % colors.length]!,
      isLossFirst: isLossFirst(own),
      headline: Headline.of(run.table, own?.num_steps ?? 0)
    }
  })
  const [first] = rows
  if (first === undefined) return null
  return rows.length === 1 ? <StatusBar {...first} /> : <Comparison rows={rows} />
}

const Comparison = ({ rows }: { readonly rows: ReadonlyArray<Row> }) => (
  <DataTable caption="Run comparison" columns={columns} rows={rows} rowKey={({ run }) => run.name} />
)

const figure = (
  id: string,
  title: string,
  value: (headline: Headline.Headline) => number | null,
  shown: (value: number) => ReactNode
): Column<Row> => ({
  id,
  title,
  isNumber: true,
  value: ({ headline }) => value(headline),
  cell: ({ headline }) => {
    const found = value(headline)
    return found === null ? "–" : shown(found)
  }
})

const columns: ReadonlyArray<Column<Row>> = [
  {
    id: "run",
    title: "Run",
    value: ({ run }) => run.name,
    cell: ({ color, run }) => (
      <span className="run-name">
        <Swatch color={color} />
        {run.name}
      </span>
    )
  },
  {
    id: "state",
    title: "State",
    value: ({ activity, run }) => activity?.state ?? run.phase,
    cell: ({ activity, headline, run }) => <Liveness run={run} headline={headline} activity={activity} />
  },
  figure("step", "Step", ({ step }) => step, Format.count),
  figure(
    "reward",
    "Reward",
    ({ reward }) => reward?.now ?? null,
    (value) => quantity(value, "number")
  ),
  figure(
    "recent",
    `Δ last ${Headline.recentSteps}`,
    ({ reward }) => (reward === null ? null : reward.now - reward.before),
    (value) => <Change value={value} />
  ),
  figure(
    "best",
    "Best",
    ({ reward }) => reward?.best.value ?? null,
    (value) => quantity(value, "number")
  ),
  {
    id: "evaluation",
    title: "Held-out",
    isNumber: true,
    value: ({ headline: { evaluation } }) => evaluation?.value ?? null,
    cell: ({ headline: { evaluation } }) => (evaluation === null ? "–" : heldOut(evaluation))
  },
  figure(
    "tokens",
    "Tokens/s",
    ({ tokensPerSecond }) => tokensPerSecond,
    (value) => quantity(value, "perSecond")
  ),
  figure("pace", "Step time", ({ stepTime }) => stepTime, duration),
  figure("elapsed", "Time", ({ elapsed }) => elapsed, duration)
]
