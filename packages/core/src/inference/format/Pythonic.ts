/**
 * Llama 4, and Llama 3.2 if prompted accordingly: the whole answer is a list of Python calls, with or without markers.
 *
 *     <|python_start|>[search(q="cats", most=3)]<|python_end|>
 */
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as PythonLiteral from "./PythonLiteral.ts"
import * as ThinkTags from "./ThinkTags.ts"

const open = "<|python_start|>"
const close = "<|python_end|>"
const name = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/y
const key = /[A-Za-z_]\w*(?=\s*=)/y

const match = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** Reads a call that begins at `from`, and its end. */
const readCall = (text: string, from: number): { readonly call: ReadCall; readonly end: number } | undefined => {
  const called = match(name, text, from)
  if (called === undefined) return undefined
  let at = CallJson.skipBlanks(text, from + called.length)
  if (text[at] !== "(") return undefined
  at = CallJson.skipBlanks(text, at + 1)
  const members: Array<string> = []
  while (text[at] !== ")") {
    const argument = match(key, text, at)
    if (argument === undefined) return undefined
    const sign = CallJson.skipBlanks(text, at + argument.length)
    const value = PythonLiteral.read(text, sign + 1)
    if (value === undefined) return undefined
    members.push(`${JSON.stringify(argument)}: ${value.json}`)
    at = CallJson.skipBlanks(text, value.end)
    if (text[at] === ",") at = CallJson.skipBlanks(text, at + 1)
    else if (text[at] !== ")") return undefined
  }
  const call = CallJson.argumentsOf(called, `{${members.join(", ")}}`)
  return call && { call, end: at + 1 }
}

export const format: OutputFormat = Marked.make({
  name: "llama4-pythonic",
  thinking: ThinkTags.think,
  ends: ["<|eot|>", "<|eom|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"],
  separator: "",
  opens: [open, "["],
  readCalls: (text) => {
    const marked = text.indexOf(open)
    let at = CallJson.skipBlanks(text, marked === -1 ? 0 : marked + open.length)
    if (text[at] !== "[") return undefined
    at = CallJson.skipBlanks(text, at + 1)
    const calls: Array<ReadCall> = []
    while (text[at] !== "]") {
      const read = readCall(text, at)
      if (read === undefined) return undefined
      calls.push(read.call)
      at = CallJson.skipBlanks(text, read.end)
      if (text[at] === ",") at = CallJson.skipBlanks(text, at + 1)
      else if (text[at] !== "]") return undefined
    }
    const behind = CallJson.skipBlanks(text, at + 1)
    const end = text.startsWith(close, behind) ? CallJson.skipBlanks(text, behind + close.length) : behind
    return end === text.length ? { at: marked === -1 ? 0 : marked, calls } : undefined
  },
  // After text, the markers show where the calls are.
  writeCalls: (calls, content) => {
    const written = calls.map(({ json, name }) => {
      const members = Array.from(CallJson.members(json), ([key, value]) => `${key}=${PythonLiteral.write(value)}`)
      return `${name}(${members.join(", ")})`
    })
    const list = `[${written.join(", ")}]`
    return content === "" ? list : `${open}${list}${close}`
  }
})
