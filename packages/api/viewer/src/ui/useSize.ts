import { useEffect, useState } from "react"

/** A size of an element, updated on changes; 0 before it is known. */
const useSize = (element: HTMLElement | null, size: "clientWidth" | "offsetHeight"): number => {
  const [value, setValue] = useState(0)
  useEffect(() => {
    if (element === null) return
    const observer = new ResizeObserver(() => setValue(element[size]))
    observer.observe(element)
    return () => observer.disconnect()
  }, [element, size])
  return value
}

/** The inner width of an element, without its scroll bar. */
export const useWidth = (element: HTMLElement | null): number => useSize(element, "clientWidth")

export const useHeight = (element: HTMLElement | null): number => useSize(element, "offsetHeight")
