/**
 * Selects the columns of the group list: those that differ between rows and fit, unless the reader chose otherwise.
 * Choices are kept in this browser.
 */
import { useMemo, useState } from "react"
import type * as Wire from "../../source/Wire.ts"
import { useMedia } from "../../ui/useMedia.ts"

type Row = Pick<Wire.RolloutRow, "environment" | "step" | "state" | "figures">

/** Columns that can be hidden, in the list's order. */
export const optional = ["step", "environment", "mean", "expected", "tokens", "state", "created_at"] as const
export type Optional = (typeof optional)[number]

export type Choices = { readonly [C in Optional]?: boolean }

const values: { readonly [C in Optional]?: (row: Row) => unknown } = {
  step: ({ step }) => step,
  environment: ({ environment }) => environment,
  expected: ({ figures }) => figures?.expected ?? null,
  state: ({ state }) => state
}

const differ = (rows: ReadonlyArray<Row>, valueOf: (row: Row) => unknown): boolean => {
  const [first] = rows
  if (first === undefined) return false
  const value = valueOf(first)
  return rows.length === 1 ? value !== null : rows.some((row) => valueOf(row) !== value)
}

/** Columns that saved groups lack. */
const ofService: ReadonlySet<Optional> = new Set(["step", "environment", "state"])

/** Hidden by default where there is little room. */
const rare: ReadonlySet<Optional> = new Set(["tokens", "state"])

export const offered = (isPlain: boolean): ReadonlyArray<Optional> =>
  optional.filter((column) => !isPlain || !ofService.has(column))

/** The columns shown; `sorted`, the one of the list's order, always is. */
export const select = (
  rows: ReadonlyArray<Row>,
  choices: Choices,
  { isNarrow, isPlain, sorted }: { readonly isNarrow: boolean; readonly isPlain: boolean; readonly sorted: boolean }
): ReadonlySet<Optional> =>
  new Set(
    offered(isPlain).filter((column) => {
      if (column === "tokens" && sorted) return true
      const valueOf = values[column]
      return choices[column] ?? ((valueOf === undefined || differ(rows, valueOf)) && !(isNarrow && rare.has(column)))
    })
  )

const key = "atropos-group-columns"

const stored = (): Choices => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "{}")
    return Object.fromEntries(
      Object.entries(typeof kept === "object" && kept !== null ? kept : {}).filter(
        ([column, isShown]) => optional.some((known) => known === column) && typeof isShown === "boolean"
      )
    )
  } catch {
    return {}
  }
}

const keep = (choices: Choices): void => {
  try {
    localStorage.setItem(key, JSON.stringify(choices))
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

export interface Columns {
  readonly offered: ReadonlyArray<Optional>
  readonly shown: ReadonlySet<Optional>
  readonly isChosen: boolean
  /** Null: all as by default. */
  readonly choose: (choice: { readonly column: Optional; readonly isShown: boolean } | null) => void
}

export const useColumns = (rows: ReadonlyArray<Row>, isPlain: boolean, sorted: boolean): Columns => {
  const [choices, setChoices] = useState(stored)
  const isNarrow = useMedia("(max-width: 72rem)")
  const shown = useMemo(
    () => select(rows, choices, { isNarrow, isPlain, sorted }),
    [rows, choices, isNarrow, isPlain, sorted]
  )
  return {
    offered: offered(isPlain),
    shown,
    isChosen: Object.keys(choices).length > 0,
    choose: (choice) => {
      const next = choice === null ? {} : { ...choices, [choice.column]: choice.isShown }
      keep(next)
      setChoices(next)
    }
  }
}
