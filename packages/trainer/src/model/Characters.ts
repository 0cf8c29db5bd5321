/**
 * A tokenizer of single characters, for models trained from scratch: id 0 ends a sequence, the characters follow in their order.
 *
 * The end has no text. Chats are refused: there is no template. Characters it does not know are an error that names them.
 */
import type { Tokenizer } from "@atropos/core"

export const endId = 0

/** Throws `RangeError` from `encode` for an unknown character, and for chats: both are mistakes of the program. */
export const make = (characters: string): Tokenizer.TokenizerShape => {
  const known = Array.from(new Set(characters))
  const ids = new Map(known.map((character, index) => [character, index + 1]))
  const name = `characters:${known.join("")}`
  return {
    name,
    vocabularySize: known.length + 1,
    bosTokenId: undefined,
    eosTokenId: endId,
    encode: (text) =>
      Array.from(text, (character) => {
        const id = ids.get(character)
        if (id === undefined)
          throw new RangeError(`${JSON.stringify(character)} is none of the characters ${known.join("")}`)
        return id
      }),
    decode: (tokens) => Array.from(tokens, (id) => known[id - 1] ?? "").join(""),
    applyChatTemplate: () => {
      throw new RangeError(`the tokenizer ${name} has no chats: give prompts as text`)
    }
  }
}
