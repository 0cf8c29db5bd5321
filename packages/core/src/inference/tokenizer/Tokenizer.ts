/**
 * Converts text to token ids and back, and chats to prompts. Layers: a Hugging Face tokenizer (hub id or local folder),
 * or bytes.
 *
 * All operations are pure and synchronous once the layer is built; a prompt of a few thousand tokens takes a few
 * milliseconds. Ids and prompts equal those of the Python library `transformers` (the test replays several hundred
 * texts recorded with it).
 */
import { FetchHttpClient } from "effect/http"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Context, Effect, FileSystem, Layer, Option, Path, Result, Schema } from "effect"
import { bytes } from "./ByteTokenizer.ts"
import * as HubFiles from "../../data/HubFiles.ts"
import type { HuggingFaceTokenizer } from "./HuggingFaceTokenizer.ts"
import packageJson from "../../../package.json" with { type: "json" }
import * as Optional from "../../base/system/Optional.ts"
import * as Reason from "../../base/Reason.ts"
import * as LocalPath from "../../base/system/LocalPath.ts"
import * as JsonValues from "../jinja/JsonValues.ts"
import * as Nesting from "../../base/json/Nesting.ts"
import * as TimeLimit from "../../base/TimeLimit.ts"
import * as TextParts from "./TextParts.ts"
import * as TokenizerFiles from "./TokenizerFiles.ts"
import type { ChatTemplateOptions, TokenizerShape } from "./TokenizerShape.ts"
import type { Message } from "../../trajectory/Message.ts"
import { text as textOf } from "../../trajectory/Message.ts"

export class TokenizerError extends Schema.TaggedError<TokenizerError>()("TokenizerError", {
  tokenizer: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export class Tokenizer extends Context.Service<Tokenizer, TokenizerShape>()("@atropos/core/Tokenizer") {}

export { bytes } from "./ByteTokenizer.ts"
export type { ChatTemplateOptions, TokenizerShape } from "./TokenizerShape.ts"

/**
 * The byte-level tokenizer: ids 0-255, `<|endoftext|>` 256 (BOS), `<|im_start|>` 257, `<|im_end|>` 258 (EOS); ChatML
 * prompts, no download.
 */
export const layerBytes: Layer.Layer<Tokenizer> = Layer.succeed(Tokenizer, bytes)

const required = ["tokenizer.json", "tokenizer_config.json"]
const templateFile = "chat_template.jinja"
/** Contains the template of multimodal models for which older versions of `transformers` wrote no other file. */
const processorFile = "chat_template.json"
const decodeProcessor = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ chat_template: Schema.String }))
)
/** Tokens that older configurations do not name. */
const specialFile = "special_tokens_map.json"
const specialNames = ["bos_token", "eos_token"]
const decodeSpecial = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/**
 * A tokenizer of the Hugging Face library: a hub id (`Qwen/Qwen3-0.6B`, `owner/name@revision`; cached on disk,
 * `HF_TOKEN` for gated models) or a local folder with `tokenizer.json`, `tokenizer_config.json` and, if the template is
 * not in the configuration, `chat_template.jinja` or `chat_template.json`. A folder needs no network.
 */
export const layerHuggingFace = (nameOrFolder: string): Layer.Layer<Tokenizer, TokenizerError> =>
  Layer.effect(Tokenizer, load(nameOrFolder)).pipe(Layer.provide([NodeServices.layer, FetchHttpClient.layer]))

/** The tokenizer of a setting: `bytes`, or one of the Hugging Face library. */
export const layerNamed = (name: string): Layer.Layer<Tokenizer, TokenizerError> =>
  name === bytes.name ? layerBytes : layerHuggingFace(name)

