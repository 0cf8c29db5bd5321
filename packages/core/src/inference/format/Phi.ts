/**
 * Phi-4-mini: a list of calls between markers, or after `functools`.
 *
 *     <|tool_call|>[{"name": "search", "arguments": {"q": "cats"}}]<|/tool_call|>
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat } from "./OutputFormat.ts"
import * as ThinkTags from "./ThinkTags.ts"

const open = "<|tool_call|>"
const close = "<|/tool_call|>"
const word = "functools"

export const format: OutputFormat = Marked.make({
  name: "phi4",
  thinking: ThinkTags.think,
  ends: ["<|end|>", "<|endoftext|>"],
  separator: "",
  opens: [open, `${word}[`],
  readCalls: (text) => {
    const marked = text.indexOf(open)
    const first = marked === -1 ? text.indexOf(`${word}[`) : marked
    if (first === -1) return undefined
    const start = CallJson.skipBlanks(text, first + (marked === -1 ? word.length : open.length))
    const end = text[start] === "[" || text[start] === "{" ? CallJson.endOf(text, start) : undefined
    if (end === undefined) return undefined
    const behind = CallJson.skipBlanks(text, end)
    const isClosed = marked === -1 || behind === text.length || text.startsWith(close, behind)
    const calls = isClosed ? CallJson.callsOf(text.slice(start, end), ["arguments", "parameters"]) : undefined
    return calls && { at: first, calls }
  },
  writeCalls: (calls) => {
    const written = calls.map(
      ({ json, name }) => `{"name": ${JSON.stringify(name)}, "arguments": ${CallJson.rewrite(json)}}`
    )
    return `${open}[${written.join(", ")}]${close}`
  }
})
