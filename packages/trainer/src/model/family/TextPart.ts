/**
 * Extracts the text part of multimodal models: an architecture of `Families` under `text_config`, whose tensors are
 * stored with those of other parts. It is written as a text model; adapters use the module names that transformers
 * gives the model of their folder.
 */
import { Option, Schema } from "effect"
import type { ModelConfig } from "./Traits.ts"

interface Whole {
  /** Allowed `model_type`s of the text part; the first is the default. */
  readonly parts: readonly [string, ...Array<string>]
  /** True if transformers loads the folder with its vision part, and names modules accordingly. */
  readonly keepsPictures: boolean
  /** Keys of the part's configuration that transformers' whole model ignores. */
  readonly unread?: ReadonlyArray<string>
}

/** By `model_type`. */
const wholes: { readonly [modelType: string]: Whole } = {
  // AutoModelForCausalLM loads it as a text model.
  qwen3_5: { parts: ["qwen3_5_text"], keepsPictures: false },
  // Only the text model's class has a cap on logits.
  gemma3: { parts: ["gemma3_text"], keepsPictures: true, unread: ["final_logit_softcapping"] },
  mistral3: { parts: ["mistral", "ministral", "ministral3"], keepsPictures: true }
}

type File = { readonly [key: string]: unknown }

const asRecord = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.Unknown))

export interface Read {
  readonly file: File
  /** `model_type` of the whole model, if it is a part of one. */
  readonly textOf: string | undefined
}

/** The key's value in the first file that has it. */
const firstStated = (key: string, ...files: ReadonlyArray<File>): File => {
  const found = files.find((one) => one[key] != null)
  return found === undefined ? {} : { [key]: found[key] }
}

/** The text part's configuration of a multimodal model; other configurations are unchanged. */
export const read = (file: File): Read => {
  const asIs = { file, textOf: undefined }
  const { model_type: outer } = file
  const text = Option.getOrUndefined(asRecord(file["text_config"]))
  if (text === undefined || typeof outer !== "string" || !Object.hasOwn(wholes, outer)) return asIs
  const { parts, unread = [] } = wholes[outer]!
  const inner = parts.find((part) => part === (text["model_type"] ?? parts[0]))
  if (inner === undefined) return asIs
  return {
    file: {
      ...text,
      ...Object.fromEntries(unread.map((key) => [key, null])),
      model_type: inner,
      ...firstStated("tie_word_embeddings", text, file),
      // Chat models end a turn with another token than a text; the outer file lists both.
      ...firstStated("eos_token_id", file, text),
      ...firstStated("quantization_config", file, text)
    },
    textOf: outer
  }
}

/** Prefix of the text part in the whole model, in transformers 5 and in older files. */
const place = "model.language_model."
const oldPlaces = [
  ["language_model.model.", "model."],
  ["language_model.lm_head.", "lm_head."]
] as const

/** A tensor's name in the text model; names of other parts are unchanged. */
export const plainName = (name: string): string => {
  if (name.startsWith(place)) return `model.${name.slice(place.length)}`
  const old = oldPlaces.find(([before]) => name.startsWith(before))
  return old === undefined ? name : `${old[1]}${name.slice(old[0].length)}`
}

/** A module's or tensor's name in the model that transformers loads from the folder. */
export const nameInWhole = (textOf: ModelConfig["textOf"], name: string): string =>
  textOf !== undefined && wholes[textOf]?.keepsPictures === true ? name.replace(/^model\./, place) : name

/** PEFT's pattern of modules of other parts, which an adapter on the text part must exclude despite similar names. */
export const otherModules = (textOf: ModelConfig["textOf"]): string | undefined =>
  nameInWhole(textOf, "model.") === place ? ".*(vision_tower|multi_modal_projector).*" : undefined
