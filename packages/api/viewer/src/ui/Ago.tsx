/** Shows the time since an event, updated while the page is open, with the exact time in the tooltip. */
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
