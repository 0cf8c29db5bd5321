/** Debounces typed text; follows external changes of its value. */
import { useEffect, useRef, useState } from "react"

const pauseMillis = 120

export const useTyped = (
  text: string,
  onChange: (text: string) => void
): readonly [typed: string, type: (text: string) => void] => {
  const [typed, setTyped] = useState(text)
  const sent = useRef(text)
  useEffect(() => {
    // The address changed by other means: back, a link, “clear”.
    if (text !== sent.current) {
      sent.current = text
      setTyped(text)
    }
  }, [text])
  useEffect(() => {
    if (typed === sent.current) return
    const timer = setTimeout(() => {
      sent.current = typed
      onChange(typed)
    }, pauseMillis)
    return () => clearTimeout(timer)
    // `onChange` is new on every render.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [typed])
  return [typed, setTyped]
}
