/**
 * How texts become ids in a session, whatever the tokenizer: framed once, and joined without a seam.
 *
 * Nothing is assumed of the vocabulary: what a tokenizer puts around a text is found out with texts that it knows, be
 * they digits alone. Characters that it does not know are left out or marked, as it does itself.
 */
import type { TokenizerShape } from "./Tokenizer.ts"

export interface PromptEncoder {
  /** Ids of a whole prompt, framed (by a BOS, say) exactly once even where the template writes the frame out. */
  readonly whole: (text: string) => ReadonlyArray<number>
  /**
   * Ids of a text that stands behind other tokens: without a frame, and without the blank some tokenizers put before a
   * text.
   */
  readonly rest: (text: string) => ReadonlyArray<number>
}

const encoders = new WeakMap<TokenizerShape, PromptEncoder>()

/** Looks at a tokenizer once, with texts that it knows, so that every prompt is encoded once. */
export const make = (tokenizer: TokenizerShape): PromptEncoder => {
  const encoder = encoders.get(tokenizer)
  if (encoder !== undefined) return encoder
  const made = lookedAt(tokenizer)
  encoders.set(tokenizer, made)
  return made
}

const lookedAt = (tokenizer: TokenizerShape): PromptEncoder => {
  const plain = (text: string): ReadonlyArray<number> => tokenizer.encode(text, { addSpecialTokens: false })
  const anchors = knownTexts(tokenizer)
  const frame = frameOf(tokenizer, anchors[0])
  const visible = anchors.filter((text) => text.trim() !== "")
  const [first = "", second = first] = visible.length > 0 ? visible : anchors
  // Ids of two texts that were encoded apart read as the texts joined, unless a blank was put before the second one.
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
        // Where an anchor merges with what follows, there is nothing to cut off.
        if (alone.every((id, index) => anchored[index] === id)) return anchored.slice(alone.length)
      }
      return plain(text)
    }
  }
}

/**
 * Line break first: it merges with nothing in most vocabularies. Then what there is of printable ASCII, letters first.
 */
const usualTexts = Array.from("\nabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-=.,:;!?()[]{}<>*/ ")
/** As many entries of a vocabulary as are looked at where none of those is known. */
const mostLookedAt = 4096
const enough = 3

/** A few short texts that come back from the tokenizer as they went in; a vocabulary may be any set of characters. */
const knownTexts = (tokenizer: TokenizerShape): ReadonlyArray<string> => {
  const tokens = new Set<string>()
  const consider = (text: string): void => {
    if (text === "" || tokens.size >= enough) return
    const ids = tokenizer.encode(text, { addSpecialTokens: false })
    const back = ids.length === 0 ? "" : tokenizer.decode(ids)
    const isPlain = tokenizer.decode(ids, { skipSpecialTokens: true }) === back
    // Some tokenizers put a blank before every text.
    if (isPlain && (back === text || back === ` ${text}`)) tokens.add(text)
  }
  usualTexts.forEach(consider)
  const size = Math.min(tokenizer.vocabularySize, mostLookedAt)
  for (let id = 0; id < size && tokens.size < enough; id++) consider(tokenizer.decode([id]))
  return [...tokens]
}

/** What the tokenizer puts before a text; a text shows it better than none, as some tokenizers close it too. */
const frameOf = ({ encode, eosTokenId }: TokenizerShape, text: string | undefined): ReadonlyArray<number> => {
  const framed = encode(text ?? "")
  if (text === undefined) return framed.at(-1) === eosTokenId ? framed.slice(0, -1) : framed
  const plain = encode(text, { addSpecialTokens: false })
  const at = framed.findIndex((_, start) => plain.every((id, index) => framed[start + index] === id))
  return framed.slice(0, Math.max(0, at))
}
