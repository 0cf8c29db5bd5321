/**
 * Loads a value from the source when `key` changes (null: nothing), aborts outdated requests, keeps the last value
 * while a new one loads (`isStale`) or if it fails, and can be reloaded. Loads that failed because the source was
 * unreachable are repeated when it is back.
 */
import { useCallback, useEffect, useState } from "react"
import { type Source, SourceError } from "../source/Source.ts"
import { useSession, useSource } from "./SourceContext.tsx"
import { useReturn } from "./useReach.ts"

export interface Remote<A> {
  readonly value: A | null
  readonly error: SourceError | null
  readonly isLoading: boolean
  /** True if `value` belongs to an earlier key. */
  readonly isStale: boolean
  readonly reload: () => void
}

interface Loaded<A> {
  /** Identifies the request. */
  readonly request: string
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
  const request = key === null ? null : `${epoch}:${round}:${key}`

  useEffect(() => {
    if (request === null || key === null) return
    const abort = new AbortController()
    load(source, abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setLoaded({ request, key, value, error: null })
      },
      (cause: unknown) => {
        if (abort.signal.aborted) return
        const error = cause instanceof SourceError ? cause : new SourceError("failed", String(cause))
        if (error.kind === "unauthorized") reportUnauthorized()
        // Keeps the previous value, if there is one.
        setLoaded((last) => ({ request, key, value: last?.key === key ? last.value : null, error }))
      }
    )
    return () => abort.abort()
    // `load` is a new function on every render; `key`, and so `request`, determines what it loads.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [request, source, reportUnauthorized])

  const reload = useCallback(() => setRound((round) => round + 1), [])
  const isCurrent = loaded !== null && loaded.request === request
  const isMissed = isCurrent && loaded.error?.kind === "unreachable"
  useReturn(() => {
    if (isMissed) reload()
  })
  return {
    value: request === null ? null : (loaded?.value ?? null),
    error: isCurrent ? loaded.error : null,
    isLoading: request !== null && !isCurrent,
    isStale: loaded !== null && loaded.key !== key,
    reload
  }
}
