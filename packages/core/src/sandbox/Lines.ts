/** What both kinds of interpreters have to do with the lines between them. */
import type { Ended } from "./Interpreter.ts"

/** Bytes a program may send to its judge in one run. */
export const maxTrafficBytes = 16 * 2 ** 20

/** Calls back with every whole line of what comes in pieces. */
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

/** What a judge is told of a program that is no more. */
export const whyEnded = (ended: Ended): string => {
  if (ended.ending === "exited") return `the program exited with code ${ended.exitCode}`
  return "why" in ended ? `the program crashed: ${ended.why}` : `the program ended: ${ended.ending}`
}
