/**
 * Parses and writes the answers of a family of models: reasoning, visible text and tool calls, all in one text.
 *
 * A format reads any text in linear time and never throws: anything that is not a call of the format is text, as with
 * inference servers. Either all calls of an answer are read or none: if one is malformed or truncated, everything is
 * text. `read` inverts `write`.
 */
import { Schema } from "effect"
import type { Message } from "../../trajectory/Message.ts"
import type { FinishReason } from "../../trajectory/Trajectory.ts"

export const FormatName = Schema.Literals([
  "hermes", // <tool_call>{"name": …, "arguments": …}</tool_call>: Hermes, Qwen2.5, Qwen3
  "qwen3-coder", // <tool_call><function=…><parameter=…>: Qwen3-Coder, Qwen3.5
  "llama3-json", // {"name": …, "parameters": …}: Llama 3.1, 3.2, 3.3
  "mistral", // [TOOL_CALLS]: Mistral, Ministral, Magistral, Devstral
  "deepseek", // <｜tool▁calls▁begin｜>: DeepSeek V3, R1, V3.1
  "deepseek-v32", // <｜DSML｜function_calls>: DeepSeek V3.2
  "gemma4", // <|tool_call>call:name{…}<tool_call|>: Gemma 4
  "glm", // <tool_call>… <arg_key> <arg_value>: GLM-4.5 and later
  "kimi-k2", // <|tool_calls_section_begin|>: Kimi K2
  "llama4-pythonic", // [name(key=value)]: Llama 4, and 3.2 if prompted accordingly
  "minimax-m2", // <minimax:tool_call>: MiniMax M2
  "phi4", // <|tool_call|>[{"name": …, "arguments": …}]: Phi-4-mini
  "harmony" // channels: gpt-oss
])
export type FormatName = typeof FormatName.Type

/** Values of the setting `tool_call_format`: `auto` derives the format from the tokenizer (`Formats.of`). */
export const Setting = Schema.Literals(["auto", ...FormatName.literals])
export type Setting = typeof Setting.Type

export interface Call {
  readonly name: string
  readonly arguments: unknown
}

export interface ReadCall extends Call {
  /** The arguments as JSON text with Python's spacing; keys and numbers as the model wrote them, if it wrote JSON. */
  readonly json: string
}

export interface ReadContext {
  /** The request's tools (OpenAI's definitions): formats without types take them from the schemas. */
  readonly tools?: ReadonlyArray<unknown>
  /**
   * `length`: anything unclosed was truncated; otherwise the end of the answer may close it, if the format allows that.
   */
  readonly finishReason?: FinishReason
  /**
   * The prompt's text or its end, which shows if the answer begins inside reasoning. Without it, an unmatched
   * `</think>` is assumed to end what the template opened.
   */
  readonly prompt?: string
  /** False: no text is read as a call. Default true. */
  readonly areCalled?: boolean
}

export interface Reading {
  /** The reasoning before the visible text, if any. */
  readonly reasoning?: string
  /** The visible text before the first call. Null if there is only reasoning or calls. */
  readonly content: string | null
  readonly calls: ReadonlyArray<ReadCall>
  /** Everything before the first call verbatim, including reasoning; the whole text without calls. */
  readonly beforeCalls: string
}

export interface ForcedCall {
  readonly before: string
  readonly behind: string
  readonly argumentsKey: string
}

export interface OutputFormat {
  /** `unknown`: calls are not read. */
  readonly name: FormatName | "unknown"
  readonly read: (text: string, context?: ReadContext) => Reading
  /**
   * The text of an assistant message (`reasoning_content`, `content`, `tool_calls`) as the model would have written it,
   * without the end token. `prompt`: the preceding text, as for `read`.
   */
  readonly write: (message: Message, context?: Pick<ReadContext, "prompt">) => string
  /**
   * True if the chat template accepts such a text as the `content` of an assistant message and writes it verbatim. If
   * not (it has its own frame around content, or checks the order of roles), messages are passed to the template with
   * their `tool_calls` and `reasoning_content`.
   */
  readonly isContent: boolean
  /** Converts messages to the chat template's form (its own keys and ids), if it does not accept such a text. */
  readonly forTemplate: (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>
  /** True if markers are special tokens even without tools, so that text must be decoded with special tokens. */
  readonly hasSpecialMarks: boolean
  /** Markers in an answer; absent if an answer has a frame and can only be read as a whole. */
  readonly marks?: {
    /** Opening markers of calls; nothing after one is certainly text. */
    readonly calls: ReadonlyArray<string>
    /** Markers of reasoning, and of the end of an answer. */
    readonly around: ReadonlyArray<string>
  }
  /**
   * Text that forces an answer to be a call: before and after an object with `name` and, under this key, the
   * arguments. Absent if a call is no such object.
   */
  readonly forcedCall?: ForcedCall
  /** An id for a new call in the chat template's form, from random letters and digits (at least 9). */
  readonly callId: (letters: string) => string
}
