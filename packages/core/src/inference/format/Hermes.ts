/**
 * Hermes, Qwen2.5, Qwen3 and most others: JSON between tags, one pair of tags per call.
 *
 *     <think>
 *     …
 *     </think>
 *
 *     Let me see.
 *     <tool_call>
 *     {"name": "search", "arguments": {"q": "cats"}}
 *     </tool_call>
 *
 * As in vLLM's parser, the end of the answer may replace the last closing tag.
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ThinkTags from "./ThinkTags.ts"

const open = "<tool_call>"
const close = "</tool_call>"

export const format: OutputFormat = Marked.make({
  name: "hermes",
  thinking: ThinkTags.think,
  ends: ["<|im_end|>", "<|endoftext|>"],
  separator: "\n",
  opens: [open],
  forcedCall: { before: `${open}\n`, behind: `\n${close}`, argumentsKey: "arguments" },
  readCalls: (text, { finishReason }) => {
    const first = text.indexOf(open)
    const calls: Array<ReadCall> = []
    for (let from = first; from !== -1;) {
      // The call ends where the JSON ends: markers inside strings are ignored.
      const start = CallJson.skipBlanks(text, from + open.length)
      const end = text[start] === "{" ? CallJson.endOf(text, start) : undefined
      if (end === undefined) return undefined
      const closing = CallJson.skipBlanks(text, end)
      const isEnd = closing === text.length && finishReason !== "length"
      const call =
        isEnd || text.startsWith(close, closing)
          ? CallJson.call(text.slice(start, end), ["arguments"], true)
          : undefined
      if (call === undefined) return undefined
      calls.push(call)
      from = text.indexOf(open, closing + close.length)
    }
    return { at: first, calls }
  },
  writeCalls: (calls) =>
    calls
      .map(
        ({ json, name }) =>
          `${open}\n{"name": ${JSON.stringify(name)}, "arguments": ${CallJson.rewrite(json)}}\n${close}`
      )
      .join("\n")
})
