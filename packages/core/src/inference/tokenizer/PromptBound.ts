/**
 * Detects a text with too many tokens for a prompt before encoding all of it, which takes a second per megabyte and
 * blocks everything else.
 *
 * Text that may be too long is counted in chunks until there are too many tokens, which is soon except for long runs of
 * one character. Other texts are not counted: encoding them is as cheap.
 */
import { Effect } from "effect"
import type { TokenizerShape } from "./Tokenizer.ts"

/** Average characters per token that few texts exceed: those with runs of spaces or dashes. */
export const charactersPerToken = 8
/** Extra tokens caused by a cut: more than any merge that it breaks. */
const cutTokens = 16
const maxPiece = 65_536
const minPiece = 1024

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00

/** True: it certainly has more than `maxTokens`. False: it is short, or has been counted. */
export const exceeds = Effect.fnUntraced(function* (
  { encode }: Pick<TokenizerShape, "encode">,
  text: string,
  maxTokens: number
): Effect.fn.Return<boolean> {
  const plain = Math.max(minPiece, charactersPerToken * maxTokens)
  if (text.length <= plain) return false
  const piece = Math.min(maxPiece, plain)
  let tokens = 0
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + piece)
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--
    tokens += Math.max(0, encode(text.slice(from, to), { addSpecialTokens: false }).length - cutTokens)
    if (tokens > maxTokens) return true
    from = to
    yield* Effect.yieldNow
  }
  return false
})
