/**
 * The formats by name, and which one a model has: its chat template says so, by the marks that it writes or asks for;
 * where there is no template, its vocabulary. A model that says nothing is taken for one of the many that write Hermes.
 */
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import * as DeepSeek from "./DeepSeek.ts"
import * as Glm from "./Glm.ts"
import * as Harmony from "./Harmony.ts"
import * as Hermes from "./Hermes.ts"
import * as Llama from "./Llama.ts"
import * as Mistral from "./Mistral.ts"
import type { FormatName, OutputFormat, Setting } from "./OutputFormat.ts"
import * as QwenCoder from "./QwenCoder.ts"

/** Of the ways that a family writes, the template says which one is the model's. */
const formats: { readonly [name in FormatName]: (template: string | undefined) => OutputFormat } = {
  hermes: () => Hermes.format,
  "qwen3-coder": () => QwenCoder.format,
  "llama3-json": () => Llama.format,
  mistral: Mistral.format,
  deepseek: DeepSeek.format,
  glm: Glm.format,
  harmony: () => Harmony.format
}

export const byName = (name: FormatName, template?: string): OutputFormat => formats[name](template)

/** The first of these whose marks all stand in a template is the one. */
const marks: ReadonlyArray<readonly [name: FormatName, marks: ReadonlyArray<string>]> = [
  ["harmony", ["<|channel|>"]],
  ["deepseek", ["<｜tool▁calls▁begin｜>"]],
  ["glm", ["<arg_key>"]],
  ["qwen3-coder", ["<function=", "<parameter="]],
  ["mistral", ["[TOOL_CALLS]"]],
  ["hermes", ["<tool_call>"]],
  ["llama3-json", ["<|python_tag|>"]],
  ["llama3-json", ["<|start_header_id|>", '"parameters"']]
]

/** Whom a template is of; nothing where it says nothing of calls. */
export const inTemplate = (template: string): FormatName | undefined =>
  marks.find(([, all]) => all.every((mark) => template.includes(mark)))?.[0]

const inVocabulary = (vocabulary: ReadonlyMap<string, number>): FormatName | undefined =>
  marks.find(([, all]) => all.every((mark) => vocabulary.has(mark)))?.[0]

/** The format of a model. */
export const of = (
  { chatTemplate, vocabulary }: Pick<TokenizerShape, "chatTemplate" | "vocabulary">,
  setting: Setting = "auto"
): OutputFormat => {
  const template = chatTemplate?.({ tools: true })
  if (setting !== "auto") return byName(setting, template)
  const found = template === undefined ? vocabulary && inVocabulary(vocabulary()) : inTemplate(template)
  return byName(found ?? "hermes", template)
}
