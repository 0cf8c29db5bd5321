/**
 * The connections that streams may hold. A browser has six to a service that speaks HTTP/1.1, for all tabs together:
 * where streams take them all, no tab gets anything more, and another one does not even open.
 *
 * So four streams at most are held at once, over all tabs; without locks, which browsers give to secure pages only, two
 * by each tab. Who gets no place asks again and again instead. Hidden tabs hold none.
 */

/** Gives the place back. */
export type Release = () => void

const places = 4
const placesOfTab = 2
let held = 0

/** A place, if there is one. */
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
    // Held until its promise is kept, or the tab is closed.
    const until = (lock: Lock | null): Promise<void> | null => {
      if (lock !== null) return new Promise((release) => resolve(release))
      resolve(null)
      return null
    }
    locks.request(name, { ifAvailable: true }, until).catch(() => resolve(null))
  })

const isHidden = (): boolean => typeof document !== "undefined" && document.hidden

/** Waits until the tab is looked at. */
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

/** Aborts with the signal, and when the tab is hidden; `end` lets go of both. */
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
