/**
 * Makes the library's tokenizer behave like Python's `tokenizers` with the same file.
 *
 * The library's components are used if they behave identically; otherwise their functions are replaced (`AddedTokens`,
 * `TextNormalizers`, `PreTokenizers`, `TokenDecoders`, and models here). Unsupported features are rejected by name.
 * `scripts/make-tokenizer-kinds.py` records Python's output for every kind.
 */
import { Tokenizer } from "@huggingface/tokenizers"
import { Predicate } from "effect"
import * as AddedTokens from "./AddedTokens.ts"
import * as PreTokenizers from "./PreTokenizers.ts"
import * as TextNormalizers from "./TextNormalizers.ts"
import * as TokenDecoders from "./TokenDecoders.ts"
import * as UnigramPieces from "./UnigramPieces.ts"

type Config = { readonly [key: string]: unknown }

/** The parts of a library component that are used here; sequences contain others. */
interface Part {
  readonly config?: Config
  pattern?: RegExp | null | undefined
  end_of_word_suffix?: string | null
  readonly tokenizers?: ReadonlyArray<Part | null>
  readonly normalizers?: ReadonlyArray<Part | null>
  readonly decoders?: ReadonlyArray<Part>
  normalize?: TextNormalizers.Normalize
  decode_chain?: (tokens: ReadonlyArray<string>) => Array<string>
  readonly pre_tokenize_text?: (text: string, options: { readonly section_index: number }) => ReadonlyArray<string>
}

interface Model {
  readonly config: Config
  readonly vocab: Array<string | undefined>
  readonly tokens_to_ids: Map<string, number>
  unk_token: string | undefined
  unk_token_id: number | undefined
  /** True if adjacent unknown characters are one token. */
  readonly fuse_unk: boolean
  /** Unigram's pieces. */
  readonly trie?: {
    readonly common_prefix_search: (characters: ReadonlyArray<string>, at: number) => Iterable<string>
  }
  encode: Encode
  (tokens: ReadonlyArray<string>): Array<string>
}

/** Splits a text at the words of a dictionary. */
interface Splitter {
  readonly split: (text: string) => ReadonlyArray<string>
}

/** Members of the library's tokenizer that are missing from its types. */
interface Internals {
  readonly normalizer: (Part & TextNormalizers.Normalize) | null
  readonly pre_tokenizer: Part | null
  readonly decoder: Part | null
  readonly model: Model
  readonly added_tokens: ReadonlyArray<
    AddedTokens.AddedToken & { readonly id: number; readonly normalized: boolean; readonly special: boolean }
  >
  readonly added_tokens_map: Map<string, unknown>
  readonly splitter_unnormalized: Splitter
  encode_text: (text: string | null) => Array<string> | null
}

type Component = "decoder" | "model" | "normalizer" | "post_processor" | "pre_tokenizer"
export type File = { readonly [component in Component]?: unknown }

const encoder = new TextEncoder()

/** A component and the ones inside it. */
const inside = (part: Part | null): ReadonlyArray<Part> =>
  part === null
    ? []
    : [part, ...[part.tokenizers, part.normalizers, part.decoders].flatMap((list) => (list ?? []).flatMap(inside))]

type Cut = (text: string, isFirst: boolean) => ReadonlyArray<string>

/** Characters that the library's pattern classifies incorrectly as whitespace or not. */
const oddBlanks = /[\u0085\uFEFF]/

/**
 * A pre-tokenizer as a function; `isFirst`: the whole text begins with this one. Some of the library's do not keep
 * their configuration.
 */
