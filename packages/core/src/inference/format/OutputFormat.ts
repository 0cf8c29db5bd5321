/**
 * How a family of models writes its answers: thinking, visible text and tool calls, all in one text.
 *
 * A format reads any text whatsoever in time linear in it and never throws: what is no call of the format is text, as
 * inference servers do it. All calls of an answer are read or none: where one of them is malformed or cut off, the
 * whole is text. What `write` makes of a message, `read` gives back.
 */
import { Schema } from "effect"
import type { Message } from "../../Message.ts"
import type { FinishReason } from "../../Trajectory.ts"

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
  "llama4-pythonic", // [name(key=value)]: Llama 4, and 3.2 where it is prompted so
  "minimax-m2", // <minimax:tool_call>: MiniMax M2
  "phi4", // <|tool_call|>[{"name": …, "arguments": …}]: Phi-4-mini
  "harmony" // channels: gpt-oss
])
export type FormatName = typeof FormatName.Type

/** What the setting `tool_call_format` may be: `auto` is the format that the tokenizer says (`Formats.of`). */
export const Setting = Schema.Literals(["auto", ...FormatName.literals])
export type Setting = typeof Setting.Type

/** A call by its name and arguments. */
export interface Call {
  readonly name: string
  readonly arguments: unknown
}

/** A call in an answer. */
export interface ReadCall extends Call {
  /** The arguments as JSON text with Python's blanks; keys and numbers as the model wrote them, where it wrote JSON. */
  readonly json: string
}

export interface ReadContext {
  /** The request's tools (OpenAI's definitions): formats without types of their own take them from the schemas. */
  readonly tools?: ReadonlyArray<unknown>
  /** `length`: what is not closed was cut off; else the end of the answer may close it, where the format has it so. */
  readonly finishReason?: FinishReason
  /**
   * The text of the prompt, or its end: it says whether the answer begins in the middle of thinking. Without it a
   * `</think>` that nothing opens is taken for the end of what the template opened.
   */
  readonly prompt?: string
  /** False: tools were not to be called, so that nothing is a call. Default true. */
  readonly areCalled?: boolean
}

/** What an answer says. */
export interface Reading {
  /** What was thought before the visible text; absent where nothing was. */
  readonly reasoning?: string
  /** The visible text before the first call. Null where there is none beside thinking or calls. */
  readonly content: string | null
  readonly calls: ReadonlyArray<ReadCall>
  /** Everything before the first call, as it stands, thinking and all; the whole text where nothing is called. */
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
   * without the token that ends it. `prompt`: what it follows, as for `read`.
   */
  readonly write: (message: Message, context?: Pick<ReadContext, "prompt">) => string
  /**
   * Whether the chat template takes such a text as the `content` of an assistant message and writes it as it stands.
   * Where it does not (it has its own frame around content, or checks the order of roles), messages go to the template
   * with their `tool_calls` and `reasoning_content`.
   */
  readonly isContent: boolean
  /** Messages as the chat template takes them (its own keys, ids in its shape) where it does not take such a text. */
  readonly forTemplate: (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>
  /** Whether marks are special tokens even without tools, so that text has to be decoded with special tokens. */
  readonly hasSpecialMarks: boolean
  /** What stands in an answer beside its words; absent where an answer has a frame and is read whole alone. */
  readonly marks?: {
    /** What calls begin with; nothing from there on is sure to be text. */
    readonly calls: ReadonlyArray<string>
    /** What thinking begins and ends with, and what ends an answer. */
    readonly around: ReadonlyArray<string>
  }
  /**
   * How an answer is held to be a call: what stands before and behind an object of `name` and, under this key, the
   * arguments. Absent where a call is no such object.
   */
  readonly forcedCall?: ForcedCall
  /** An id for a new call, of random letters and digits (at least 9), in the shape that the chat template takes. */
  readonly callId: (letters: string) => string
}
