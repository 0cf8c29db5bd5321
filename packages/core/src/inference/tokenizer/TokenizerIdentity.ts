/**
 * Identifies a tokenizer: its name, and a digest of its ids' meaning, independent of where its files are.
 *
 * Groups record it, our servers list it, and readers of tokens compare it with their own tokenizer: ids of a different
 * one decode to something, without an error.
 */
import { Option, Schema } from "effect"
import { createHash } from "node:crypto"
import type { TokenizerShape } from "./Tokenizer.ts"

export const TokenizerIdentity = Schema.Struct({ name: Schema.String, digest: Schema.String })
export type TokenizerIdentity = typeof TokenizerIdentity.Type

/** A text that tokenizers split differently: cases, digits, whitespace, code, scripts, multi-byte characters. */
export const probe = "Hello WORLD, 1234567 tokens! naïve größe — 寿司 привет 🍣\n\n\tdef f(x): return x**2  # 3.14"

const known = new WeakMap<object, TokenizerIdentity>()

type Identified = Pick<TokenizerShape, "decode" | "encode" | "name" | "vocabularySize">

/** Ids whose texts are part of the digest, spread over the vocabulary. */
const sampled = 1024

/** Takes a few milliseconds, once per tokenizer. */
export const of = (tokenizer: Identified): TokenizerIdentity => {
  const before = known.get(tokenizer)
  if (before !== undefined) return before
  const { decode, encode, name, vocabularySize } = tokenizer
  const step = Math.max(1, Math.floor(vocabularySize / sampled))
  const texts: Array<string> = []
  for (let id = 0; id < vocabularySize; id += step) texts.push(decode([id], { skipSpecialTokens: true }))
  const meaning = [vocabularySize, encode(probe, { addSpecialTokens: false }), texts]
  const identity = { name, digest: createHash("sha256").update(JSON.stringify(meaning)).digest("hex").slice(0, 16) }
  known.set(tokenizer, identity)
  return identity
}

/** The tokenizer identity stated by a group or a server, if any. */
export const read: (value: unknown) => TokenizerIdentity | undefined = (value) =>
  Option.getOrUndefined(Schema.decodeUnknownOption(TokenizerIdentity)(value))
