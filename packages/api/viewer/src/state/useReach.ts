/** Whether the source answers, and a turn whenever it answers again. */
import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from "react"
import { useSource } from "./SourceContext.tsx"

export const useIsAway = (): boolean => {
  const { reach } = useSource()
  return useSyncExternalStore(reach.subscribe, reach.isAway)
}

/** Calls when the source answers again after it did not. */
export const useReturn = (onReturn: () => void): void => {
  const { reach } = useSource()
  const returns = useSyncExternalStore(reach.subscribe, reach.returns)
  const lastReturns = useRef(returns)
  const tell = useEffectEvent(onReturn)
  useEffect(() => {
    if (lastReturns.current === returns) return
    lastReturns.current = returns
    tell()
  }, [returns])
}
