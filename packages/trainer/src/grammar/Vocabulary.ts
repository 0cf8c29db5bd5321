/**
 * Determines the bytes of a tokenizer's tokens, for grammars.
 *
 * Byte-level BPE vocabularies and SentencePiece with byte fallback are used as written; for tokenizers identified by
 * name (bytes, characters), tokens are written in byte-level BPE's alphabet. Special tokens are empty: no text contains
 * them.
 */
import type { Tokenizer } from "@atropos/core"
import { Effect } from "effect"

export interface Vocabulary {
  readonly kind: "byte_level" | "byte_fallback"
  /** By id, each ended by `separator`: one text, because that transfers to another thread far faster than a list. */
  readonly text: string
}

const separator = "\u{0}"

const isOwn = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)

/** The letter of each byte in byte-level BPE (GPT-2's `bytes_to_unicode`): printable bytes map to themselves. */
const alphabet: ReadonlyArray<string> = (() => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isOwn(byte) ? byte : next++))
})()

const encoder = new TextEncoder()
const byteText = (text: string): string => Array.from(encoder.encode(text), (byte) => alphabet[byte]!).join("")

/** Tokens processed before yielding to the event loop. */
const atOnce = 2000

/** Undefined if it cannot be determined. */
export const of = Effect.fnUntraced(function* (tokenizer: Tokenizer.TokenizerShape) {
  const written = tokenizer.vocabulary?.()
  const kind =
    written === undefined || written.has("Ġ") ? "byte_level" : written.has("<0x0A>") ? "byte_fallback" : undefined
  if (kind === undefined) return undefined
  const names: Array<string> = []
  for (const [name, id] of written ?? []) names[id] = name
  const tokens: Array<string> = []
  for (let id = 0; id < Math.max(tokenizer.vocabularySize, names.length); id++) {
    const isSpecial = tokenizer.decode([id], { skipSpecialTokens: true }) === ""
    // A byte of a character is not a text by itself.
    const own = tokenizer.name === "bytes" ? (alphabet[id] ?? "") : byteText(tokenizer.decode([id]))
    tokens.push(isSpecial ? "" : written === undefined ? own : (names[id] ?? ""))
    if (id % atOnce === atOnce - 1) yield* Effect.yieldNow
  }
  return { kind, text: tokens.map((token) => token + separator).join("") } satisfies Vocabulary
})

/** `size` tokens: a model may have more than its tokenizer. */
export const tokens = ({ text }: Vocabulary, size: number): ReadonlyArray<string> => {
  const all = text.split(separator).slice(0, -1)
  return Array.from({ length: size }, (_, id) => all[id] ?? "")
}
