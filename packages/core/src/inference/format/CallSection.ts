/** Reads calls that a model writes one after the other between two marks around them all (DeepSeek, Kimi K2). */
import * as CallJson from "./CallJson.ts"
import type { ReadCall } from "./OutputFormat.ts"

export interface Marks {
  readonly allOpen: string
  readonly allClose: string
  /** Begins a call. */
  readonly open: string
  /** Whether the text may end without `allClose`: some models write the end token instead. */
  readonly mayEndOpen: boolean
}

/**
 * The calls, and where they begin in the text; undefined if no section begins, or if a call cannot be read.
 * `readCall` gets
 * the place behind a call's `open`.
 */
export const read = (
  text: string,
  { allClose, allOpen, mayEndOpen, open }: Marks,
  readCall: (text: string, at: number) => { readonly call: ReadCall; readonly end: number } | undefined
): { readonly at: number; readonly calls: ReadonlyArray<ReadCall> } | undefined => {
  const first = text.indexOf(allOpen)
  if (first === -1) return undefined
  const calls: Array<ReadCall> = []
  for (let at = CallJson.skipBlanks(text, first + allOpen.length); !text.startsWith(allClose, at);) {
    const one = text.startsWith(open, at) ? readCall(text, at + open.length) : undefined
    if (one === undefined) return undefined
    calls.push(one.call)
    at = CallJson.skipBlanks(text, one.end)
    if (mayEndOpen && at === text.length) break
  }
  return { at: first, calls }
}
