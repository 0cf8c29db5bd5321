/**
 * Handles the reasoning block of a completion: removes, shortens, validates, reads it.
 *
 * `strip` and `truncate` follow the original's message-history helpers (atroposlib/utils/message_history_utils.py),
 * `validate` and `inside` its evaluation helpers: `<think>…</think>` in any case, else
 * `<|start_of_scratchpad|>…<|end_of_scratchpad|>`.
 */
import type { TokenizerShape } from "@atropos/core/inference/tokenizer/Tokenizer"

const open = "<think>"
const close = "</think>"

/** Removes the text between the first `<think>` and the end of the first `</think>`; unchanged unless both occur. */
export const strip = (text: string): string => {
  const start = text.indexOf(open)
  const end = text.indexOf(close)
  return start === -1 || end === -1 ? text : text.slice(0, start) + text.slice(end + close.length)
}

/**
 * Shortens the first think block to at most `maxTokens` tokens: its last paragraph if that fits, else its last tokens,
 * marked by `... `. An empty block becomes `<think></think>`; a text without a closed block is unchanged.
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
  const lastIds = paragraphIds.length <= maxTokens ? paragraphIds : ids.slice(Math.max(0, ids.length - maxTokens))
  const shortened = decode(lastIds).trim()
  return shortened === "" ? "" : `... ${shortened}`
}

const think = { opening: /<think>/gi, closing: /<\/think>/gi }
const formats = [think, { opening: /<\|start_of_scratchpad\|>/g, closing: /<\|end_of_scratchpad\|>/g }]

/**
 * Checks that there is exactly one opening and one closing tag of a kind, and returns the text after the closing one
 * (else the whole text).
 */
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

/** The contents of the first closed reasoning block. */
export const inside = (text: string): string | undefined => {
  for (const { closing, opening } of formats) {
    const opened = first(opening, text, 0)
    const closed = opened && first(closing, text, opened.to)
    if (opened && closed) return text.slice(opened.to, closed.from).trim()
  }
  return undefined
}

interface Range {
  readonly from: number
  readonly to: number
}

/** The first match of a (global) pattern from `at` on. */
const first = (pattern: RegExp, text: string, at: number): Range | undefined => {
  const own = new RegExp(pattern)
  own.lastIndex = at
  const match = own.exec(text)
  return match === null ? undefined : { from: match.index, to: match.index + match[0].length }
}

/**
 * The visible text: without think blocks, without anything after an unclosed opening tag (truncated reasoning), and
 * without anything before an unopened closing tag (the prompt opened it). Linear in the text.
 */
export const visibleText = (text: string): string => {
  const parts: Array<string> = []
  let from = 0
  let isThinking = false
  for (const { 0: tag, index } of text.matchAll(/<\/?think>/gi)) {
    const isClosing = tag.startsWith("</")
    if (!isClosing && !isThinking) parts.push(text.slice(from, index))
    // Everything before was reasoning too.
    if (isClosing && !isThinking) parts.length = 0
    isThinking = !isClosing
    from = index + tag.length
  }
  if (!isThinking) parts.push(text.slice(from))
  return parts.join("")
}

/**
 * The text after the only think block, trimmed: exactly one `<think>` followed by exactly one `</think>`, in any case.
 * Otherwise undefined if reasoning is required, else the whole text.
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

const opensAnswer = /<answer>/gi
const closesAnswer = /<\/answer>/gi

/**
 * The contents of the only `<answer>` tag outside of reasoning (`spoken`), trimmed; undefined if none, or more
 * than one.
 */
export const taggedAnswer = (text: string): string | undefined => {
  const answer = visibleText(text)
  const opened = first(opensAnswer, answer, 0)
  const closed = opened && first(closesAnswer, answer, opened.to)
  if (!opened || !closed || first(opensAnswer, answer, opened.to)) return undefined
  return answer.slice(opened.to, closed.from).trim()
}
