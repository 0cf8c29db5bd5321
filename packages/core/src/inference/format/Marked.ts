/**
 * Formats whose answers are reasoning, then text, then calls after markers: all except those with channels.
 *
 * A grammar defines how calls are read and written; this module has the common part.
 */
import { type Message, text as textOf } from "../../trajectory/Message.ts"
import type { FormatName, OutputFormat, ReadCall, ReadContext } from "./OutputFormat.ts"
import * as ThinkTags from "./ThinkTags.ts"

/** The calls of a text, and where the first one begins. */
export interface Calls {
  readonly at: number
  readonly calls: ReadonlyArray<ReadCall>
}

/** A call to write: a name and JSON text. */
export interface Asked {
  readonly name: string
  readonly json: string
  readonly id: string | undefined
}

export interface Grammar {
  readonly name: FormatName | "unknown"
  readonly thinking: ThinkTags.Tags
  /** Tokens that end an answer. They are not text, even if they are not the tokenizer's end token. */
  readonly ends: ReadonlyArray<string>
  /** Opening markers of calls. */
  readonly opens: ReadonlyArray<string>
  /** Undefined if the text has no calls, or invalid ones. */
  readonly readCalls: (text: string, context: ReadContext) => Calls | undefined
  readonly writeCalls: (calls: ReadonlyArray<Asked>, content: string) => string
  /** Separator between text and calls, part of neither. */
  readonly separator: "" | "\n" | "\n\n"
  readonly isContent?: boolean
  readonly hasSpecialMarks?: boolean
  readonly forTemplate?: OutputFormat["forTemplate"]
  readonly callId?: OutputFormat["callId"]
  readonly forcedCall?: OutputFormat["forcedCall"]
}

/** The calls of a message from any source. */
export const askedBy = ({ tool_calls: calls = [] }: Message): ReadonlyArray<Asked> =>
  calls.map(({ function: { arguments: json, name }, id }) => ({ name, json, id }))

export const usualId = (letters: string): string => `call_${letters}`

export const make = (grammar: Grammar): OutputFormat => ({
  name: grammar.name,
  isContent: grammar.isContent ?? true,
  hasSpecialMarks: grammar.hasSpecialMarks ?? false,
  forTemplate: grammar.forTemplate ?? ((messages) => messages),
  callId: grammar.callId ?? usualId,
  ...(grammar.forcedCall && { forcedCall: grammar.forcedCall }),
  marks: { calls: grammar.opens, around: [grammar.thinking.open, grammar.thinking.close, ...grammar.ends] },
  read: (text, context = {}) => {
    const end = grammar.ends.find((one) => text.endsWith(one))
    const said = end === undefined ? text : text.slice(0, -end.length)
    const { end: from, reasoning } = ThinkTags.split(said, grammar.thinking, context.prompt)
    const visible = said.slice(from)
    const thought = reasoning === undefined ? {} : { reasoning }
    const found = context.areCalled === false ? undefined : grammar.readCalls(visible, context)
    if (found === undefined || found.calls.length === 0) {
      return {
        ...thought,
        content: visible === "" && from > 0 ? null : visible,
        calls: [],
        beforeCalls: text
      }
    }
    const before = visible.slice(0, found.at)
    const { separator } = grammar
    const content = separator !== "" && before.endsWith(separator) ? before.slice(0, -separator.length) : before
    return {
      ...thought,
      content: content === "" ? null : content,
      calls: found.calls,
      beforeCalls: text.slice(0, from + found.at)
    }
  },
  write: (message, { prompt } = {}) => {
    const content = textOf(message)
    const calls = askedBy(message)
    const parts = [content, calls.length > 0 ? grammar.writeCalls(calls, content) : ""].filter((part) => part !== "")
    const { reasoning_content: reasoning } = message
    return ThinkTags.write(reasoning ?? "", parts.join(grammar.separator), grammar.thinking, prompt)
  }
})
