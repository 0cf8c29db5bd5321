/** Shows the environments of a run: status, contributions, last errors. */
import { compact } from "../ui/Quantity.ts"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import { dueShare, kindOf, presentReport, standingOf } from "./Shares.ts"

interface EnvironmentsProps {
  readonly environments: ReadonlyArray<Wire.EnvironmentRow>
  readonly now: number
  /** True if the run is done or stopped, so that its environments are expected to be gone. */
  readonly isEnded: boolean
}

export const Environments = ({ environments, isEnded, now }: EnvironmentsProps) => {
  if (environments.length === 0) {
    return (
      <p className="muted">
        No environments yet. <code>npx @atropos/cli serve --env …</code> starts one.
      </p>
    )
  }
  return (
    <>
      <DataTable
        caption="Environments"
        columns={columnsOf(environments, now, isEnded)}
        rows={environments}
        rowKey={({ env_id }) => String(env_id)}
      />
      <Errors environments={environments} now={now} />
    </>
  )
}

const columnsOf = (
  all: ReadonlyArray<Wire.EnvironmentRow>,
  now: number,
  isEnded: boolean
): ReadonlyArray<Column<Wire.EnvironmentRow>> => [
  { id: "name", title: "Environment", value: ({ name }) => name },
  {
    id: "connected",
    title: "State",
    value: (environment) => standingOf(environment, now).standing,
    cell: (environment) => {
      const { heardAt, standing } = standingOf(environment, now)
      return (
        <span title={standing === "silent" ? "Still registered, but not heard from for minutes" : undefined}>
          <State kind={kindOf(standing, isEnded)}>{standing}</State>{" "}
          <span className="muted">{Format.ago(heardAt, now)}</span>
        </span>
      )
    }
  },
  { id: "weight", title: "Weight", isNumber: true, value: ({ weight }) => weight },
  {
    id: "share",
    title: "Share of batches",
    isNumber: true,
    value: ({ share }) => share,
    cell: (environment) => <Share share={environment.share} due={dueShare(environment, all)} />
  },
  {
    id: "minimum",
    title: "Minimum",
    isNumber: true,
    value: (row) => row.min_batch_allocation,
    cell: ({ min_batch_allocation: minimum }) => (minimum === null ? "–" : percent(minimum))
  },
  {
    id: "rollouts",
    title: "Rollouts/min",
    isNumber: true,
    value: (row) => row.rollouts_per_minute,
    cell: ({ rollouts_per_minute }) => compact(rollouts_per_minute)
  },
  {
    id: "items",
    title: "Items/min",
    isNumber: true,
    value: (row) => presentReport(row, now)?.items_per_minute ?? null,
    cell: (row) => {
      const report = presentReport(row, now)
      return report === null ? "–" : compact(report.items_per_minute)
    }
  },
  { id: "running", title: "Running", isNumber: true, value: (row) => presentReport(row, now)?.running ?? null },
  { id: "unsent", title: "Unsent", isNumber: true, value: ({ report }) => report?.unsent ?? null },
  {
    id: "failures",
    title: "Failures",
    isNumber: true,
    value: ({ report }) => report?.failures ?? null,
    cell: ({ report }) =>
      report === null ? (
        "–"
      ) : (
        <span className={report.failures > 0 ? "bad" : undefined}>{Format.count(report.failures)}</span>
      )
  }
]

/** A bar with a mark at the share due by weight. */
const Share = ({ due, share }: { readonly share: number | null; readonly due: number | null }) => (
  <span className="share">
    <span className="share-bar" aria-hidden="true">
      <span className="share-fill" style={{ width: percent(share ?? 0) }} />
      {due !== null && <span className="share-due" style={{ left: percent(due) }} />}
    </span>
    <span>
      {share === null ? "–" : percent(share)}
      {due !== null && <span className="muted"> (target {percent(due)})</span>}
    </span>
  </span>
)

export const State = ({ children, kind }: { readonly kind: "good" | "bad" | "idle"; readonly children: string }) => (
  <span className={`standing ${kind}`}>{children}</span>
)

const Errors = ({ environments, now }: Omit<EnvironmentsProps, "isEnded">) => {
  const errors = environments.flatMap(({ name, report }) =>
    report === null || report.last_error === null ? [] : [{ name, ...report.last_error }]
  )
  if (errors.length === 0) return null
  return (
    <ul className="last-errors" aria-label="Last errors">
      {errors.map(({ at, message, name }) => (
        <li key={name}>
          <span>
            <strong>{name}</strong> <span className="muted">{Format.ago(at, now)}</span>
          </span>
          <span>{message}</span>
        </li>
      ))}
    </ul>
  )
}

const percent = (share: number): string => `${Format.number(share * 100, 3)}%`
