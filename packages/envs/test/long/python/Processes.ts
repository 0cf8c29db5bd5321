/** Processes that carry a mark among their variables, wherever they stand (Linux). */
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import * as Waits from "../../../../core/test/base/Waits.ts"

export const canLook = process.platform === "linux"

const read = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    // It has ended meanwhile.
    return ""
  }
}

export interface Marked {
  readonly pid: number
  readonly command: string
}

/** Those that run, and are no zombies. */
export const marked = (mark: string): ReadonlyArray<Marked> =>
  readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || !read(`/proc/${name}/environ`).includes(mark)) return []
    const command = read(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim()
    return command === "" ? [] : [{ pid: Number(name), command }]
  })

/** Waits until none is left. */
export const gone = (mark: string) =>
  Waits.until(
    "the end of processes",
    Effect.sync(() => marked(mark)),
    ({ length }) => length === 0
  )
