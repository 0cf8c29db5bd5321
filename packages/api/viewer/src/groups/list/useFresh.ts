/**
 * Looks at the newest rows again as the queue changes, at most every few seconds: for groups that came since the list
 * was loaded, and for what became of those in it (state, step, preview). Looks on while there are groups whose text is
 * not searched yet.
 */
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react"
import type * as Wire from "../../source/Wire.ts"
import { useSource } from "../../state/SourceContext.tsx"
import { useLive } from "../../state/useLive.ts"

const pauseMillis = 2000

/** At most so many rows are looked at. */
export const freshLimit = 200

/** `key` names the list, null while there is none; `first` is its newest row. */
export const useFresh = (
  run: string,
  query: Wire.RolloutQuery,
  key: string | null,
  first: string | null,
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
    const ask = (before?: string) =>
      source.browse(run, { ...query, ...(before !== undefined && { before }), limit: freshLimit }, abort.signal)
    const look = async () => {
      const { rows, unindexed } = await ask()
      // So much may have come that those in the list are no longer among the newest.
      const last = rows.at(-1)?.id
      const isBeyond = first !== null && last !== undefined && BigInt(last) > BigInt(first)
      const listed = isBeyond ? (await ask(String(BigInt(first) + 1n))).rows : []
      return { rows: [...rows, ...listed], unindexed }
    }
    look().then(
      ({ rows, unindexed }) => {
        if (abort.signal.aborted) return
        receive(rows)
        if (unindexed !== null && unindexed > 0) lookSoon()
      },
      // The watch tells when the service is away; its next event looks again.
      () => {}
    )
    return () => abort.abort()
    // `key` stands for run, query and the list, whose first row stays.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [source, looks, key, lookSoon])
}
