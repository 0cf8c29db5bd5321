/**
 * DeepSeek V3, R1 and V3.1, and the models distilled from them.
 *
 *     <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search
 *     ```json
 *     {"q": "cats"}
 *     ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
 *
 * V3.1 writes `<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"q": "cats"}<｜tool▁call▁end｜>`. Both are supported.
 */
import * as CallJson from "./CallJson.ts"
import * as CallSection from "./CallSection.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ThinkTags from "./ThinkTags.ts"

const allOpen = "<｜tool▁calls▁begin｜>"
const allClose = "<｜tool▁calls▁end｜>"
const open = "<｜tool▁call▁begin｜>"
const close = "<｜tool▁call▁end｜>"
const middle = "<｜tool▁sep｜>"
const fence = "```"

/** Reads a call after its opening marker, and its end. */
const readCall = (text: string, from: number): { readonly call: ReadCall; readonly end: number } | undefined => {
  const parted = text.indexOf(middle, from)
  if (parted === -1) return undefined
  const start = parted + middle.length
  const brace = text.indexOf("{", start)
  const end = brace === -1 ? undefined : CallJson.endOf(text, brace)
  if (end === undefined) return undefined
  const between = text.slice(start, brace).trim()
  const isFenced = between !== ""
  if (isFenced && !between.endsWith(`${fence}json`) && !between.endsWith(fence)) return undefined
  const name = isFenced ? between.slice(0, between.lastIndexOf(fence)).trim() : text.slice(from, parted).trim()
  let at = CallJson.skipBlanks(text, end)
  if (text.startsWith(fence, at)) at = CallJson.skipBlanks(text, at + fence.length)
  if (!text.startsWith(close, at)) return undefined
  const call = CallJson.argumentsOf(name, text.slice(brace, end))
  return call && { call, end: at + close.length }
}

const make = (isFenced: boolean): OutputFormat =>
  Marked.make({
    name: "deepseek",
    thinking: isFenced ? ThinkTags.think : ThinkTags.tightThink,
    ends: ["<｜end▁of▁sentence｜>"],
    separator: "",
    opens: [allOpen],
    readCalls: (text) => CallSection.read(text, { allOpen, allClose, open, mayEndOpen: true }, readCall),
    writeCalls: (calls) => {
      const written = calls.map(({ json, name }) =>
        isFenced
          ? `${open}function${middle}${name}\n${fence}json\n${CallJson.rewrite(json)}\n${fence}${close}`
          : `${open}${name}${middle}${CallJson.rewrite(json)}${close}`
      )
      return allOpen + written.join(isFenced ? "\n" : "") + allClose
    }
  })

const fenced = make(true)
const bare = make(false)

/** The variant that the template writes. */
export const format = (template: string | undefined): OutputFormat =>
  template === undefined || template.includes(`${fence}json`) ? fenced : bare
