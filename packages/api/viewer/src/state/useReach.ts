/** Observes the source's reachability and recoveries. */
import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from "react"
import { useSource } from "./SourceContext.tsx"

export const useIsAway = (): boolean => {
  const { reach } = useSource()
  return useSyncExternalStore(reach.subscribe, reach.isAway)
}

export const useReturn = (onReturn: () => void): void => {
  const { reach } = useSource()
  const returns = useSyncExternalStore(reach.subscribe, reach.returns)
  const lastReturns = useRef(returns)
  const report = useEffectEvent(onReturn)
  useEffect(() => {
    if (lastReturns.current === returns) return
    lastReturns.current = returns
    report()
  }, [returns])
}
