/** Shows the last lines that the process of the service printed, scrolled to the newest. */
import { useLayoutEffect, useRef } from "react"
import type * as Wire from "../source/Wire.ts"
import * as Format from "../ui/Format.ts"

export const ConsoleOutput = ({ lines }: Wire.ConsoleOutput) => {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    // A reader who scrolled up is left there.
    if (box.current !== null && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  if (lines.length === 0) return <p className="muted">This service's process has printed nothing.</p>
  return (
    <div
      className="console-output"
      ref={box}
      role="log"
      aria-label="Console output"
      // Scrollable with the keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 4
      }}
    >
      {lines.map(({ at, text }, index) => (
        <div key={`${at} ${index}`}>
          <time className="muted" dateTime={new Date(at).toISOString()}>
            {Format.time(at).slice(-8)}
          </time>{" "}
          {text}
        </div>
      ))}
    </div>
  )
}