const load = Effect.fn("Tokenizer.load")(function* (name: string) {
  const path = yield* Path.Path
  const files = yield* FileSystem.FileSystem
  const failure = (message: string, cause?: unknown): TokenizerError =>
    new TokenizerError({ tokenizer: name, message, ...(cause !== undefined && { cause }) })
  // Before anything is downloaded.
  const library = yield* Optional.of(packageJson, import.meta.url)
    .attempt(
      ["@huggingface/tokenizers"],
      "a tokenizer of the Hugging Face hub",
      () => import("./HuggingFaceTokenizer.ts")
    )
    .pipe(Effect.mapError((cause) => failure(cause.message, cause)))
  const local = yield* Effect.mapError(LocalPath.folder(name), (message) => failure(message))
  const folder = Option.isSome(local) ? local.value : yield* download(name)
  const present = yield* files
    .readDirectory(folder)
    .pipe(Effect.mapError((cause) => failure(`cannot read the folder ${folder}`, cause)))
  const missing = required.filter((file) => !present.includes(file))
  if (missing.length > 0) {
    return yield* failure(
      `${folder} has no ${missing.join(" and no ")}; a tokenizer folder contains ${required.join(" and ")} (in Python: ` +
        `AutoTokenizer.from_pretrained(name).save_pretrained(folder))`
    )
  }
  const textOf = Effect.fnUntraced(function* (file: string) {
    const at = path.join(folder, file)
    const unreadable = (cause: { readonly message: string }) => failure(`${at} cannot be read: ${cause.message}`, cause)
    const { size, type } = yield* Effect.mapError(files.stat(at), unreadable)
    if (type !== "File") return yield* failure(`${at} is not a file but a ${type.toLowerCase()}`)
    if (size > TokenizerFiles.maxBytes) return yield* failure(`${at} has ${size} bytes, too many for a tokenizer`)
    return yield* Effect.mapError(files.readFileString(at), unreadable)
  })
  const separateTemplate = present.includes(templateFile) ? yield* textOf(templateFile) : undefined
  const inspected = TokenizerFiles.inspect(yield* textOf("tokenizer.json"))
  if (Result.isFailure(inspected)) return yield* failure(`the tokenizer in ${folder}: ${inspected.failure}`)
  const { json, patterns } = inspected.success
  // Each of the two takes seconds with a large vocabulary: a signal ends the load between them.
  yield* Effect.yieldNow
  const configFile = yield* textOf("tokenizer_config.json")
  const ofProcessor = present.includes(processorFile) ? decodeProcessor(yield* textOf(processorFile)) : Option.none()
  const special = present.includes(specialFile) ? decodeSpecial(yield* textOf(specialFile)) : Option.none()
  const tokenizer = yield* Effect.try({
    try: () =>
      library.make(
        json,
        JSON.parse(configFile),
        separateTemplate,
        Option.getOrUndefined(ofProcessor)?.chat_template,
        Option.getOrUndefined(special)
      ),
    catch: (cause) => failure(`the tokenizer in ${folder} cannot be loaded: ${Reason.of(cause)}`, cause)
  })
  const made = fromLibrary(name, tokenizer)
  const endless = TokenizerFiles.endless(patterns, made.encode)
  if (endless !== undefined) {
    return yield* failure(
      `the pattern ${endless.slice(0, 200)} of tokenizer.json in ${folder} takes exponential time on some texts`
    )
  }
  const { render } = tokenizer
  if (render === undefined) {
    yield* Effect.logWarning(
      "this model has no chat template: only text prompts will work, not messages; use an instruct model, or add its chat_template.jinja",
      { tokenizer: name }
    )
  } else {
    const flaw = TokenizerFiles.templateFlaw(() => render(chat(word, { addGenerationPrompt: true })))
    if (flaw !== undefined) return yield* failure(`the chat template in ${folder} cannot be used: ${flaw}`)
  }
  if (patterns.length === 0) return made
  // Limits the time of later texts too: the trial covers only a few.
  return {
    ...made,
    encode: (text, options) => TimeLimit.run(encodeMillis, () => made.encode(text, options))
  } satisfies TokenizerShape
})

const word: ReadonlyArray<Message> = [{ role: "user", content: "hi" }]

/** For one text or one chat, of any length that a model accepts. */
const encodeMillis = 10_000
const promptMillis = 10_000

