/** Reads consecutive calls between two markers around all of them (DeepSeek, Kimi K2). */
import * as CallJson from "./CallJson.ts"
import type { ReadCall } from "./OutputFormat.ts"

export interface Marks {
  readonly allOpen: string
  readonly allClose: string
  /** Begins a call. */
  readonly open: string
  /** True if the text may end without `allClose`: some models write the end token instead. */
  readonly mayEndOpen: boolean
}

/**
 * The calls, and where they begin in the text; undefined if there is no section, or if a call is invalid. `readCall`
 * gets the index after a call's `open`.
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
