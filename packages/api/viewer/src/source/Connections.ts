/**
 * Limits the connections held by streams. A browser has six per HTTP/1.1 service for all tabs together: if streams took
 * them all, no tab could load anything. So at most four streams are held over all tabs; without the Web Locks API,
 * which is limited to secure contexts, two per tab. Others poll instead. Hidden tabs hold none.
 */

export type Release = () => void

const places = 4
const placesOfTab = 2
let held = 0

/** A slot, if one is free. */
export const take = async (): Promise<Release | null> => {
  const locks = globalThis.navigator?.locks
  if (locks === undefined) {
    if (held >= placesOfTab) return null
    held++
    return () => {
      held--
    }
  }
  for (let place = 0; place < places; place++) {
    const release = await lock(locks, `atropos-stream-${place}`)
    if (release !== null) return release
  }
  return null
}

const lock = (locks: LockManager, name: string): Promise<Release | null> =>
  new Promise((resolve) => {
    // Held until its promise resolves, or the tab is closed.
    const until = (lock: Lock | null): Promise<void> | null => {
      if (lock !== null) return new Promise((release) => resolve(release))
      resolve(null)
      return null
    }
    locks.request(name, { ifAvailable: true }, until).catch(() => resolve(null))
  })

const isHidden = (): boolean => typeof document !== "undefined" && document.hidden

export const shown = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (!isHidden() || signal.aborted) return resolve()
    const look = () => {
      if (isHidden() && !signal.aborted) return
      document.removeEventListener("visibilitychange", look)
      signal.removeEventListener("abort", look)
      resolve()
    }
    document.addEventListener("visibilitychange", look)
    signal.addEventListener("abort", look)
  })

/** Aborts with the signal, and when the tab is hidden; `end` removes both listeners. */
export const whileShown = (signal: AbortSignal): { readonly signal: AbortSignal; readonly end: () => void } => {
  const abort = new AbortController()
  const look = () => {
    if (isHidden() || signal.aborted) abort.abort()
  }
  globalThis.document?.addEventListener("visibilitychange", look)
  signal.addEventListener("abort", look)
  look()
  return {
    signal: abort.signal,
    end: () => {
      globalThis.document?.removeEventListener("visibilitychange", look)
      signal.removeEventListener("abort", look)
    }
  }
}
