/**
 * Encodes a session's texts, with any tokenizer: special tokens around a text are added once, and parts are joined
 * without a seam.
 *
 * Assumes nothing about the vocabulary: what a tokenizer puts around a text is measured with texts that it knows, even
 * if these are only digits. Unknown characters are dropped or marked as the tokenizer does.
 */
import type { TokenizerShape } from "./Tokenizer.ts"

export interface PromptEncoder {
  /**
   * Ids of a whole prompt, with special tokens around it (such as a BOS) exactly once, even if the template writes them
   * out.
   */
  readonly whole: (text: string) => ReadonlyArray<number>
  /**
   * Ids of a text that follows other tokens: without surrounding special tokens, and without the space that some
   * tokenizers put before a text.
   */
  readonly rest: (text: string) => ReadonlyArray<number>
}

const encoders = new WeakMap<TokenizerShape, PromptEncoder>()

/** Probes a tokenizer once with texts that it knows, so that every prompt is encoded only once. */
export const make = (tokenizer: TokenizerShape): PromptEncoder => {
  const encoder = encoders.get(tokenizer)
  if (encoder !== undefined) return encoder
  const made = inspect(tokenizer)
  encoders.set(tokenizer, made)
  return made
}

const inspect = (tokenizer: TokenizerShape): PromptEncoder => {
  const plain = (text: string): ReadonlyArray<number> => tokenizer.encode(text, { addSpecialTokens: false })
  const anchors = knownTexts(tokenizer)
  const frame = frameOf(tokenizer, anchors[0])
  const visible = anchors.filter((text) => text.trim() !== "")
  const [first = "", second = first] = visible.length > 0 ? visible : anchors
  // Ids of two separately encoded texts decode to the concatenation, unless a space was put before the second one.
  const addsNothing = tokenizer.decode([...plain(first), ...plain(second)]) === first + second
  return {
    whole: (text) => {
      const ids = plain(text)
      return frame.every((id, index) => ids[index] === id) ? ids : [...frame, ...ids]
    },
    rest: (text) => {
      if (text === "") return []
      if (addsNothing) return plain(text)
      for (const anchor of anchors) {
        const alone = plain(anchor)
        const anchored = plain(anchor + text)
        // If an anchor merges with what follows, it cannot be cut off.
        if (alone.every((id, index) => anchored[index] === id)) return anchored.slice(alone.length)
      }
      return plain(text)
    }
  }
}

/** The line break first, because it merges with nothing in most vocabularies; then printable ASCII, letters first. */
const usualTexts = Array.from("\nabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-=.,:;!?()[]{}<>*/ ")
/** Max vocabulary entries tried if none of those is known. */
const maxExamined = 4096
const enough = 3

/** A few short texts that round-trip through the tokenizer; a vocabulary may be any set of characters. */
const knownTexts = (tokenizer: TokenizerShape): ReadonlyArray<string> => {
  const tokens = new Set<string>()
  const consider = (text: string): void => {
    if (text === "" || tokens.size >= enough) return
    const ids = tokenizer.encode(text, { addSpecialTokens: false })
    const back = ids.length === 0 ? "" : tokenizer.decode(ids)
    const isPlain = tokenizer.decode(ids, { skipSpecialTokens: true }) === back
    // Some tokenizers put a space before every text.
    if (isPlain && (back === text || back === ` ${text}`)) tokens.add(text)
  }
  usualTexts.forEach(consider)
  const size = Math.min(tokenizer.vocabularySize, maxExamined)
  for (let id = 0; id < size && tokens.size < enough; id++) consider(tokenizer.decode([id]))
  return [...tokens]
}

/**
 * The tokens that the tokenizer puts before a text; measured with a text if possible, since some tokenizers also append
 * tokens.
 */
const frameOf = ({ encode, eosTokenId }: TokenizerShape, text: string | undefined): ReadonlyArray<number> => {
  const framed = encode(text ?? "")
  if (text === undefined) return framed.at(-1) === eosTokenId ? framed.slice(0, -1) : framed
  const plain = encode(text, { addSpecialTokens: false })
  const at = framed.findIndex((_, start) => plain.every((id, index) => framed[start + index] === id))
  return framed.slice(0, Math.max(0, at))
}
