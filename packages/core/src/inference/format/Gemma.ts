/**
 * Gemma 4: arguments in its own notation, with bare keys and delimited strings.
 *
 *     <|tool_call>call:search{q:<|"|>cats<|"|>,most:3,tags:[<|"|>a<|"|>],exact:true}<tool_call|>
 */
import { Option } from "effect"
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import type { Literal } from "./PythonLiteral.ts"

const open = "<|tool_call>"
const close = "<tool_call|>"
const quote = '<|"|>'
const called = /call:([\w.-]+)(?=\{)/y
const bare = /[^,\]}]*/y
const word = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["none", "null"],
  ["nil", "null"]
])

const deepest = 100

/** The delimited string that begins at `at`. */
const quoted = (text: string, at: number): Literal | undefined => {
  const end = text.startsWith(quote, at) ? text.indexOf(quote, at + quote.length) : -1
  return end === -1 ? undefined : { json: JSON.stringify(text.slice(at + quote.length, end)), end: end + quote.length }
}

/** An undelimited value: a number, a keyword, or else a string. */
const plain = (text: string, at: number): Literal | undefined => {
  bare.lastIndex = at
  const written = bare.exec(text)?.[0] ?? ""
  const trimmed = written.trim()
  const known = word.get(trimmed.toLowerCase()) ?? trimmed.replace(/^(-?)\.(?=\d)/, "$10.")
  const json = Option.isSome(CallJson.decode(known)) && !/^["[{]/.test(known) ? known : JSON.stringify(trimmed)
  return { json, end: at + written.length }
}

const value = (text: string, from: number, levels: number): Literal | undefined => {
  const at = CallJson.skipBlanks(text, from)
  if (levels > deepest) return undefined
  if (text[at] === "{") return object(text, at, levels)
  if (text[at] === "[") return list(text, at, levels)
  return text.startsWith(quote, at) ? quoted(text, at) : plain(text, at)
}

const list = (text: string, from: number, levels: number): Literal | undefined => {
  const items: Array<string> = []
  let at = CallJson.skipBlanks(text, from + 1)
  while (text[at] !== "]") {
    const item = value(text, at, levels + 1)
    if (item === undefined) return undefined
    items.push(item.json)
    at = CallJson.skipBlanks(text, item.end)
    if (text[at] === ",") at = CallJson.skipBlanks(text, at + 1)
    else if (text[at] !== "]") return undefined
  }
  return { json: `[${items.join(", ")}]`, end: at + 1 }
}

const object = (text: string, from: number, levels: number): Literal | undefined => {
  const members: Array<string> = []
  let at = CallJson.skipBlanks(text, from + 1)
  while (text[at] !== "}") {
    const marked = quoted(text, at)
    const colon = text.indexOf(":", marked?.end ?? at)
    if (colon === -1) return undefined
    const key = marked?.json ?? JSON.stringify(text.slice(at, colon).trim())
    const member = value(text, colon + 1, levels + 1)
    if (member === undefined) return undefined
    members.push(`${key}: ${member.json}`)
    at = CallJson.skipBlanks(text, member.end)
    if (text[at] === ",") at = CallJson.skipBlanks(text, at + 1)
    else if (text[at] !== "}") return undefined
  }
  return { json: `{${members.join(", ")}}`, end: at + 1 }
}

/** Bare, unless it would be parsed differently. */
const keyOf = (key: string): string => (/^[\w.-]+$/.test(key) ? key : `${quote}${key}${quote}`)

/** JSON text in this notation. */
const write = (json: string): string => {
  const trimmed = json.trim()
  if (trimmed.startsWith("{"))
    return `{${Array.from(CallJson.members(trimmed), ([key, one]) => `${keyOf(key)}:${write(one)}`).join(",")}}`
  if (trimmed.startsWith("[")) return `[${CallJson.elements(trimmed).map(write).join(",")}]`
  return trimmed.startsWith('"') ? `${quote}${String(JSON.parse(trimmed))}${quote}` : trimmed
}

export const format: OutputFormat = Marked.make({
  name: "gemma4",
  thinking: { open: "<|channel>thought", close: "<channel|>", inside: "\n", behind: "" },
  ends: ["<turn|>", "<eos>"],
  separator: "",
  hasSpecialMarks: true,
  opens: [open],
  readCalls: (text, { finishReason }) => {
    const first = text.indexOf(open)
    const calls: Array<ReadCall> = []
    for (let from = first; from !== -1;) {
      called.lastIndex = from + open.length
      const name = called.exec(text)?.[1]
      const given = name === undefined ? undefined : object(text, called.lastIndex, 0)
      if (name === undefined || given === undefined) return undefined
      // The end of the answer may replace that of the call, as in vLLM's parser.
      const isWhole = given.end === text.length && finishReason !== "length"
      if (!isWhole && !text.startsWith(close, given.end)) return undefined
      const call = CallJson.argumentsOf(name, given.json)
      if (call === undefined) return undefined
      calls.push(call)
      from = text.indexOf(open, given.end + close.length)
    }
    return { at: first, calls }
  },
  writeCalls: (calls) => calls.map(({ json, name }) => `${open}call:${name}${write(json)}${close}`).join("")
})
