/** Shows the inference servers as seen by each environment. */
import { duration, quantity } from "../ui/Quantity.ts"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import { State } from "./Environments.tsx"
import { type Standing, standingOf } from "./Shares.ts"

interface Row extends Wire.ServerReport {
  readonly environment: string
  /** State of that environment: the status of a server is only known while it is used. */
  readonly standing: Standing
}

interface ServersProps {
  readonly environments: ReadonlyArray<Wire.EnvironmentRow>
  readonly now: number
}

export const Servers = ({ environments, now }: ServersProps) => {
  const rows = environments.flatMap((environment) => {
    const { standing } = standingOf(environment, now)
    return (environment.report?.servers ?? []).map((server) => ({ ...server, environment: environment.name, standing }))
  })
  if (rows.length === 0) return <p className="muted">No servers reported yet.</p>
  return (
    <DataTable
      caption="Inference servers"
      columns={columns}
      rows={rows}
      rowKey={({ environment, server, split }) => `${environment} ${server} ${split}`}
    />
  )
}

const isAsked = ({ standing }: Row): boolean => standing === "connected"

const healthOf = (row: Row): { readonly word: string; readonly kind: "good" | "bad" | "idle" } => {
  if (!isAsked(row)) return { word: `environment ${row.standing}`, kind: "idle" }
  return row.healthy ? { word: "up", kind: "good" } : { word: "down", kind: "bad" }
}

const columns: ReadonlyArray<Column<Row>> = [
  {
    id: "server",
    title: "Server",
    value: ({ server }) => server,
    cell: ({ server }) => <span className="mono">{server}</span>
  },
  { id: "environment", title: "Used by", value: ({ environment }) => environment },
  { id: "split", title: "Purpose", value: ({ split }) => (split === "eval" ? "evaluation" : "training") },
  {
    id: "health",
    title: "Health",
    value: (row) => healthOf(row).word,
    cell: (row) => {
      const { kind, word } = healthOf(row)
      return <State kind={kind}>{word}</State>
    }
  },
  { id: "flight", title: "In flight", isNumber: true, value: (row) => (isAsked(row) ? row.in_flight : null) },
  { id: "limit", title: "Request limit", isNumber: true, value: (row) => (isAsked(row) ? (row.limit ?? null) : null) },
  {
    id: "mean",
    title: "Mean latency",
    isNumber: true,
    value: (row) => row.latency_mean,
    cell: ({ latency_mean }) => (latency_mean === null ? "–" : duration(latency_mean))
  },
  {
    id: "p95",
    title: "p95 latency",
    isNumber: true,
    value: (row) => row.latency_p95,
    cell: ({ latency_p95 }) => (latency_p95 === null ? "–" : duration(latency_p95))
  },
  {
    id: "tokens",
    title: "Tokens/s",
    isNumber: true,
    value: (row) => (isAsked(row) ? row.tokens_per_second : null),
    cell: (row) => (row.tokens_per_second === null || !isAsked(row) ? "–" : quantity(row.tokens_per_second, "tokens"))
  },
  {
    id: "failures",
    title: "Failures",
    isNumber: true,
    value: ({ failures }) => failures,
    cell: ({ failures }) => <span className={failures > 0 ? "bad" : undefined}>{Format.count(failures)}</span>
  }
]
