/**
 * The reasoning block of a completion: taking it out, shortening it, checking it, reading it.
 *
 * `strip` and `truncate` follow the original's message-history helpers (atroposlib/utils/message_history_utils.py), `validate` and
 * `inside` its evaluation helpers: `<think>…</think>` in any case, else `<|start_of_scratchpad|>…<|end_of_scratchpad|>`.
 */
import type { TokenizerShape } from "./Tokenizer.ts"

const open = "<think>"
const close = "</think>"

/** The text without what stands between the first `<think>` and the end of the first `</think>`; unchanged unless both occur. */
export const strip = (text: string): string => {
  const start = text.indexOf(open)
  const end = text.indexOf(close)
  return start === -1 || end === -1 ? text : text.slice(0, start) + text.slice(end + close.length)
}

/**
 * Shortens the first think block to at most `maxTokens` tokens: its last paragraph where that fits, else its last tokens, marked by
 * `... `. An empty block becomes `<think></think>`; a text without a closed block is left alone.
 */
export const truncate = (text: string, tokenizer: TokenizerShape, maxTokens: number): string => {
  const start = text.indexOf(open)
  const end = text.indexOf(close)
  if (start === -1 || end < start) return text
  const before = text.slice(0, start + open.length)
  const after = text.slice(end)
  const content = shorten(text.slice(start + open.length, end).trim(), tokenizer, maxTokens)
  return before + (content === "" ? "" : `\n${content}\n`) + after
}

const shorten = (content: string, tokenizer: TokenizerShape, maxTokens: number): string => {
  const encode = (part: string): ReadonlyArray<number> => tokenizer.encode(part, { addSpecialTokens: false })
  const decode = (ids: ReadonlyArray<number>): string => tokenizer.decode(ids, { skipSpecialTokens: true })
  if (content === "") return ""
  const ids = encode(content)
  if (ids.length <= maxTokens) {
    const whole = decode(ids).trim()
    return whole === "..." ? "" : whole
  }
  const lastParagraph =
    content
      .split("\n\n")
      .findLast((paragraph) => paragraph.trim() !== "")
      ?.trim() ?? content
  const paragraphIds = lastParagraph.length < content.length ? encode(lastParagraph) : ids
  const kept = paragraphIds.length <= maxTokens ? paragraphIds : ids.slice(Math.max(0, ids.length - maxTokens))
  const shortened = decode(kept).trim()
  return shortened === "" ? "" : `... ${shortened}`
}

const think = { opening: /<think>/gi, closing: /<\/think>/gi, inside: /<think>(.*?)<\/think>/is }
const formats = [
  think,
  {
    opening: /<\|start_of_scratchpad\|>/g,
    closing: /<\|end_of_scratchpad\|>/g,
    inside: /<\|start_of_scratchpad\|>(.*?)<\|end_of_scratchpad\|>/s
  }
]

/** Whether there is exactly one opening and one closing tag of a kind, and what stands after the closing one (else the whole text). */
export const validate = (text: string): { readonly isValid: boolean; readonly content: string } => {
  for (const { closing, opening } of formats) {
    const closings = [...text.matchAll(closing)]
    const [only] = closings
    if (only !== undefined && closings.length === 1 && [...text.matchAll(opening)].length === 1) {
      return { isValid: true, content: text.slice(only.index + only[0].length).trim() }
    }
  }
  return { isValid: false, content: text }
}

/** What stands in the first closed reasoning block. */
export const inside = (text: string): string | undefined => {
  for (const format of formats) {
    const match = format.inside.exec(text)
    if (match !== null) return match[1]?.trim()
  }
  return undefined
}

/**
 * What stands after the only think block, trimmed: exactly one `<think>` and after it exactly one `</think>`, in any case. Otherwise there is
 * no answer where thinking is required, and the text is the answer where it is not.
 */
export const answer = (text: string, isRequired = true): string | undefined => {
  const after = afterOnlyBlock(text)
  return after === undefined && !isRequired ? text : after
}

const afterOnlyBlock = (text: string): string | undefined => {
  const [opened, ...moreOpened] = text.matchAll(think.opening)
  const [closed, ...moreClosed] = text.matchAll(think.closing)
  if (opened === undefined || closed === undefined || moreOpened.length > 0 || moreClosed.length > 0) return undefined
  return opened.index < closed.index ? text.slice(closed.index + closed[0].length).trim() : undefined
}

/** What stands in the only `<answer>` tag after the first think block, trimmed; undefined where there is none, or more than one. */
export const taggedAnswer = (text: string): string | undefined => {
  const found = Array.from(strip(text).matchAll(/<answer>([\s\S]*?)<\/answer>/gi))
  return found.length === 1 ? found[0]![1]!.trim() : undefined
}
