/**
 * Llama 3.1, 3.2, 3.3: the whole answer is JSON, after `<|python_tag|>` or without a marker; several calls are
 * separated by semicolons.
 *
 *     {"name": "search", "parameters": {"q": "cats"}}
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ThinkTags from "./ThinkTags.ts"

const mark = "<|python_tag|>"
const separator = /[\s;,]/

const behindSeparators = (text: string, from: number): number => {
  let at = from
  while (at < text.length && separator.test(text[at]!)) at++
  return at
}

export const format: OutputFormat = Marked.make({
  name: "llama3-json",
  thinking: ThinkTags.think,
  ends: ["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"],
  separator: "",
  opens: [mark, "{"],
  forcedCall: { before: "", behind: "", argumentsKey: "parameters" },
  readCalls: (text) => {
    const marked = text.indexOf(mark)
    const first = marked === -1 ? CallJson.skipBlanks(text, 0) : marked + mark.length
    const calls: Array<ReadCall> = []
    for (let at = CallJson.skipBlanks(text, first); at < text.length;) {
      const end = text[at] === "{" ? CallJson.endOf(text, at) : undefined
      const call = end === undefined ? undefined : CallJson.call(text.slice(at, end), ["parameters", "arguments"])
      if (end === undefined || call === undefined) return undefined
      calls.push(call)
      at = behindSeparators(text, end)
      if (text.startsWith(mark, at)) at = CallJson.skipBlanks(text, at + mark.length)
    }
    return { at: marked === -1 ? 0 : marked, calls }
  },
  // After text, the marker shows where the calls begin.
  writeCalls: (calls, content) =>
    (content === "" ? "" : mark) +
    calls
      .map(({ json, name }) => `{"name": ${JSON.stringify(name)}, "parameters": ${CallJson.rewrite(json)}}`)
      .join("; ")
})
