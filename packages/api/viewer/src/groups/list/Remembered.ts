/** Remembers the last list, for returning to it and for navigating from a group to its neighbours. */
import type * as Wire from "../../source/Wire.ts"

export interface Pages {
  /** JSON of session, run and filter. */
  readonly list: string
  /** Counts reloads. */
  readonly round: number
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  readonly next: string | null
  readonly total: number | null
  readonly unindexed: number
}

let pages: Pages | null = null
let address: string | null = null
let place: { readonly key: string; readonly row: number } | null = null

export const find = (list: string): Pages | null => (pages?.list === list ? pages : null)

export const keep = (seen: Pages): void => {
  pages = seen
}

/** Saves the address of the list with its filter. */
export const keepAddress = (path: string): void => {
  address = path
}

export const addressOf = (run: string): string | null =>
  address !== null && new URLSearchParams(address.split("?")[1]).get("run") === run ? address : null

export const keepPlace = (key: string, row: number): void => {
  place = { key, row }
}

export const placeOf = (key: string): number | null => (place?.key === key ? place.row : null)

/** The groups before (newer) and after (older) one in the list; null if it is not in the list, or at its ends. */
export const neighbours = (
  run: string,
  id: string
): { readonly newer: string | null; readonly older: string | null } => {
  const isOfRun = pages !== null && (JSON.parse(pages.list) as ReadonlyArray<unknown>)[1] === run
  const rows = isOfRun ? (pages?.rows ?? []) : []
  const at = rows.findIndex((row) => row.id === id)
  return at === -1 ? { newer: null, older: null } : { newer: rows[at - 1]?.id ?? null, older: rows[at + 1]?.id ?? null }
}
