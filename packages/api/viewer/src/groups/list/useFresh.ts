/**
 * Looks at the newest rows again as the queue changes, at most every few seconds: for groups that came since the list was loaded,
 * and for what became of those in it (state, step, preview). Looks on while there are groups whose text is not searched yet.
 */
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react"
import type * as Wire from "../../source/Wire.ts"
import { useSource } from "../../state/SourceContext.tsx"
import { useLive } from "../../state/useLive.ts"

const pauseMillis = 2000

/** At most so many rows are looked at. */
export const freshLimit = 200

/** `key` names the list; null while there is none. */
export const useFresh = (
  run: string,
  query: Wire.RolloutQuery,
  key: string | null,
  onRows: (rows: ReadonlyArray<Wire.RolloutRow>) => void
): void => {
  const source = useSource()
  const [looks, setLooks] = useState(0)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const lookSoon = useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      setLooks((looks) => looks + 1)
    }, pauseMillis)
  }, [])
  const receive = useEffectEvent(onRows)

  useEffect(() => () => clearTimeout(timer.current), [])
  useLive(key === null ? null : run, (source, watcher) => source.watchSummary(run, watcher), lookSoon)

  useEffect(() => {
    if (looks === 0 || key === null) return
    const abort = new AbortController()
    source.browse(run, { ...query, limit: freshLimit }, abort.signal).then(
      ({ rows, unindexed }) => {
        if (abort.signal.aborted) return
        receive(rows)
        if (unindexed !== null && unindexed > 0) lookSoon()
      },
      // The watch tells when the service is away; its next event looks again.
      () => {}
    )
    return () => abort.abort()
    // `key` stands for run and query.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [source, looks, key, lookSoon])
}
