/** The inference servers, as each environment that asks them sees them. */
import { duration, quantity } from "../run/quantity.ts"
import type * as Wire from "../source/Wire.ts"
import * as format from "../ui/format.ts"
import { type Column, DataTable } from "./DataTable.tsx"
import { State } from "./Environments.tsx"

interface Row extends Wire.ServerReport {
  readonly environment: string
}

export const Servers = ({ environments }: { readonly environments: ReadonlyArray<Wire.EnvironmentRow> }) => {
  const rows = environments.flatMap(({ name, report }) =>
    (report?.servers ?? []).map((server) => ({ ...server, environment: name }))
  )
  if (rows.length === 0) return <p className="muted">No environment has told of its servers yet.</p>
  return (
    <DataTable
      caption="Inference servers"
      columns={columns}
      rows={rows}
      rowKey={({ environment, server, split }) => `${environment} ${server} ${split}`}
    />
  )
}

const columns: ReadonlyArray<Column<Row>> = [
  {
    id: "server",
    title: "Server",
    value: ({ server }) => server,
    cell: ({ server }) => <span className="mono">{server}</span>
  },
  { id: "environment", title: "Asked by", value: ({ environment }) => environment },
  { id: "split", title: "For", value: ({ split }) => (split === "eval" ? "evaluation" : "training") },
  {
    id: "health",
    title: "Health",
    value: ({ healthy }) => (healthy ? "answers" : "fails"),
    cell: ({ healthy }) => <State kind={healthy ? "good" : "bad"}>{healthy ? "answers" : "fails"}</State>
  },
  { id: "flight", title: "In flight", isNumber: true, value: (row) => row.in_flight },
  {
    id: "mean",
    title: "Latency, mean",
    isNumber: true,
    value: (row) => row.latency_mean,
    cell: ({ latency_mean }) => (latency_mean === null ? "–" : duration(latency_mean))
  },
  {
    id: "p95",
    title: "p95",
    isNumber: true,
    value: (row) => row.latency_p95,
    cell: ({ latency_p95 }) => (latency_p95 === null ? "–" : duration(latency_p95))
  },
  {
    id: "tokens",
    title: "Tokens/s",
    isNumber: true,
    value: (row) => row.tokens_per_second,
    cell: ({ tokens_per_second }) => (tokens_per_second === null ? "–" : quantity(tokens_per_second, "tokens"))
  },
  {
    id: "failures",
    title: "Failures",
    isNumber: true,
    value: ({ failures }) => failures,
    cell: ({ failures }) => <span className={failures > 0 ? "bad" : undefined}>{format.count(failures)}</span>
  }
]
