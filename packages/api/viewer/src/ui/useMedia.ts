import { useCallback, useSyncExternalStore } from "react"

/** Whether a media query holds. */
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

/** What `styles/layout.css` takes for a phone. */
export const phone = "(max-width: 44rem)"
