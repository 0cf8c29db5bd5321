/**
 * The texts of a session's tokens, and which of its answers a text goes on from: for text completions, and for chats
 * whose template writes earlier turns otherwise once more follows, so that only the whole prompt shows what is kept.
 */
import type { Base, PromptTokens, TokenAnswer, TokenPrompt } from "./TokenTree.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"

/** What a prompt continues, and the text that is new in it. */
export interface Continuation {
  readonly base: Base
  readonly rest: string
}

/** Looks a text up; what was found out about it is kept as long as the value lives. */
export interface TextMatch {
  /**
   * Where an answer and all before it begin the text, what is left of it. `isProven`: the messages say that the answer
   * is repeated, so that words without special tokens are enough, as they are where both are text completions.
   */
  readonly after: (answer: TokenAnswer, isProven: boolean) => Continuation | undefined
  /** Whether the text is that of a prompt. */
  readonly is: (prompt: TokenPrompt) => boolean
}

export const make = (tokenizer: TokenizerShape, text: string): TextMatch => {
  const ends = new Map<PromptTokens, number>()

  /** Where the text of a prompt ends in this one; -1 where it is another. */
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
    // The same prompt again is a new sample, whatever was sampled before.
    if (from === -1 || from === text.length) return undefined
    const exact = exactText(tokenizer, answer)
    if (exact !== undefined && text.startsWith(exact, from)) {
      const rest = text.slice(from + exact.length)
      return rest === "" && isEnded ? undefined : { base: { answer, kept: ids.length, isExact: true }, rest }
    }
    if (!text.startsWith(answer.text, from)) return undefined
    // A text that goes on without the stop string is not what the model would read.
    if (!isProven && (prompt.isChat || isStopped || answer.text === "")) return undefined
    return behindWords(tokenizer, answer, text.slice(from + answer.text.length))
  }

  return { after, is: ({ data }) => endOf(data) === text.length }
}

/**
 * How a prompt goes on whose text is the answer's words and then `rest`: an end token that the text writes again is not
 * repeated, and one that the text does not write is not part of the turn that goes on.
 */
export const behindWords = (tokenizer: TokenizerShape, answer: TokenAnswer, rest: string): Continuation => {
  const { ids, isEnded } = answer.data
  if (isEnded && rest === "") return { base: { answer, kept: ids.length - 1, isExact: false }, rest }
  const end = isEnded ? tokenizer.decode(ids.subarray(-1)) : ""
  return end !== "" && rest.startsWith(end)
    ? { base: { answer, kept: ids.length, isExact: true }, rest: rest.slice(end.length) }
    : { base: { answer, kept: ids.length, isExact: false }, rest }
}

/** All tokens of an answer as text; absent where its end token has no text, so that the text would hide it. */
const exactText = ({ decode }: TokenizerShape, { data: { ids, isEnded } }: TokenAnswer): string | undefined =>
  isEnded && decode(ids.subarray(-1)) === "" ? undefined : decode(ids)

/** The text of a whole prompt. */
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

/** A text of its own: a part of a longer one would keep all of that. */
export const own = (text: string): string => {
  const encoding = text.isWellFormed() ? "utf8" : "utf16le"
  return Buffer.from(text, encoding).toString(encoding)
}
