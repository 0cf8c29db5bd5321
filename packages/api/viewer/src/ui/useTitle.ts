import { useEffect } from "react"
import { useSource } from "../state/SourceContext.tsx"

/** Sets the page's title in the browser's tab and history. */
export const useTitle = (...parts: ReadonlyArray<string>): void => {
  const { title } = useSource()
  const text = [...parts, title ?? "", "Atropos"].filter((part) => part !== "").join(" · ")
  useEffect(() => {
    document.title = text
  }, [text])
}
