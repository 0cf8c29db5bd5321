/**
 * Loads the rows of a run that match a filter, page by page on demand. While a new filter's first page loads, the old
 * rows remain (`isStale`). Loaded rows are remembered while the viewer is open, so that returning from a group restores
 * the list. New groups are counted rather than inserted.
 */
import { useCallback, useEffect, useState } from "react"
import { SourceError } from "../../source/Source.ts"
import type * as Wire from "../../source/Wire.ts"
import { useSession, useSource } from "../../state/SourceContext.tsx"
import { useReturn } from "../../state/useReach.ts"
import * as Remembered from "./Remembered.ts"
import { freshLimit, useFresh } from "./useFresh.ts"

const firstPage = 200
const maxPage = 1000
const readAgainMillis = 2000

export interface Rollouts {
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  /** Number of matches; null while unknown. */
  readonly total: number | null
  /** Groups of the run whose text is not searchable yet. */
  readonly unindexed: number
  readonly error: SourceError | null
  readonly isLoading: boolean
  readonly isStale: boolean
  /** Newer matching groups; a lower bound if `freshIsMore`. */
  readonly fresh: number
  readonly freshIsMore: boolean
  /** Counts reloads. */
  readonly round: number
  readonly want: (rows: number) => void
  readonly reload: () => void
}

export const useRollouts = (run: string, query: Wire.RolloutQuery): Rollouts => {
  const source = useSource()
  const { epoch, reportUnauthorized } = useSession()
  const list = JSON.stringify([epoch, run, query])
  const [pages, setPages] = useState(() => Remembered.find(list))
  const [round, setRound] = useState(pages?.round ?? 0)
  const [error, setError] = useState<{ readonly key: string; readonly error: SourceError } | null>(null)
  const [request, setRequest] = useState({ key: "", rows: firstPage })
  const [fresh, setFresh] = useState({ key: "", count: 0 })

  const key = `${round}:${list}`
  const isCurrent = pages !== null && pages.list === list && pages.round === round
  const loaded = isCurrent ? pages.rows.length : 0
  const next = isCurrent ? pages.next : null
  const requestedRows = request.key === key ? request.rows : firstPage
  const needsPage = !isCurrent || (next !== null && requestedRows > loaded)
  const hasFailed = error?.key === key

  useEffect(() => {
    if (!needsPage || hasFailed) return
    const abort = new AbortController()
    const more = Math.min(maxPage, Math.max(firstPage, requestedRows - loaded + firstPage))
    const page = next === null ? { limit: firstPage } : { limit: more, before: next }
    source.browse(run, { ...query, ...page }, abort.signal).then(
      ({ next, rows, total, unindexed }) => {
        if (abort.signal.aborted) return
        setPages((pages) => {
          const all: Remembered.Pages =
            loaded === 0 || pages === null
              ? { list, round, rows, next, total, unindexed: unindexed ?? 0 }
              : { ...pages, rows: [...pages.rows, ...without(rows, pages.rows)], next }
          Remembered.keep(all)
          return all
        })
      },
      (cause: unknown) => {
        if (abort.signal.aborted) return
        const error = cause instanceof SourceError ? cause : new SourceError("failed", String(cause))
        if (error.kind === "unauthorized") reportUnauthorized()
        setError({ key, error })
      }
    )
    return () => abort.abort()
    // The number of requested rows only sizes the page: scrolling must not abort a pending request.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [source, key, loaded, needsPage, hasFailed])

  useReturn(() => {
    if (hasFailed && error.error.kind === "unreachable") setError(null)
  })

  // Groups not read yet cannot be sorted by their content.
  const isIncomplete = isCurrent && query.sort !== undefined && pages.unindexed > 0
  useEffect(() => {
    if (!isIncomplete) return
    const timer = setTimeout(() => setRound((round) => round + 1), readAgainMillis)
    return () => clearTimeout(timer)
  }, [isIncomplete, round])

  // In other orders, newer groups are not at the beginning.
  useFresh(run, query, isCurrent && query.sort === undefined ? key : null, pages?.rows[0]?.id ?? null, (rows) => {
    if (pages === null) return
    const newest = BigInt(pages.rows[0]?.id ?? "0")
    const count = rows.filter(({ id }) => BigInt(id) > newest).length
    setFresh({ key, count })
    if (pages.rows.length === 0 && count > 0) return setRound((round) => round + 1)
    const now = new Map(rows.map((row) => [row.id, row]))
    const renewed = { ...pages, rows: pages.rows.map((row) => renew(row, now.get(row.id))) }
    if (renewed.rows.some((row, at) => row !== pages.rows[at])) {
      Remembered.keep(renewed)
      setPages(renewed)
    }
  })

  return {
    rows: pages?.rows ?? [],
    total: pages?.total ?? null,
    unindexed: pages?.unindexed ?? 0,
    // Outages are shown by the page's banner instead.
    error: hasFailed && !(error.error.kind === "unreachable" && pages?.list === list) ? error.error : null,
    isLoading: pages === null && !hasFailed,
    isStale: pages !== null && !isCurrent && !hasFailed,
    fresh: fresh.key === key ? fresh.count : 0,
    freshIsMore: fresh.count === freshLimit,
    round,
    want: useCallback((rows: number) => setRequest({ key, rows }), [key]),
    reload: useCallback(() => setRound((round) => round + 1), [])
  }
}

/** Returns the same object if unchanged, to avoid re-rendering. */
const renew = (row: Wire.RolloutRow, now: Wire.RolloutRow | undefined): Wire.RolloutRow =>
  now === undefined || (now.state === row.state && now.step === row.step && now.preview === row.preview) ? row : now

/** Removes duplicates: rows shift when others are added before them. */
const without = (
  rows: ReadonlyArray<Wire.RolloutRow>,
  seen: ReadonlyArray<Wire.RolloutRow>
): ReadonlyArray<Wire.RolloutRow> => {
  const ids = new Set(seen.map(({ id }) => id))
  return rows.filter(({ id }) => !ids.has(id))
}
