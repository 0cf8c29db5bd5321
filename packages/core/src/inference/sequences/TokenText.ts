/**
 * Matches texts against a session's tokens, to find the answer that a text continues: for text completions, and for
 * chats whose template rewrites earlier turns, so that only the whole prompt shows what is kept.
 */
import type { Base, PromptTokens, TokenAnswer, TokenPrompt } from "./TokenTree.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"

/** The tokens that a prompt continues, and its new text. */
export interface Continuation {
  readonly base: Base
  readonly rest: string
}

/** Matches one text; results are cached for the lifetime of the value. */
export interface TextMatch {
  /**
   * If the text begins with an answer and everything before it, what follows. `isProven`: the messages already show
   * that the answer is repeated, so matching its text without special tokens suffices, as it does between text
   * completions.
   */
  readonly after: (answer: TokenAnswer, isProven: boolean) => Continuation | undefined
  readonly is: (prompt: TokenPrompt) => boolean
}

export const make = (tokenizer: TokenizerShape, text: string): TextMatch => {
  const ends = new Map<PromptTokens, number>()

  /** End of the prompt's text within this one; -1 if it is not a prefix. */
  const endOf = (prompt: PromptTokens): number => {
    const open: Array<PromptTokens> = []
    for (let one: PromptTokens | undefined = prompt; one !== undefined && !ends.has(one);) {
      open.push(one)
      one = one.base?.answer.prompt.data
    }
    for (const one of open.toReversed()) ends.set(one, endBehind(one))
    return ends.get(prompt)!
  }
  const endBehind = (prompt: PromptTokens): number => {
    const { base, ids } = prompt
    let from = 0
    if (base !== undefined) {
      const before = ends.get(base.answer.prompt.data)!
      const words = base.isExact ? tokenizer.decode(base.answer.data.ids.subarray(0, base.kept)) : base.answer.text
      if (before === -1 || !text.startsWith(words, before)) return -1
      from = before + words.length
    }
    const piece = prompt.text ?? tokenizer.decode(ids)
    return text.startsWith(piece, from) ? from + piece.length : -1
  }

  const after = (answer: TokenAnswer, isProven: boolean): Continuation | undefined => {
    const prompt = answer.prompt.data
    const { ids, isEnded, isStopped } = answer.data
    const from = endOf(prompt)
    // A repeated prompt is a new sample, regardless of earlier ones.
    if (from === -1 || from === text.length) return undefined
    const exact = exactText(tokenizer, answer)
    if (exact !== undefined && text.startsWith(exact, from)) {
      const rest = text.slice(from + exact.length)
      return rest === "" && isEnded ? undefined : { base: { answer, kept: ids.length, isExact: true }, rest }
    }
    if (!text.startsWith(answer.text, from)) return undefined
    // Without the stop string, the text is not what the model would have read.
    if (!isProven && (prompt.isChat || isStopped || answer.text === "")) return undefined
    return behindWords(tokenizer, answer, text.slice(from + answer.text.length))
  }

  return { after, is: ({ data }) => endOf(data) === text.length }
}

/**
 * Continuation of a prompt whose text is the answer's text and then `rest`: an end token that the text repeats is not
 * duplicated, and one that the text lacks is not part of the continued turn.
 */
export const behindWords = (tokenizer: TokenizerShape, answer: TokenAnswer, rest: string): Continuation => {
  const { ids, isEnded } = answer.data
  if (isEnded && rest === "") return { base: { answer, kept: ids.length - 1, isExact: false }, rest }
  const end = isEnded ? tokenizer.decode(ids.subarray(-1)) : ""
  return end !== "" && rest.startsWith(end)
    ? { base: { answer, kept: ids.length, isExact: true }, rest: rest.slice(end.length) }
    : { base: { answer, kept: ids.length, isExact: false }, rest }
}

/** All tokens of an answer as text; undefined if its end token has no text and would be hidden. */
const exactText = ({ decode }: TokenizerShape, { data: { ids, isEnded } }: TokenAnswer): string | undefined =>
  isEnded && decode(ids.subarray(-1)) === "" ? undefined : decode(ids)

export const promptText = (tokenizer: TokenizerShape, prompt: PromptTokens): string => {
  const parts: Array<string> = []
  for (let one: PromptTokens | undefined = prompt; one !== undefined; one = one.base?.answer.prompt.data) {
    parts.push(one.text ?? tokenizer.decode(one.ids))
    if (one.base !== undefined) {
      const { answer, isExact, kept } = one.base
      parts.push(isExact ? tokenizer.decode(answer.data.ids.subarray(0, kept)) : answer.text)
    }
  }
  return parts.toReversed().join("")
}

/** Copies a text: a substring would keep the whole original in memory. */
export const own = (text: string): string => {
  const encoding = text.isWellFormed() ? "utf8" : "utf16le"
  return Buffer.from(text, encoding).toString(encoding)
}
