/** Loads the rows of a run's groups, at most the newest ones, page by page, with an update after each. */
import { useEffect, useState } from "react"
import { SourceError } from "../source/Source.ts"
import type * as Wire from "../source/Wire.ts"
import { useSession, useSource } from "../state/SourceContext.tsx"

/** Max groups, the newest ones. */
export const mostRows = 10_000
const pageRows = 1000

export interface GroupRows {
  /** Newest first. */
  readonly rows: ReadonlyArray<Wire.RolloutRow>
  readonly total: number
  readonly unindexed: number
  readonly isDone: boolean
  readonly error: SourceError | null
}

const nothing: GroupRows = { rows: [], total: 0, unindexed: 0, isDone: false, error: null }

export const useGroupRows = (run: string): GroupRows & { readonly reload: () => void } => {
  const source = useSource()
  const { epoch, reportUnauthorized } = useSession()
  const [round, setRound] = useState(0)
  const key = JSON.stringify([run, epoch, round])
  const [loaded, setLoaded] = useState({ key, value: nothing })

  useEffect(() => {
    const abort = new AbortController()
    const tell = (value: GroupRows) => {
      if (!abort.signal.aborted) setLoaded({ key, value })
    }
    const load = async () => {
      const rows: Array<Wire.RolloutRow> = []
      let [before, total, unindexed] = [undefined as string | undefined, 0, 0]
      do {
        const query = { newest_run: "true" as const, limit: pageRows, ...(before !== undefined && { before }) }
        const page = await source.browse(run, query, abort.signal)
        rows.push(...page.rows)
        total = page.total ?? total
        unindexed = page.unindexed ?? unindexed
        before = page.next ?? undefined
        const isDone = before === undefined || rows.length >= mostRows
        tell({ rows: [...rows], total, unindexed, isDone, error: null })
      } while (before !== undefined && rows.length < mostRows)
    }
    load().catch((cause: unknown) => {
      if (abort.signal.aborted) return
      const error = cause instanceof SourceError ? cause : new SourceError("failed", String(cause))
      if (error.kind === "unauthorized") reportUnauthorized()
      tell({ ...nothing, isDone: true, error })
    })
    return () => abort.abort()
  }, [source, run, key, reportUnauthorized])

  const value = loaded.key === key ? loaded.value : nothing
  return { ...value, reload: () => setRound((round) => round + 1) }
}
