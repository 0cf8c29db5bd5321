/**
 * Reads calls whose arguments are in separate tags, unescaped: a value ends at a closing tag that is followed by
 * something that may follow a value, so the text itself may contain the tag.
 */
import * as CallJson from "./CallJson.ts"

/** End of the value that begins at `from`: before a `close` that is followed by one of `next`. Linear in the text. */
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

/** Removes the one line break that a tag has on its inside. */
export const withoutBreaks = (text: string): string => {
  const start = text.startsWith("\n") ? 1 : 0
  return text.slice(start, text.endsWith("\n") && text.length > start ? -1 : undefined)
}
