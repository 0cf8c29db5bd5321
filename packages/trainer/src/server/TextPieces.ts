/**
 * Text of tokens as they come, one at a time: characters whose bytes are spread over several tokens wait until they are
 * whole.
 *
 * The pieces joined are the text of all tokens, for tokenizers that decode a text from left to right (byte-level ones
 * do). Only a window of the last tokens is decoded again for each: the tokens since the text was last whole, and those
 * of the piece before, on which some tokenizers' blanks depend.
 */
import type { Tokenizer } from "@atropos/core"

export interface TextPieces {
  /** What a token adds to the text; empty while a character is incomplete. */
  readonly feed: (token: number) => string
  /** What is left when no more tokens come: an incomplete character, as U+FFFD. */
  readonly rest: () => string
}

export interface Options {
  /** Leaves out tokens such as the end of the sequence. Default: yes. */
  readonly skipSpecialTokens?: boolean
}

/** What decoders write for bytes that are no character, or not yet. */
const incomplete = "\u{FFFD}"
const longestCharacterBytes = 4

/**
 * How much of the end may still become something else. Some decoders write one U+FFFD for all bytes of a beginning,
 * some one for each.
 */
const pending = (text: string, tokens: number): number => {
  if (!text.endsWith(incomplete)) return 0
  if (tokens >= longestCharacterBytes) return 1
  let count = 1
  while (text[text.length - 1 - count] === incomplete) count++
  return count
}

export const make = (tokenizer: Tokenizer.TokenizerShape, { skipSpecialTokens = true }: Options = {}): TextPieces => {
  const decode = (tokens: ReadonlyArray<number>): string => tokenizer.decode(tokens, { skipSpecialTokens })
  let window: Array<number> = []
  /** Tokens of the window that were there when its text last grew and was whole. */
  let settled = 0
  /** Tokens of the window that were there when its text was last whole. */
  let whole = 0
  /** Characters of the window's text that `feed` has returned. */
  let shown = 0
  const feed = (token: number): string => {
    window.push(token)
    const text = decode(window)
    const piece = text.slice(shown, text.length - pending(text, window.length - whole))
    shown += piece.length
    if (text.endsWith(incomplete)) return piece
    // A token without text stays: what follows would begin a text of its own without it.
    if (piece !== "") {
      window = window.slice(settled)
      settled = window.length
      shown = decode(window).length
    }
    whole = window.length
    return piece
  }
  const rest = (): string => {
    const piece = decode(window).slice(shown)
    shown += piece.length
    return piece
  }
  return { feed, rest }
}
