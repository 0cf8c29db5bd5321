/**
 * Kimi K2: each call has an id that contains its name, and JSON arguments.
 *
 *     <|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"q": "cats"}
 *     <|tool_call_end|><|tool_calls_section_end|>
 *
 * The model writes all of it in one line. As in vLLM's parser, a call may have no arguments, and the end of the section
 * or of the answer may replace that of the call.
 */
import * as CallJson from "./CallJson.ts"
import * as CallSection from "./CallSection.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ThinkTags from "./ThinkTags.ts"

const allOpen = "<|tool_calls_section_begin|>"
const allClose = "<|tool_calls_section_end|>"
const open = "<|tool_call_begin|>"
const middle = "<|tool_call_argument_begin|>"
const close = "<|tool_call_end|>"

/** Reads a call after its opening marker, and its end. */
const readCall = (text: string, from: number): { readonly call: ReadCall; readonly end: number } | undefined => {
  const parted = text.indexOf(middle, from)
  if (parted === -1) return undefined
  const [, name] = /^(?:functions\.)?(.+):\d+$/.exec(text.slice(from, parted).trim()) ?? []
  const start = CallJson.skipBlanks(text, parted + middle.length)
  const isEmpty = text.startsWith(close, start) || text.startsWith(allClose, start)
  const end = isEmpty ? start : text[start] === "{" ? CallJson.endOf(text, start) : undefined
  if (name === undefined || end === undefined) return undefined
  const closing = CallJson.skipBlanks(text, end)
  const isClosed = text.startsWith(close, closing)
  if (!isClosed && !text.startsWith(allClose, closing)) return undefined
  const call = CallJson.argumentsOf(name, isEmpty ? "{}" : text.slice(start, end))
  return call && { call, end: isClosed ? closing + close.length : closing }
}

export const format: OutputFormat = Marked.make({
  name: "kimi-k2",
  thinking: ThinkTags.tightThink,
  ends: ["<|im_end|>", "[EOS]"],
  separator: "",
  opens: [allOpen],
  readCalls: (text, { finishReason }) =>
    CallSection.read(text, { allOpen, allClose, open, mayEndOpen: finishReason !== "length" }, readCall),
  writeCalls: (calls) => {
    const written = calls.map(
      ({ json, name }, index) => `${open}functions.${name}:${index}${middle}${CallJson.rewrite(json)}${close}`
    )
    return allOpen + written.join("") + allClose
  }
})
