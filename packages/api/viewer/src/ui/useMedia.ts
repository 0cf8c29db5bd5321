import { useCallback, useSyncExternalStore } from "react"

export const useMedia = (query: string): boolean => {
  const subscribe = useCallback(
    (onChange: () => void) => {
      const media = window.matchMedia(query)
      media.addEventListener("change", onChange)
      return () => media.removeEventListener("change", onChange)
    },
    [query]
  )
  return useSyncExternalStore(subscribe, () => window.matchMedia(query).matches)
}

/** The breakpoint of `styles/layout.css` for phones. */
export const phone = "(max-width: 44rem)"
