/** Shows the newest batches: holder, lease and number of deliveries. */
import { useState } from "react"
import { duration } from "../ui/Quantity.ts"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import { State } from "./Environments.tsx"
import { type BatchState, batchState, countStates } from "./Shares.ts"

interface BatchesProps {
  readonly batches: ReadonlyArray<Wire.BatchRow>
  readonly now: number
}

const words: { readonly [S in BatchState]: string } = {
  free: "waiting",
  leased: "leased",
  expired: "lease expired",
  acked: "done"
}
const kinds: { readonly [S in BatchState]: "good" | "bad" | "idle" } = {
  free: "idle",
  leased: "good",
  expired: "bad",
  acked: "idle"
}

const doneAtOnce = 8

export const Batches = ({ batches, now }: BatchesProps) => {
  const [showsAll, setShowsAll] = useState(false)
  if (batches.length === 0) return <p className="muted">No batches yet.</p>
  const open = batches.filter(({ state }) => state !== "acked")
  const done = batches.filter(({ state }) => state === "acked")
  const visible = showsAll ? batches : [...open, ...done.slice(0, doneAtOnce)]
  const counts = [...countStates(batches, now)].map(([state, count]) => `${Format.count(count)} ${words[state]}`)
  return (
    <>
      <p className="muted">
        Last {Format.plural(batches.length, "batch", "batches")}: {counts.join(", ")}.
      </p>
      <DataTable caption="Batches" columns={columnsOf(now)} rows={visible} rowKey={({ id }) => id} />
      {(showsAll || visible.length < batches.length) && (
        <button type="button" className="small" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? "Show fewer" : `All ${Format.count(batches.length)}`}
        </button>
      )}
    </>
  )
}

const columnsOf = (now: number): ReadonlyArray<Column<Wire.BatchRow>> => [
  { id: "id", title: "Batch", value: ({ id }) => id },
  { id: "step", title: "Step", isNumber: true, value: ({ step }) => step, cell: ({ step }) => Format.count(step) },
  {
    id: "state",
    title: "State",
    value: (batch) => words[batchState(batch, now)],
    cell: (batch) => {
      const state = batchState(batch, now)
      return <State kind={kinds[state]}>{words[state]}</State>
    }
  },
  { id: "groups", title: "Groups", isNumber: true, value: ({ groups }) => groups },
  { id: "sequences", title: "Sequences", isNumber: true, value: ({ sequences }) => sequences },
  {
    id: "age",
    title: "Age",
    isNumber: true,
    value: ({ created_at }) => now - created_at,
    cell: ({ created_at }) => ageOf(created_at, now)
  },
  {
    id: "owner",
    title: "Claimed by",
    value: (row) => row.lease_owner,
    cell: ({ lease_owner }) => (lease_owner === null ? "–" : <span className="mono">{lease_owner}</span>)
  },
  {
    id: "lease",
    title: "Lease",
    isNumber: true,
    value: ({ lease_until, state }) => (state === "leased" ? lease_until : null),
    cell: ({ lease_until, state }) => {
      if (state !== "leased" || lease_until === null) return "–"
      return lease_until < now ? (
        <span className="bad">expired {Format.ago(lease_until, now)}</span>
      ) : (
        `${ageOf(now, lease_until)} left`
      )
    }
  },
  {
    id: "deliveries",
    title: "Deliveries",
    isNumber: true,
    value: ({ deliveries }) => deliveries,
    cell: ({ deliveries }) => <span className={deliveries > 1 ? "bad" : undefined}>{Format.count(deliveries)}</span>
  }
]

const ageOf = (from: number, to: number): string => duration(Math.max(0, Math.round((to - from) / 1000)))
