/**
 * Selects a model's format: by the markers in its chat template or, without a template, by its vocabulary. A model
 * without any sign of tools is assumed to use Hermes, like many others; calls are left as text if the template supports
 * tools but has none of the known markers.
 */
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import * as DeepSeek from "./DeepSeek.ts"
import * as Gemma from "./Gemma.ts"
import * as Glm from "./Glm.ts"
import * as Harmony from "./Harmony.ts"
import * as Hermes from "./Hermes.ts"
import * as Kimi from "./Kimi.ts"
import * as Llama from "./Llama.ts"
import * as MarkedParameters from "./MarkedParameters.ts"
import * as Marked from "./Marked.ts"
import * as Mistral from "./Mistral.ts"
import type { FormatName, OutputFormat, Setting } from "./OutputFormat.ts"
import * as Phi from "./Phi.ts"
import * as Pythonic from "./Pythonic.ts"
import * as QwenCoder from "./QwenCoder.ts"
import * as ThinkTags from "./ThinkTags.ts"

/** Formats by name; the template selects the variant within a family. */
const formats: { readonly [name in FormatName]: (template: string | undefined) => OutputFormat } = {
  hermes: () => Hermes.format,
  "qwen3-coder": () => QwenCoder.format,
  "llama3-json": () => Llama.format,
  mistral: Mistral.format,
  deepseek: DeepSeek.format,
  "deepseek-v32": () => MarkedParameters.dsml,
  gemma4: () => Gemma.format,
  glm: Glm.format,
  "kimi-k2": () => Kimi.format,
  "llama4-pythonic": () => Pythonic.format,
  "minimax-m2": () => MarkedParameters.miniMax,
  phi4: () => Phi.format,
  harmony: () => Harmony.format
}

export const byName = (name: FormatName, template?: string): OutputFormat => formats[name](template)

/** The first entry whose markers are all in the template applies. */
const marks: ReadonlyArray<readonly [name: FormatName, marks: ReadonlyArray<string>]> = [
  ["harmony", ["<|channel|>"]],
  ["deepseek", ["<｜tool▁calls▁begin｜>"]],
  ["deepseek-v32", ["<｜DSML｜"]],
  ["gemma4", ["<|tool_call>", "<tool_call|>"]],
  ["kimi-k2", ["<|tool_calls_section_begin|>"]],
  ["minimax-m2", ["<minimax:tool_call>"]],
  ["phi4", ["<|tool_call|>"]],
  ["phi4", ["functools["]],
  ["llama4-pythonic", ["<|python_start|>"]],
  ["llama4-pythonic", ["<|header_start|>"]],
  ["glm", ["<arg_key>"]],
  ["qwen3-coder", ["<function=", "<parameter="]],
  ["mistral", ["[TOOL_CALLS]"]],
  ["hermes", ["<tool_call>"]],
  ["llama3-json", ["<|python_tag|>"]],
  ["llama3-json", ["<|start_header_id|>", '"parameters"']]
]

/** The format of a template; undefined if it does not mention calls. */
export const inTemplate = (template: string): FormatName | undefined =>
  marks.find(([, all]) => all.every((mark) => template.includes(mark)))?.[0]

const inVocabulary = (vocabulary: ReadonlyMap<string, number>): FormatName | undefined =>
  marks.find(([, all]) => all.every((mark) => vocabulary.has(mark)))?.[0]

/** Reasoning is parsed, calls are not; the template writes those of a chat. */
const unknown: OutputFormat = Marked.make({
  name: "unknown",
  thinking: ThinkTags.think,
  ends: [],
  separator: "\n",
  opens: [],
  isContent: false,
  readCalls: () => undefined,
  writeCalls: (calls) => calls.map(({ json, name }) => JSON.stringify({ name, arguments: json })).join("\n")
})

export const of = (
  { chatTemplate, vocabulary }: Pick<TokenizerShape, "chatTemplate" | "vocabulary">,
  setting: Setting = "auto"
): OutputFormat => {
  const template = chatTemplate?.({ tools: true })
  if (setting !== "auto") return byName(setting, template)
  const found = template === undefined ? vocabulary && inVocabulary(vocabulary()) : inTemplate(template)
  if (found === undefined && template !== undefined && /\btools\b/.test(template)) return unknown
  return byName(found ?? "hermes", template)
}
