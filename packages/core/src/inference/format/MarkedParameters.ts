/**
 * DeepSeek V3.2 and MiniMax M2: a tag per call and one per parameter.
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
 * DeepSeek marks each value as a string or not; MiniMax relies on the tool's schema. As in vLLM's parsers, names of
 * MiniMax may have other quotes or none, a value may end at the next parameter, and the tags around all calls may be
 * missing.
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ParameterTypes from "./ParameterTypes.ts"
import * as TagPairs from "./TagPairs.ts"
import * as ThinkTags from "./ThinkTags.ts"

interface Tags {
  readonly all: string
  readonly prefix: string
  readonly saysText: boolean
}

/** The attributes of a tag whose name ends at `from`, and its end. */
const attributes = (text: string, from: number, pattern: RegExp) => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  const { bare, flag, ...quoted } = found?.groups ?? {}
  const name = quoted["double"] ?? quoted["single"] ?? bare
  return name === undefined ? undefined : { name, text: flag, end: pattern.lastIndex }
}

const named = /\s+name="(?<double>[^"]+)"\s*>/y
const said = /\s+name="(?<double>[^"]+)"(?:\s+string="(?<flag>true|false)")?\s*>/y
const anyNamed = /\s+name=(?:"(?<double>[^"]+)"|'(?<single>[^']+)'|(?<bare>[^\s"'>]+))\s*>/y
const anotherOpens = /<parameter name=(?:"[^"]+"|'[^']+'|[^\s"'>]+)\s*>/

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
  const invoke = saysText ? named : anyNamed
  const parameter = saysText ? said : anyNamed

  /** Ends at the closing tag, or at a parameter that begins before it. */
  const endOfValue = (text: string, from: number) => {
    const closed = TagPairs.endOfValue(text, from, parameterClose, [parameterOpen, invokeClose])
    const open = saysText ? -1 : text.slice(from, closed?.end ?? text.length).search(anotherOpens)
    return open === -1 ? closed : { end: from + open, next: from + open }
  }

  const readInvoke = (
    text: string,
    from: number,
    tools: ReadonlyArray<unknown> | undefined
  ): { readonly call: ReadCall; readonly end: number } | undefined => {
    const called = text.startsWith(invokeOpen, from) ? attributes(text, from + invokeOpen.length, invoke) : undefined
    if (called === undefined) return undefined
    const pairs: Array<ParameterTypes.Pair> = []
    let at = CallJson.skipBlanks(text, called.end)
    while (text.startsWith(parameterOpen, at)) {
      const key = attributes(text, at + parameterOpen.length, parameter)
      const value = key && endOfValue(text, key.end)
      if (key === undefined || value === undefined) return undefined
      pairs.push([key.name, text.slice(key.end, value.end), key.text === "true"])
      at = value.next
    }
    if (!text.startsWith(invokeClose, at)) return undefined
    const inner = saysText ? ParameterTypes.unwrapped(pairs, called.name, tools) : undefined
    const call =
      inner === undefined
        ? ParameterTypes.call(called.name, pairs, tools, saysText ? "json" : "text")
        : CallJson.argumentsOf(called.name, inner)
    return call && { call, end: at + invokeClose.length }
  }

  const writeCall = ({ json, name }: Marked.Asked): string =>
    [
      `${invokeOpen} name="${name}">`,
      ...ParameterTypes.pairsOf(json).map(
        ({ isText, key, text }) =>
          `${parameterOpen} name="${key}"${saysText ? ` string="${isText}"` : ""}>${text}${parameterClose}`
      ),
      invokeClose
    ].join("\n")

  return Marked.make({
    name,
    ...rest,
    opens: [allOpen, `${invokeOpen} name=`],
    readCalls: (text, { finishReason, tools }) => {
      const framed = text.indexOf(allOpen)
      const first = framed === -1 ? text.indexOf(`${invokeOpen} name=`) : framed
      const calls: Array<ReadCall> = []
      for (let from = first; from !== -1;) {
        let at = framed === -1 ? from : CallJson.skipBlanks(text, from + allOpen.length)
        while (!text.startsWith(allClose, at)) {
          if (at === text.length && calls.length > 0 && finishReason !== "length") break
          if (framed === -1 && calls.length > 0 && !text.startsWith(invokeOpen, at)) break
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
