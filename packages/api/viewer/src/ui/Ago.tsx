/** How long ago something was, kept true while the page is open; the exact time where it is pointed at. */
import { useSyncExternalStore } from "react"
import { ago, time } from "./Format.ts"

const everyMillis = 5000

const subscribe = (onTick: () => void): (() => void) => {
  const timer = setInterval(onTick, everyMillis)
  return () => clearInterval(timer)
}

export const Ago = ({ at }: { readonly at: number }) => (
  <time dateTime={Number.isFinite(at) ? new Date(at).toISOString() : undefined} title={time(at)}>
    {useSyncExternalStore(subscribe, () => ago(at, Date.now()))}
  </time>
)