const download = Effect.fn("Tokenizer.download")(function* (name: string) {
  const files = yield* FileSystem.FileSystem
  const repository = HubFiles.repository(name)
  const failure = (message: string, cause?: unknown): TokenizerError =>
    new TokenizerError({ tokenizer: name, message, ...(cause !== undefined && { cause }) })
  if (repository === undefined) {
    return yield* failure(`"${name}" is neither a local folder nor a hub id (owner/name or owner/name@revision)`)
  }
  const hub = yield* HubFiles.make.pipe(Effect.mapError((error) => failure(error.message, error)))
  const folder = yield* hub
    .cacheFolder("models", repository.folder)
    .pipe(Effect.mapError((cause) => failure(cause.message, cause)))
  const fetchFile = (file: string) => hub.fetch(`${repository.address}/${file}`, `${folder}/${file}`)
  yield* Effect.forEach(required, fetchFile, { concurrency: "unbounded", discard: true }).pipe(
    Effect.mapError((error) => failure(error.message, error))
  )
  const config = Option.getOrUndefined(
    decodeSpecial(yield* Effect.orElseSucceed(files.readFileString(`${folder}/tokenizer_config.json`), () => ""))
  )
  // Most configurations name their tokens themselves.
  const isComplete = specialNames.every((name) => config?.[name] !== undefined)
  yield* Effect.forEach(
    isComplete ? [templateFile] : [templateFile, specialFile],
    (file) => {
      const marker = `${folder}/${file}.absent`
      // A missing file is remembered, so that the next start needs no network.
      return Effect.flatMap(files.exists(marker), (absent) => (absent ? Effect.void : fetchFile(file))).pipe(
        Effect.catchIf(
          (error) => error instanceof HubFiles.HubError && error.reason === "notFound",
          () => files.writeFileString(marker, "")
        ),
        Effect.mapError((error) => failure(error.message, error))
      )
    },
    { discard: true }
  )
  return folder
})

const fromLibrary = (name: string, tokenizer: HuggingFaceTokenizer): TokenizerShape => {
  const { render } = tokenizer
  let vocabularySize = 0
  for (const id of tokenizer.vocabulary().values()) vocabularySize = Math.max(vocabularySize, id + 1)
  let needsParts: boolean | undefined
  return {
    name,
    vocabularySize,
    vocabulary: tokenizer.vocabulary,
    bosTokenId: tokenizer.bosTokenId,
    eosTokenId: tokenizer.eosTokenId,
    encode: (text, { addSpecialTokens = true } = {}) =>
      text === "" && !addSpecialTokens ? [] : tokenizer.encode(text, addSpecialTokens),
    chatTemplate: ({ tools }) => tokenizer.templateOf(tools),
    decode: (ids, { skipSpecialTokens = false } = {}) =>
      ids.length === 0 ? "" : tokenizer.decode(Array.from(ids), skipSpecialTokens),
    applyChatTemplate: (messages, options) => {
      if (render === undefined) {
        throw new TokenizerError({
          tokenizer: name,
          message: `${name} has no chat template: neither chat_template.jinja nor chat_template in tokenizer_config.json`
        })
      }
      needsParts ??= TextParts.areNeeded((content) =>
        render({ messages: [{ role: "user", content }], addGenerationPrompt: true, tools: null })
      )
      const given = chat(messages, options, needsParts)
      const prompt = Result.try(() => TokenizerFiles.render(() => render(given), promptMillis))
      if (Result.isSuccess(prompt)) return prompt.success
      throw new TokenizerError({
        tokenizer: name,
        message: `the chat template of ${name} rejects this chat: ${Reason.of(prompt.failure)}`,
        cause: prompt.failure
      })
    }
  }
}

/** The variables of a template. */
const chat = (
  messages: ReadonlyArray<Message>,
  { addGenerationPrompt, tools }: ChatTemplateOptions,
  needsParts = false
) => ({
  messages: messages.map((message) => (needsParts ? TextParts.of(forTemplate(message)) : forTemplate(message))),
  addGenerationPrompt,
  tools: tools === undefined || tools.length === 0 ? null : tools
})

/**
 * Templates write arguments with `tojson`, so they get the object, not its JSON text; all-text parts are joined for
 * templates that only accept strings.
 */
const forTemplate = (message: Message): { readonly content?: unknown } => {
  const { content, tool_calls: calls } = message
  const allText = Array.isArray(content) && content.every(({ type }) => type === "text")
  if (calls === undefined && !allText) return message
  return Object.assign({}, message, {
    ...(allText && { content: textOf(message) }),
    ...(calls !== undefined && {
      tool_calls: calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: parsedOrText(call.function.arguments) }
      }))
    })
  })
}

/** JSON that is nested too deep stays text, like anything that is not JSON. */
const parsedOrText = (json: string): unknown =>
  Nesting.isDeep(json)
    ? json
    : Result.getOrElse(
        Result.try(() => JsonValues.parse(json)),
        () => json
      )
