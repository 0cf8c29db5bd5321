/**
 * Decodes tokens to text one at a time; characters whose bytes span several tokens wait until they are complete.
 *
 * The concatenated pieces equal the text of all tokens, for tokenizers that decode left to right (byte-level ones do).
 * Only a window is decoded again per token: the tokens since the text was last complete, and those of the previous
 * piece, on which some tokenizers' spaces depend.
 */
import type { Tokenizer } from "@atropos/core"

export interface TextPieces {
  /** Text added by a token; empty while a character is incomplete. */
  readonly feed: (token: number) => string
  /** Remaining text after the last token: an incomplete character, as U+FFFD. */
  readonly rest: () => string
}

export interface Options {
  /** Omit special tokens such as the end of the sequence. Default: yes. */
  readonly skipSpecialTokens?: boolean
}

/** Written by decoders for bytes that do not form a character, or not yet. */
const incomplete = "\u{FFFD}"
const maxCharacterBytes = 4

/**
 * Length of the end that may still change. Some decoders write one U+FFFD for all bytes of an incomplete character,
 * some one per byte.
 */
const pending = (text: string, tokens: number): number => {
  if (!text.endsWith(incomplete)) return 0
  if (tokens >= maxCharacterBytes) return 1
  let count = 1
  while (text[text.length - 1 - count] === incomplete) count++
  return count
}

export const make = (tokenizer: Tokenizer.TokenizerShape, { skipSpecialTokens = true }: Options = {}): TextPieces => {
  const decode = (tokens: ReadonlyArray<number>): string => tokenizer.decode(tokens, { skipSpecialTokens })
  let window: Array<number> = []
  /** Number of window tokens when its text last grew and was complete. */
  let settled = 0
  /** Number of window tokens when its text was last complete. */
  let whole = 0
  /** Characters of the window's text that `feed` has returned. */
  let visible = 0
  const feed = (token: number): string => {
    window.push(token)
    const text = decode(window)
    const piece = text.slice(visible, text.length - pending(text, window.length - whole))
    visible += piece.length
    if (text.endsWith(incomplete)) return piece
    // A token without text stays: without it, what follows would be decoded as the start of a text.
    if (piece !== "") {
      window = window.slice(settled)
      settled = window.length
      visible = decode(window).length
    }
    whole = window.length
    return piece
  }
  const rest = (): string => {
    const piece = decode(window).slice(visible)
    visible += piece.length
    return piece
  }
  return { feed, rest }
}
