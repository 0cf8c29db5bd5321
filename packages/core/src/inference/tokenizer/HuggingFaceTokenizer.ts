/**
 * A folder's tokenizer from the Hugging Face library: tokens by @huggingface/tokenizers, prompts by `ChatTemplate`.
 * This module adds what `transformers` does around them: special tokens of the configuration, named templates, and the
 * choice between these if there are tools.
 */
import { Result } from "effect"
import * as ChatTemplate from "./ChatTemplate.ts"
import * as PythonTokenizer from "./PythonTokenizer.ts"

/** The contents of `tokenizer_config.json`. */
type Config = { readonly [key: string]: unknown }

export interface Options {
  readonly messages: ReadonlyArray<unknown>
  readonly addGenerationPrompt: boolean
  readonly tools: ReadonlyArray<unknown> | null
}

export interface HuggingFaceTokenizer {
  readonly bosTokenId: number | undefined
  readonly eosTokenId: number | undefined
  readonly vocabulary: () => ReadonlyMap<string, number>
  readonly encode: (text: string, addSpecialTokens: boolean) => Array<number>
  readonly decode: (ids: Array<number>, skipSpecialTokens: boolean) => string
  /** The source of the template for chats with or without tools; undefined if none. */
  readonly templateOf: (hasTools: boolean) => string | undefined
  /** Absent if there is no template. */
  readonly render: ((options: Options) => string) | undefined
}

const specialTokens = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]

/** A token in a file: a string, or an object with the token's properties. */
const tokenOf = (file: string, config: Config, key: string): string | undefined => {
  const value = config[key]
  if (typeof value === "string") return value === "" ? undefined : value
  if (typeof value !== "object" || value === null) return undefined
  const { content } = value as Config
  if (typeof content === "string") return content === "" ? undefined : content
  throw new Error(`${key} in ${file} is neither a text nor an added token: ${JSON.stringify(value)}`)
}

/** The template of the configuration: one, or several by name, one of them for tools. */
const templateOf = (given: unknown): ((hasTools: boolean) => string) | undefined => {
  if (typeof given === "string") return given === "" ? undefined : () => given
  if (!Array.isArray(given)) return undefined
  const named = new Map<string, string>()
  for (const { name, template } of given) {
    if (typeof name !== "string" || typeof template !== "string") {
      throw new Error('chat_template in tokenizer_config.json has an entry without "name" or "template"')
    }
    named.set(name, template)
  }
  return (hasTools) => {
    const template = (hasTools ? named.get("tool_use") : undefined) ?? named.get("default")
    if (template !== undefined) return template
    throw new Error(
      `tokenizer_config.json has several chat templates, none of them the default: ${[...named.keys()].join(", ")}`
    )
  }
}

/**
 * Makes a tokenizer from the contents of `tokenizer.json`, `tokenizer_config.json` and, if present,
 * `chat_template.jinja`; with a processor's template if neither has one, and `special_tokens_map.json` for tokens that
 * the configuration does not name.
 */
export const make = (
  tokenizerJson: PythonTokenizer.File,
  config: Config,
  separateTemplate: string | undefined,
  ofProcessor?: string,
  specialTokensMap: Config = {}
): HuggingFaceTokenizer => {
  const tokenizer = PythonTokenizer.make(tokenizerJson, config)
  const cleanUp = config["clean_up_tokenization_spaces"] === true
  const ofConfig = templateOf(config["chat_template"]) ?? templateOf(ofProcessor)
  const template = separateTemplate === undefined ? ofConfig : () => separateTemplate
  const special: { [key: string]: string } = {}
  for (const key of specialTokens) {
    const token =
      tokenOf("tokenizer_config.json", config, key) ?? tokenOf("special_tokens_map.json", specialTokensMap, key)
    if (token !== undefined) special[key] = token
  }
  const compiled = new Map<string, ChatTemplate.Render>()
  const compile = (source: string): ChatTemplate.Render => {
    const made = compiled.get(source) ?? ChatTemplate.make(source)
    compiled.set(source, made)
    return made
  }
  const idOf = (token: string | undefined) => (token === undefined ? undefined : tokenizer.token_to_id(token))
  return {
    bosTokenId: idOf(special["bos_token"]),
    eosTokenId: idOf(special["eos_token"]),
    vocabulary: () => tokenizer.get_vocab(),
    encode: (text, addSpecialTokens) => {
      const { ids, tokens } = tokenizer.encode(text, { add_special_tokens: addSpecialTokens })
      // Not in the library's types: a tokenizer may have no unknown token.
      const at = ids.findIndex((id: number | undefined) => id === undefined)
      if (at === -1) return ids
      throw new Error(`the tokenizer has no token for ${JSON.stringify(tokens[at])}, and no unknown token`)
    },
    decode: (given, skipSpecialTokens) => {
      // Unknown ids have no text.
      const ids = given.filter((id) => tokenizer.id_to_token(id) !== undefined)
      return ids.length === 0
        ? ""
        : tokenizer.decode(ids, { skip_special_tokens: skipSpecialTokens, clean_up_tokenization_spaces: cleanUp })
    },
    // If no named template fits, it is also missing for chats, which report it.
    templateOf: (hasTools) => Result.getOrUndefined(Result.try(() => template?.(hasTools))),
    render:
      template &&
      (({ addGenerationPrompt, messages, tools }) =>
        compile(template(tools !== null))({
          messages,
          add_generation_prompt: addGenerationPrompt,
          tools,
          documents: null,
          ...special
        }))
  }
}
