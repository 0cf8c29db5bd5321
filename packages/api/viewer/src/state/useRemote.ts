/**
 * A value that comes from the source: loads when `key` changes (null: nothing to load), aborts what is no longer
 * wanted, keeps showing the last value while a new one is on its way (`isStale`) and where it does not come, and can be
 * asked again. What the source was not there for is loaded when it is back.
 */
import { useCallback, useEffect, useState } from "react"
import { type Source, SourceError } from "../source/Source.ts"
import { useSession, useSource } from "./SourceContext.tsx"
import { useReturn } from "./useReach.ts"

export interface Remote<A> {
  readonly value: A | null
  readonly error: SourceError | null
  readonly isLoading: boolean
  /** Whether `value` belongs to an earlier key. */
  readonly isStale: boolean
  readonly reload: () => void
}

interface Loaded<A> {
  /** What was asked for. */
  readonly wanted: string
  /** Of the value. */
  readonly key: string
  readonly value: A | null
  readonly error: SourceError | null
}

export const useRemote = <A>(
  key: string | null,
  load: (source: Source, signal: AbortSignal) => Promise<A>
): Remote<A> => {
  const source = useSource()
  const { epoch, reportUnauthorized } = useSession()
  const [round, setRound] = useState(0)
  const [loaded, setLoaded] = useState<Loaded<A> | null>(null)
  const wanted = key === null ? null : `${epoch}:${round}:${key}`

  useEffect(() => {
    if (wanted === null || key === null) return
    const abort = new AbortController()
    load(source, abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setLoaded({ wanted, key, value, error: null })
      },
      (cause: unknown) => {
        if (abort.signal.aborted) return
        const error = cause instanceof SourceError ? cause : new SourceError("failed", String(cause))
        if (error.kind === "unauthorized") reportUnauthorized()
        // The same as it last was, where it did come once.
        setLoaded((last) => ({ wanted, key, value: last?.key === key ? last.value : null, error }))
      }
    )
    return () => abort.abort()
    // `load` is a new function on every render; what it loads is said by `key`, and so by `wanted`.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [wanted, source, reportUnauthorized])

  const reload = useCallback(() => setRound((round) => round + 1), [])
  const isCurrent = loaded !== null && loaded.wanted === wanted
  const isMissed = isCurrent && loaded.error?.kind === "unreachable"
  useReturn(() => {
    if (isMissed) reload()
  })
  return {
    value: wanted === null ? null : (loaded?.value ?? null),
    error: isCurrent ? loaded.error : null,
    isLoading: wanted !== null && !isCurrent,
    isStale: loaded !== null && loaded.key !== key,
    reload
  }
}
