/**
 * Models of text and pictures, of which the part for text is loaded: an architecture of `Families` that stands under
 * `text_config`, with tensors beside those of pictures. What is written of it is a model for text; adapters have the
 * names of modules that transformers gives the model in the folder they belong to.
 */
import { Option, Schema } from "effect"
import type { ModelConfig } from "./Traits.ts"

interface Whole {
  /** `model_type` that the part for text may have; the first where the file says none. */
  readonly parts: readonly [string, ...Array<string>]
  /** Whether transformers loads the folder with its part for pictures, and names modules for that. */
  readonly keepsPictures: boolean
  /** Keys of the part's configuration that transformers' model of the whole does not go by. */
  readonly unread?: ReadonlyArray<string>
}

/** By `model_type`. */
const wholes: { readonly [modelType: string]: Whole } = {
  // AutoModelForCausalLM makes a model for text of it.
  qwen3_5: { parts: ["qwen3_5_text"], keepsPictures: false },
  // Only the class of models for text has a cap on logits.
  gemma3: { parts: ["gemma3_text"], keepsPictures: true, unread: ["final_logit_softcapping"] },
  mistral3: { parts: ["mistral", "ministral", "ministral3"], keepsPictures: true }
}

type File = { readonly [key: string]: unknown }

const asRecord = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.Unknown))

export interface Read {
  /** The configuration of the model for text. */
  readonly file: File
  /** `model_type` of what it is a part of, where it is one. */
  readonly textOf: string | undefined
}

/** What the first of the files that has the key says. */
const said = (key: string, ...files: ReadonlyArray<File>): File => {
  const found = files.find((one) => one[key] != null)
  return found === undefined ? {} : { [key]: found[key] }
}

/** Of a model of text and pictures the configuration of its part for text; any other as it is. */
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
      ...said("tie_word_embeddings", text, file),
      // Chat models end a turn with another token than a text: it is the outer file that lists both.
      ...said("eos_token_id", file, text),
      ...said("quantization_config", file, text)
    },
    textOf: outer
  }
}

/** Where the part for text stands in the whole, as transformers 5 has it, and as files had it before. */
const place = "model.language_model."
const oldPlaces = [
  ["language_model.model.", "model."],
  ["language_model.lm_head.", "lm_head."]
] as const

/** The name of a tensor in the model for text alone; those of other parts stay as they are. */
export const plainName = (name: string): string => {
  if (name.startsWith(place)) return `model.${name.slice(place.length)}`
  const old = oldPlaces.find(([before]) => name.startsWith(before))
  return old === undefined ? name : `${old[1]}${name.slice(old[0].length)}`
}

/** The name of a module or tensor in the model that transformers makes of the folder. */
export const nameInWhole = (textOf: ModelConfig["textOf"], name: string): string =>
  textOf !== undefined && wholes[textOf]?.keepsPictures === true ? name.replace(/^model\./, place) : name

/** PEFT's pattern of modules of the whole that an adapter on the text leaves alone, though some are named alike. */
export const otherModules = (textOf: ModelConfig["textOf"]): string | undefined =>
  nameInWhole(textOf, "model.") === place ? ".*(vision_tower|multi_modal_projector).*" : undefined
