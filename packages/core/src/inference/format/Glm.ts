/**
 * GLM-4.5 and later: the name, then keys and values in tags; strings verbatim, anything else as JSON.
 *
 *     <tool_call>search
 *     <arg_key>q</arg_key>
 *     <arg_value>cats</arg_value>
 *     </tool_call>
 *
 * GLM-4.7 and later write the same without line breaks. Both are supported.
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ParameterTypes from "./ParameterTypes.ts"
import * as TagPairs from "./TagPairs.ts"
import * as ThinkTags from "./ThinkTags.ts"

const open = "<tool_call>"
const close = "</tool_call>"
const keyOpen = "<arg_key>"
const keyClose = "</arg_key>"
const valueOpen = "<arg_value>"
const valueClose = "</arg_value>"

/** Reads a call whose name begins at `from`, and its end. */
const readCall = (
  text: string,
  from: number,
  tools: ReadonlyArray<unknown> | undefined
): { readonly call: ReadCall; readonly end: number } | undefined => {
  const named = text.indexOf("<", from)
  if (named === -1) return undefined
  const pairs: Array<readonly [string, string]> = []
  let at = named
  while (text.startsWith(keyOpen, at)) {
    const keyEnd = text.indexOf(keyClose, at)
    if (keyEnd === -1) return undefined
    const valueAt = CallJson.skipBlanks(text, keyEnd + keyClose.length)
    if (!text.startsWith(valueOpen, valueAt)) return undefined
    const start = valueAt + valueOpen.length
    const value = TagPairs.endOfValue(text, start, valueClose, [keyOpen, close])
    if (value === undefined) return undefined
    pairs.push([text.slice(at + keyOpen.length, keyEnd).trim(), text.slice(start, value.end)])
    at = value.next
  }
  if (!text.startsWith(close, at)) return undefined
  const call = ParameterTypes.call(text.slice(from, named).trim(), pairs, tools, "json")
  return call && { call, end: at + close.length }
}

/** `lineBreak`: the separator between the parts of a call. */
const make = (lineBreak: "" | "\n"): OutputFormat =>
  Marked.make({
    name: "glm",
    thinking: lineBreak === "" ? ThinkTags.tightThink : { ...ThinkTags.tightThink, behind: "\n" },
    ends: ["<|user|>", "<|observation|>", "<|endoftext|>"],
    separator: lineBreak,
    opens: [open],
    readCalls: (text, { tools }) => {
      const first = text.indexOf(open)
      const calls: Array<ReadCall> = []
      for (let from = first; from !== -1;) {
        const read = readCall(text, from + open.length, tools)
        if (read === undefined) return undefined
        calls.push(read.call)
        from = text.indexOf(open, read.end)
      }
      return { at: first, calls }
    },
    writeCalls: (calls) =>
      calls
        .map(({ json, name }) =>
          [
            `${open}${name}`,
            ...ParameterTypes.pairsOf(json).flatMap(({ key, text }) => [
              `${keyOpen}${key}${keyClose}`,
              `${valueOpen}${text}${valueClose}`
            ]),
            close
          ].join(lineBreak)
        )
        .join(lineBreak)
  })

const broken = make("\n")
const tight = make("")

/** The variant that the template writes. */
export const format = (template: string | undefined): OutputFormat =>
  template?.includes(`${keyClose}${valueOpen}`) === true ? tight : broken
