/**
 * DeepSeek V3.2 and MiniMax M2: a tag for each call and one for each parameter.
 *
 *     <minimax:tool_call>
 *     <invoke name="search">
 *     <parameter name="q">cats</parameter>
 *     </invoke>
 *     </minimax:tool_call>
 *
 *     <｜DSML｜function_calls>
 *     <｜DSML｜invoke name="search">
 *     <｜DSML｜parameter name="q" string="true">cats</｜DSML｜parameter>
 *     </｜DSML｜invoke>
 *     </｜DSML｜function_calls>
 *
 * DeepSeek says of each value whether it is a text; MiniMax leaves that to the tool's schema.
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ParameterTypes from "./ParameterTypes.ts"
import * as TagPairs from "./TagPairs.ts"
import * as ThinkTags from "./ThinkTags.ts"

/** A text with line breaks at its ends keeps them by one more at each. */
const framed = (text: string): string => (/^\n|\n$/.test(text) ? `\n${text}\n` : text)

interface Tags {
  readonly all: string
  readonly prefix: string
  readonly saysText: boolean
}

/** What stands in a tag whose name ends at `from`, and where it ends. */
const attributes = (text: string, from: number, pattern: RegExp) => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  return found === null ? undefined : { name: found[1]!, text: found[2], end: pattern.lastIndex }
}

const make = (
  name: "deepseek-v32" | "minimax-m2",
  tags: Tags,
  rest: Pick<Marked.Grammar, "ends" | "thinking" | "separator">
): OutputFormat => {
  const { all, prefix, saysText } = tags
  const [allOpen, allClose] = [`<${all}>`, `</${all}>`]
  const invokeOpen = `<${prefix}invoke`
  const invokeClose = `</${prefix}invoke>`
  const parameterOpen = `<${prefix}parameter`
  const parameterClose = `</${prefix}parameter>`
  const invoke = /\s+name="([^"]+)"\s*>/y
  const parameter = saysText ? /\s+name="([^"]+)"\s+string="(true|false)"\s*>/y : /\s+name="([^"]+)"\s*>/y

  const readInvoke = (
    text: string,
    from: number,
    tools: ReadonlyArray<unknown> | undefined
  ): { readonly call: ReadCall; readonly end: number } | undefined => {
    const named = text.startsWith(invokeOpen, from) ? attributes(text, from + invokeOpen.length, invoke) : undefined
    if (named === undefined) return undefined
    const pairs: Array<ParameterTypes.Pair> = []
    let at = CallJson.skipBlanks(text, named.end)
    while (text.startsWith(parameterOpen, at)) {
      const key = attributes(text, at + parameterOpen.length, parameter)
      const value = key && TagPairs.endOfValue(text, key.end, parameterClose, [parameterOpen, invokeClose])
      if (key === undefined || value === undefined) return undefined
      const written = text.slice(key.end, value.end)
      pairs.push([key.name, saysText ? written : TagPairs.withoutBreaks(written), key.text === "true"])
      at = value.next
    }
    if (!text.startsWith(invokeClose, at)) return undefined
    const call = ParameterTypes.call(named.name, pairs, tools, saysText ? "json" : "text")
    return call && { call, end: at + invokeClose.length }
  }

  const writeCall = ({ json, name }: Marked.Asked): string =>
    [
      `${invokeOpen} name="${name}">`,
      ...ParameterTypes.pairsOf(json).map(
        ({ isText, key, text }) =>
          `${parameterOpen} name="${key}"${saysText ? ` string="${isText}"` : ""}>${saysText ? text : framed(text)}${parameterClose}`
      ),
      invokeClose
    ].join("\n")

  return Marked.make({
    name,
    ...rest,
    opens: [allOpen],
    readCalls: (text, { tools }) => {
      const first = text.indexOf(allOpen)
      const calls: Array<ReadCall> = []
      for (let from = first; from !== -1;) {
        let at = CallJson.skipBlanks(text, from + allOpen.length)
        while (!text.startsWith(allClose, at)) {
          const read = readInvoke(text, at, tools)
          if (read === undefined) return undefined
          calls.push(read.call)
          at = CallJson.skipBlanks(text, read.end)
        }
        from = text.indexOf(allOpen, at + allClose.length)
      }
      return { at: first, calls }
    },
    writeCalls: (calls) => `${allOpen}\n${calls.map(writeCall).join("\n")}\n${allClose}`
  })
}

export const dsml = make(
  "deepseek-v32",
  { all: "｜DSML｜function_calls", prefix: "｜DSML｜", saysText: true },
  { thinking: ThinkTags.tightThink, ends: ["<｜end▁of▁sentence｜>"], separator: "\n\n" }
)

export const miniMax = make(
  "minimax-m2",
  { all: "minimax:tool_call", prefix: "", saysText: false },
  { thinking: ThinkTags.think, ends: ["[e~["], separator: "\n" }
)
