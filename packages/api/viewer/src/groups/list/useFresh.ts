/**
 * Polls the newest rows when the queue changes, at most every few seconds, for new groups and for changes (state, step,
 * preview) of listed ones. Continues while there are groups whose text is not searchable yet.
 */
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react"
import type * as Wire from "../../source/Wire.ts"
import { useSource } from "../../state/SourceContext.tsx"
import { useLive } from "../../state/useLive.ts"

const pauseMillis = 2000

export const freshLimit = 200

/** `key` identifies the list, null if none; `first` is its newest row. */
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
      // So many may be new that the listed ones are no longer among the newest.
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
      // The event stream reports an outage; its next event polls again.
      () => {}
    )
    return () => abort.abort()
    // `key` identifies run, query and the list, whose first row stays.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [source, looks, key, lookSoon])
}
