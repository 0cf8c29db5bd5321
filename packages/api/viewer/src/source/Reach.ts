/**
 * Whether the source answers: one word for all pages.
 *
 * Every request tells how it fared. Once one got no answer the source is away, and it is asked again and again, with
 * growing pauses, until it answers; then whoever waits for it (`subscribe`) loads what it could not. Nobody asks while
 * nobody listens or looks.
 */
export interface Reach {
  readonly isAway: () => boolean
  /** How often it came back. */
  readonly returns: () => number
  /** Of both. */
  readonly subscribe: (listener: () => void) => () => void
  readonly tell: (answers: boolean) => void
  /** Asks now. */
  readonly ask: () => void
}

const firstPauseMillis = 1000
const longestPauseMillis = 10_000

const isHidden = (): boolean => typeof document !== "undefined" && document.hidden

/** `ping` sends a small request, which tells how it fared like all others. */
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
    pause = Math.min(longestPauseMillis, pause * 1.5)
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
    tell: (answers) => {
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

/** That of a source that is always there. */
export const always: Reach = {
  isAway: () => false,
  returns: () => 0,
  subscribe: () => () => {},
  tell: () => {},
  ask: () => {}
}
