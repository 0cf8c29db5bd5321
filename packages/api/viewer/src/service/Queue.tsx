/** Shows the fill of the queue, and groups stuck in it. */
import { duration } from "../ui/Quantity.ts"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"
import { type Column, DataTable } from "../ui/DataTable.tsx"

interface QueueProps {
  readonly summary: Wire.QueueSummary
  /** Sequences of a batch; null if unknown. */
  readonly batchSize: number | null
}

export const Queue = ({ batchSize, summary }: QueueProps) => (
  <>
    <dl className="tiles">
      <Figure title="Step" value={summary.current_step} note="batches formed so far" />
      <Figure
        title="Queued"
        value={summary.queued_groups}
        note={`${Format.plural(summary.queued_sequences, "sequence")}${batchSize === null ? "" : `, ${Format.count(batchSize)} per batch`}`}
      />
      <Figure title="Buffered" value={summary.buffered_groups} note="groups waiting for a full batch" />
      <Figure title="Batches ready" value={summary.formed_batches} note="waiting for the trainer" />
      <Figure title="Batches leased" value={summary.leased_batches} note="claimed, not acknowledged" />
      {summary.bound != null && (
        <Figure
          title="In progress"
          value={summary.bound.under_way}
          note={`${summary.bound.under_way === 1 ? "sequence" : "sequences"}; ${
            summary.bound.startable > 0
              ? `${Format.count(summary.bound.startable)} more may start`
              : "environments wait for the trainer"
          } (staleness at most ${summary.bound.max_staleness})`}
        />
      )}
      <Figure title="Size" value={bytes(summary.queued_bytes)} note="queued" />
    </dl>
    {summary.stuck.length > 0 && <Stuck stuck={summary.stuck} />}
  </>
)

const Figure = ({
  note,
  title,
  value
}: {
  readonly title: string
  readonly value: number | string
  readonly note: string
}) => (
  <div className="tile">
    <dt>{title}</dt>
    <dd className="tile-value number">{typeof value === "number" ? Format.count(value) : value}</dd>
    <dd className="tile-note">{note}</dd>
  </div>
)

type StuckRow = Wire.QueueSummary["stuck"][number]

const Stuck = ({ stuck }: { readonly stuck: ReadonlyArray<StuckRow> }) => (
  <section className="stuck">
    <h3>
      {Format.plural(
        stuck.reduce((sum, { count }) => sum + count, 0),
        "group"
      )}{" "}
      stuck in the queue
    </h3>
    <DataTable
      caption="Stuck groups"
      columns={columns}
      rows={stuck}
      rowKey={({ env_id, reason, sequences }) => `${env_id} ${sequences} ${reason}`}
    />
  </section>
)

const columns: ReadonlyArray<Column<StuckRow>> = [
  {
    id: "environment",
    title: "Environment",
    value: ({ env_id, environment }) => environment ?? (env_id === null ? "unknown" : `ID ${env_id}, not registered`)
  },
  { id: "sequences", title: "Sequences/group", isNumber: true, value: ({ sequences }) => sequences },
  { id: "count", title: "Groups", isNumber: true, value: ({ count }) => count },
  {
    id: "age",
    title: "Oldest",
    isNumber: true,
    value: (row) => row.age_seconds,
    cell: (row) => duration(Math.round(row.age_seconds))
  },
  { id: "reason", title: "Reason", value: ({ reason }) => reason }
]

/** In powers of ten: `3.2 MB`. */
const bytes = (size: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB"]
  const power = size < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(size) / 3))
  return `${Format.number(size / 1000 ** power, 3)} ${units[power]}`
}
