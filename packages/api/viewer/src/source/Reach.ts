/**
 * Tracks the reachability of the source for all pages. Every request reports its outcome. After one without a response
 * the source is away, and is pinged with growing pauses until it responds; then subscribers reload. There are no pings
 * without listeners or while the page is hidden.
 */
export interface Reach {
  readonly isAway: () => boolean
  readonly returns: () => number
  /** Notifies of both. */
  readonly subscribe: (listener: () => void) => () => void
  readonly report: (answers: boolean) => void
  readonly ask: () => void
}

const firstPauseMillis = 1000
const maxPauseMillis = 10_000

const isHidden = (): boolean => typeof document !== "undefined" && document.hidden

/** `ping` sends a small request, which reports its outcome like all others. */
export const make = (ping: () => Promise<unknown>): Reach => {
  const listeners = new Set<() => void>()
  let isAway = false
  let returns = 0
  let pause = firstPauseMillis
  let timer: ReturnType<typeof setTimeout> | undefined

  const later = () => {
    clearTimeout(timer)
    timer = undefined
    if (!isAway || listeners.size === 0) return
    timer = setTimeout(ask, pause * (0.75 + Math.random() / 4))
    pause = Math.min(maxPauseMillis, pause * 1.5)
  }
  const ask = () => {
    if (isHidden()) later()
    else void ping().then(later, later)
  }
  return {
    isAway: () => isAway,
    returns: () => returns,
    subscribe: (listener) => {
      listeners.add(listener)
      if (timer === undefined) later()
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) later()
      }
    },
    report: (answers) => {
      if (answers !== isAway) return
      isAway = !answers
      if (answers) returns++
      pause = firstPauseMillis
      later()
      for (const listener of listeners) listener()
    },
    ask
  }
}

export const always: Reach = {
  isAway: () => false,
  returns: () => 0,
  subscribe: () => () => {},
  report: () => {},
  ask: () => {}
}