const cutter = (part: Part | null, config: Config): Cut => {
  if (part === null) return (text) => [text]
  if (part.tokenizers !== undefined) {
    const configs = Array.isArray(config["pretokenizers"]) ? config["pretokenizers"] : []
    const all = part.tokenizers.map((one, at) => cutter(one, configs[at] ?? {}))
    return (text, isFirst) =>
      all.reduce<ReadonlyArray<string>>(
        (texts, cut) => texts.flatMap((one, at) => cut(one, isFirst && at === 0 && text.startsWith(one))),
        [text]
      )
  }
  const own = PreTokenizers.cutOf(config, part.pattern)
  const usual = part.pattern
  return (text, isFirst) => {
    if (own !== undefined) return own(text, isFirst)
    if (config["type"] === "ByteLevel") part.pattern = oddBlanks.test(text) ? PreTokenizers.byteLevel : usual
    return part.pre_tokenize_text?.(text, { section_index: isFirst ? 0 : 1 }) ?? [text]
  }
}

type Encode = (tokens: ReadonlyArray<string>) => Array<string>
type Ids = ReadonlyMap<string, number>

/** Encodes Unigram's unknown pieces as bytes, if all of them are tokens. */
const withBytes =
  (encode: Encode, ids: Ids): Encode =>
  (tokens) =>
    encode(tokens).flatMap((piece) => {
      if (ids.has(piece)) return [piece]
      const bytes = Array.from(
        encoder.encode(piece),
        (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`
      )
      return bytes.every((byte) => ids.has(byte)) ? bytes : [piece]
    })

/** Drops characters without a token if BPE has no unknown token, so that their neighbours merge. */
const withoutUnknown =
  (encode: Encode, ids: Ids): Encode =>
  (tokens) =>
    encode(
      tokens.map((token) =>
        Array.from(token)
          .filter((character) => ids.has(character))
          .join("")
      )
    )

/** The model's own tokens: added ones are matched in the text, and are not parts of words. */
const ownIds = ({ config, tokens_to_ids: ids }: Model, added: Internals["added_tokens"]): Ids => {
  const vocab = configOf(config["vocab"])
  const foreign = added.filter(({ content }) => !Object.hasOwn(vocab, content))
  if (config["type"] === "Unigram" || foreign.length === 0) return ids
  const own = new Map(ids)
  for (const { content } of foreign) own.delete(content)
  return own
}

const settleModel = (model: Model, added: Internals["added_tokens"]): void => {
  const { config } = model
  const ids = ownIds(model, added)
  const itself = Object.create(model, { tokens_to_ids: { value: ids } })
  const encode: Encode = (tokens) => Object.getPrototypeOf(model).encode.call(itself, tokens)
  model.encode = encode
  const { trie } = model
  if (trie !== undefined) {
    const pieces = UnigramPieces.make({
      vocab: config["vocab"] as UnigramPieces.Vocabulary["vocab"],
      unknown: model.unk_token_id,
      beginningAt: (characters, at) => trie.common_prefix_search(characters, at)
    })
    const unigram: Encode = (tokens) => tokens.flatMap(pieces)
    model.encode = config["byte_fallback"] === true ? withBytes(unigram, ids) : unigram
  }
  if (config["type"] === "BPE" && config["unk_token"] == null && config["byte_fallback"] !== true) {
    model.encode = withoutUnknown(encode, ids)
  }
  if (config["type"] === "WordLevel" && typeof config["unk_token"] === "string") {
    model.unk_token = config["unk_token"]
    model.unk_token_id = ids.get(model.unk_token)
    const unknown = model.unk_token
    model.encode = (tokens) => tokens.map((token) => (ids.has(token) || !ids.has(unknown) ? token : unknown))
  }
}

const models: ReadonlySet<unknown> = new Set(["BPE", "Unigram", "WordLevel", "WordPiece", undefined])

const configOf = (value: unknown): Config => (Predicate.isReadonlyObject(value) ? value : {})

/** All parts of a component in the file, including nested sequences. */
const listed = (value: unknown): ReadonlyArray<Config> => {
  const config = configOf(value)
  const lists = [config["normalizers"], config["pretokenizers"], config["processors"], config["decoders"]]
  return [config, ...lists.flatMap((list) => (Array.isArray(list) ? list.flatMap(listed) : []))]
}

/** Why the file cannot be followed exactly; undefined if it can. The library itself rejects types that it lacks. */
const refusal = (json: File): string | undefined => {
  const model = configOf(json.model)
  const type = model["type"]
  if (!models.has(type)) return `the model ${String(type)} is not supported`
  if (type === "BPE" && model["continuing_subword_prefix"]) {
    return "BPE with continuing_subword_prefix is not supported"
  }
  if (type === "BPE" && model["end_of_word_suffix"] && model["unk_token"] == null) {
    return "BPE with end_of_word_suffix and without unk_token is not supported"
  }
  if (type === "BPE" && model["dropout"]) return "BPE with dropout is not supported: its ids are random"
  if (listed(json.normalizer).some((one) => one["type"] === "Precompiled")) {
    return "the normalizer Precompiled is not supported"
  }
  if (listed(json.decoder).some((one) => one["type"] === "CTC")) return "the decoder CTC, of speech, is not supported"
  const template = listed(json.post_processor).find((one) => one["type"] === "TemplateProcessing")
  const several = Object.entries(configOf(template?.["special_tokens"])).find(
    ([token, special]) => JSON.stringify(configOf(special)["tokens"]) !== JSON.stringify([token])
  )
  return several === undefined ? undefined : `the post-processor's token ${several[0]} stands for several tokens`
}

/** Makes a tokenizer from the contents of `tokenizer.json` and `tokenizer_config.json`. */
export const make = (json: File, config: Config): Tokenizer => {
  const refused = refusal(json)
  if (refused !== undefined) throw new Error(`tokenizer.json: ${refused}`)
  const made = new Tokenizer(json, config)
  // Its functions are replaced, which its types do not have.
  const library = made as unknown as Internals
  const { decoder, model, normalizer } = library
  settleModel(model, library.added_tokens)
  for (const part of inside(normalizer)) {
    const own = TextNormalizers.normalizeOf(part.config ?? {}, part.pattern)
    if (own !== undefined) part.normalize = own
  }
  for (const part of inside(decoder)) {
    const own = TokenDecoders.joinOf(part.config ?? {})
    if (own !== undefined) part.decode_chain = own
    part.end_of_word_suffix = null
  }
  const cut = cutter(library.pre_tokenizer, configOf(json.pre_tokenizer))
  const written = new Map<string, AddedTokens.AddedToken>()
  const normalizedTokens = new Map<string, AddedTokens.AddedToken>()
  for (const token of library.added_tokens) {
    if (token.normalized) {
      const normalized = normalizer === null ? token.content : normalizer(token.content)
      if (normalized === "") {
        throw new Error(
          `tokenizer.json: the normalizer leaves nothing of the added token ${JSON.stringify(token.content)}`
        )
      }
      normalizedTokens.set(normalized, token)
      if (normalized === token.content) continue
      // A piece of a word with the same text is another token.
      library.added_tokens_map.delete(normalized)
      model.vocab[token.id] = normalized
    } else written.set(token.content, token)
  }
  // The library looks for both kinds at once where there is no normalizer.
  const Dictionary = library.splitter_unnormalized.constructor as new (words: ReadonlyArray<string>) => Splitter
  const splitter = new Dictionary([...written.keys()])
  const normalizedSplitter = new Dictionary([...normalizedTokens.keys()])
  const stripsStart = listed(json.normalizer).some((one) => one["type"] === "Strip" && one["strip_left"] === true)
  // The library also fuses unknown characters of adjacent words.
  const ofWords: Encode = (words) => (model.fuse_unk ? words.flatMap((word) => model([word])) : model(words))
  library.encode_text = (text) =>
    text === null
      ? null
      : AddedTokens.sections(text, splitter.split(text), written).flatMap((section) => {
          if ("token" in section) return [section.token]
          const normalized = normalizer === null ? section.text : normalizer(section.text)
          // After stripped whitespace, the text is no longer at the start.
          const isFirst = section.isFirst && !(stripsStart && /^\p{White_Space}/u.test(section.text))
          return AddedTokens.sections(normalized, normalizedSplitter.split(normalized), normalizedTokens).flatMap(
            (part) => ("token" in part ? [part.token] : ofWords(cut(part.text, isFirst && part.isFirst)))
          )
        })
  return made
}
