/** Polls a value of the source while the page is visible; keeps the last one until the next arrives. */
import { useEffect } from "react"
import type { Source } from "../source/Source.ts"
import { type Remote, useRemote } from "./useRemote.ts"

export const pollMillis = 2000

export const usePolled = <A>(
  key: string | null,
  load: (source: Source, signal: AbortSignal) => Promise<A>
): Remote<A> => {
  const remote = useRemote(key, load)
  const { isLoading, reload } = remote
  useEffect(() => {
    // The pause starts with the response, so that a slow service never gets overlapping requests.
    if (key === null || isLoading) return
    const timer = setTimeout(() => {
      if (!document.hidden) reload()
    }, pollMillis)
    const show = () => {
      if (!document.hidden) reload()
    }
    document.addEventListener("visibilitychange", show)
    return () => {
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", show)
    }
  }, [key, isLoading, reload])
  return remote
}
