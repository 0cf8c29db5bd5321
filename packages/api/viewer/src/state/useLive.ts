/**
 * Follows a stream of server-sent events while the page is open: `start` opens one of the source's watches, and `key`
 * identifies it (null: none). Returns its state; `static` if there is nothing to follow.
 *
 *     const watch = (source, watcher: Watcher<Wire.QueueSummary>) => source.watchSummary(run, watcher)
 *     const live = useLive(run, watch, setSummary)
 */
import { useEffect, useEffectEvent, useState } from "react"
import type { Source, SourceError, Unwatch, Watcher, WatchState } from "../source/Source.ts"
import { useSession, useSource } from "./SourceContext.tsx"

export interface Live {
  readonly state: WatchState | "static"
  readonly problem: SourceError | null
}

export const useLive = <A>(
  key: string | null,
  start: (source: Source, watcher: Watcher<A>) => Unwatch,
  onEvent: (event: A) => void
): Live => {
  const source = useSource()
  const { epoch, reportUnauthorized } = useSession()
  const [live, setLive] = useState<Live>({ state: "connecting", problem: null })
  const begin = useEffectEvent((watcher: Watcher<A>) => start(source, watcher))
  const receive = useEffectEvent(onEvent)
  const isFollowed = source.isLive && key !== null

  useEffect(() => {
    if (!isFollowed) return
    return begin({
      onEvent: (event) => receive(event),
      onState: (state, problem) => {
        if (problem?.kind === "unauthorized") reportUnauthorized()
        setLive({ state, problem })
      }
    })
  }, [isFollowed, key, epoch, reportUnauthorized])

  return isFollowed ? live : { state: "static", problem: null }
}
