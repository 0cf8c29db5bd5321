/**
 * Qwen3-Coder, Qwen3.5: a tag for the function and one per parameter, whose text is typed by the tool's schema.
 *
 *     <tool_call>
 *     <function=search>
 *     <parameter=q>
 *     cats
 *     </parameter>
 *     </function>
 *     </tool_call>
 *
 * As in vLLM's parser, the end of the answer may replace the last closing tags, and an answer without any `<tool_call>`
 * may begin its calls at the function.
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ParameterTypes from "./ParameterTypes.ts"
import * as TagPairs from "./TagPairs.ts"
import * as ThinkTags from "./ThinkTags.ts"

const open = "<tool_call>"
const close = "</tool_call>"
const functionOpen = "<function="
const functionClose = "</function>"
const parameterOpen = "<parameter="
const parameterClose = "</parameter>"

/** The value that begins at `from`; all of the rest if no tag ends it and the answer `mayEnd`. */
const valueAt = (text: string, from: number, mayEnd: boolean) => {
  const isLast = [parameterOpen, parameterClose, functionClose, close].every((tag) => !text.includes(tag, from))
  if (isLast) return mayEnd ? { end: text.length, next: text.length } : undefined
  const value = TagPairs.endOfValue(text, from, parameterClose, [parameterOpen, functionClose])
  if (value !== undefined || !mayEnd) return value
  const end = text.lastIndexOf(parameterClose)
  const next = CallJson.skipBlanks(text, end + parameterClose.length)
  return end >= from && next === text.length ? { end, next } : undefined
}

/** Reads a function that begins at `from`, and its end; `mayEnd` if the end of the text may end it. */
const readFunction = (
  text: string,
  from: number,
  tools: ReadonlyArray<unknown> | undefined,
  mayEnd: boolean
): { readonly call: ReadCall; readonly end: number } | undefined => {
  if (!text.startsWith(functionOpen, from)) return undefined
  const named = text.indexOf(">", from)
  if (named === -1) return undefined
  const name = text.slice(from + functionOpen.length, named).trim()
  const pairs: Array<readonly [string, string]> = []
  let at = CallJson.skipBlanks(text, named + 1)
  while (text.startsWith(parameterOpen, at)) {
    const keyEnd = text.indexOf(">", at)
    if (keyEnd === -1) return undefined
    const value = valueAt(text, keyEnd + 1, mayEnd)
    if (value === undefined) return undefined
    const key = text.slice(at + parameterOpen.length, keyEnd).trim()
    pairs.push([key, TagPairs.withoutBreaks(text.slice(keyEnd + 1, value.end))])
    at = value.next
  }
  const isClosed = text.startsWith(functionClose, at)
  if (!isClosed && !(mayEnd && at === text.length)) return undefined
  const call = ParameterTypes.call(name, pairs, tools, "text")
  return call && { call, end: isClosed ? at + functionClose.length : at }
}

/** Python's spelling, as written by the template's `string` filter. */
const pythonWords = new Map([
  ["true", "True"],
  ["false", "False"],
  ["null", "None"]
])

const writeCall = ({ json, name }: Marked.Asked): string =>
  [
    open,
    `${functionOpen}${name}>`,
    ...ParameterTypes.pairsOf(json).flatMap(({ isText, key, text }) => [
      `${parameterOpen}${key}>`,
      isText ? text : (pythonWords.get(text) ?? text),
      parameterClose
    ]),
    functionClose,
    close
  ].join("\n")

export const format: OutputFormat = Marked.make({
  name: "qwen3-coder",
  thinking: ThinkTags.think,
  ends: ["<|im_end|>", "<|endoftext|>"],
  separator: "\n\n",
  opens: [open, functionOpen],
  readCalls: (text, { finishReason, tools }) => {
    const mayEnd = finishReason !== "length"
    const isWrapped = text.includes(open)
    const opening = isWrapped ? open : functionOpen
    const first = text.indexOf(opening)
    const calls: Array<ReadCall> = []
    for (let from = first; from !== -1;) {
      const read = readFunction(text, CallJson.skipBlanks(text, from + (isWrapped ? open.length : 0)), tools, mayEnd)
      if (read === undefined) return undefined
      const closing = CallJson.skipBlanks(text, read.end)
      const isClosed = text.startsWith(close, closing)
      if (isWrapped && !isClosed && !(mayEnd && closing === text.length)) return undefined
      calls.push(read.call)
      from = text.indexOf(opening, isClosed ? closing + close.length : closing)
    }
    return { at: first, calls }
  },
  writeCalls: (calls) => calls.map(writeCall).join("\n")
})
