/**
 * Calls whose arguments stand between tags of their own, as text that is escaped nowhere: a value ends at the tag that
 * closes it and is followed by what may follow a value, so that other text may hold the tag.
 */
import * as CallJson from "./CallJson.ts"

/** Where the value that begins at `from` ends: before `close`, with one of `next` behind it. Linear in the text. */
export const endOfValue = (
  text: string,
  from: number,
  close: string,
  next: ReadonlyArray<string>
): { readonly end: number; readonly next: number } | undefined => {
  for (let at = text.indexOf(close, from); at !== -1; at = text.indexOf(close, at + close.length)) {
    const behind = CallJson.skipBlanks(text, at + close.length)
    if (next.some((one) => text.startsWith(one, behind))) return { end: at, next: behind }
  }
  return undefined
}

/** The text without the one line break that a tag has on its inside. */
export const withoutBreaks = (text: string): string => {
  const start = text.startsWith("\n") ? 1 : 0
  return text.slice(start, text.endsWith("\n") && text.length > start ? -1 : undefined)
}
