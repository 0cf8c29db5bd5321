/** Handles lines, common to both kinds of interpreters. */
import type { Ended } from "./Interpreter.ts"

/** Bytes a program may send to its judge in one run. */
export const maxTrafficBytes = 16 * 2 ** 20

/** Calls back with every complete line of chunked input. */
export const inLines = (onLine: (line: string) => void) => {
  const decoder = new TextDecoder()
  let rest = ""
  return (bytes: Uint8Array): void => {
    const [first = "", ...more] = decoder.decode(bytes, { stream: true }).split("\n")
    rest += first
    for (const line of more) {
      onLine(rest)
      rest = line
    }
  }
}

/** The message to a judge about an ended program. */
export const whyEnded = (ended: Ended): string => {
  if (ended.ending === "exited") return `the program exited with code ${ended.exitCode}`
  return "why" in ended ? `the program crashed: ${ended.why}` : `the program ended: ${ended.ending}`
}
