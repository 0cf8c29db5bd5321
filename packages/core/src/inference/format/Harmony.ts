/**
 * gpt-oss: an answer is a sequence of messages, each in a channel. `analysis` is reasoning, `final` is the answer,
 * `commentary` is shown along the way; a message to a function is a call.
 *
 *     <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>commentary to=functions.search
 *     <|constrain|>json<|message|>{"q": "cats"}<|call|>
 *
 * The prompt ends with `<|start|>assistant`, so the first message begins in its middle. The template has its own frame
 * and keys, and one call per message, followed by its result.
 */
import { type Message, text as textOf } from "../../trajectory/Message.ts"
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall, Reading, ReadContext } from "./OutputFormat.ts"

const start = "<|start|>"
const channelMark = "<|channel|>"
const messageMark = "<|message|>"
const endMark = "<|end|>"
const callMark = "<|call|>"
const returnMark = "<|return|>"
const ends = [endMark, callMark, returnMark, start, channelMark]
const namespace = "functions."

/** One message: its range, channel, recipient and content. */
interface Part {
  readonly from: number
  readonly channel: string
  readonly recipient: string | undefined
  readonly body: string
}

const word = /^\s*([^\s<]*)/
const addressee = /\bto=([^\s<]+)/

/** Positions of all markers that may end a message, in order. */
const marksIn = (text: string): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = text.indexOf("<|"); at !== -1; at = text.indexOf("<|", at + 2)) {
    if (ends.some((mark) => text.startsWith(mark, at))) found.push(at)
  }
  return found
}

/** The messages of a text; linear in it. */
const partsOf = (text: string): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  const marks = marksIn(text)
  let next = 0
  for (let from = 0; from < text.length;) {
    const message = text.indexOf(messageMark, from)
    if (message === -1) break
    const header = text.slice(from, message)
    const channelAt = header.indexOf(channelMark)
    const channel = channelAt === -1 ? "" : (word.exec(header.slice(channelAt + channelMark.length))?.[1] ?? "")
    const recipient = addressee.exec(header)?.[1]
    const begin = message + messageMark.length
    const brace = recipient === undefined ? -1 : CallJson.skipBlanks(text, begin)
    // A call ends where its JSON does: markers inside strings are ignored.
    const least = brace !== -1 && text[brace] === "{" ? (CallJson.endOf(text, brace) ?? text.length) : begin
    while (next < marks.length && marks[next]! < least) next++
    const end = marks[next] ?? text.length
    parts.push({ from, channel, recipient, body: text.slice(begin, end) })
    const mark = ends.find((one) => text.startsWith(one, end)) ?? ""
    // A marker that opens the next message belongs to it.
    from = mark === start || mark === channelMark ? end : end + mark.length
    if (end === text.length) break
  }
  return parts
}

/** The open message at the end of a prompt. */
const openedBy = (prompt: string): string => {
  const at = prompt.lastIndexOf(start)
  return at === -1 || prompt.indexOf(endMark, at) !== -1 ? "" : prompt.slice(at)
}

const callOf = ({ body, recipient = "" }: Part): ReadCall | undefined => {
  const name = recipient.startsWith(namespace) ? recipient.slice(namespace.length) : recipient
  return CallJson.argumentsOf(name, body.trim() === "" ? "{}" : body)
}

const read = (text: string, { areCalled = true, prompt = "" }: ReadContext = {}): Reading => {
  const opened = openedBy(prompt)
  const said = opened + text
  const parts = partsOf(said)
  if (parts.length === 0) return { content: text, calls: [], beforeCalls: text }
  const thoughts = parts.filter(({ channel, recipient }) => channel === "analysis" && recipient === undefined)
  const reasoning = thoughts.map(({ body }) => body).join("\n")
  const first = parts.find(({ recipient }) => recipient !== undefined)
  const asked = areCalled ? parts.filter(({ recipient }) => recipient !== undefined) : []
  const read = asked.map(callOf)
  const calls = read.includes(undefined) ? [] : read.filter((one) => one !== undefined)
  // If calls are invalid, everything from the first of them on is text.
  const isText = first !== undefined && calls.length === 0
  const visible = parts.filter(
    ({ channel, from, recipient }) =>
      recipient === undefined && channel !== "analysis" && !(isText && from >= first.from)
  )
  const rest = isText ? said.slice(Math.max(first.from, opened.length)) : ""
  const content = visible.map(({ body }) => body).join("") + rest
  return {
    ...(reasoning !== "" && { reasoning }),
    content: visible.length === 0 && rest === "" ? null : content,
    calls,
    beforeCalls:
      first === undefined || calls.length === 0 ? text : text.slice(0, Math.max(0, first.from - opened.length))
  }
}

const write = (message: Message): string => {
  const { reasoning_content: reasoning } = message
  const content = textOf(message)
  const calls = Marked.askedBy(message)
  const said = calls.length > 0 ? "commentary" : "final"
  const written = [
    ...(reasoning === undefined || reasoning === null || reasoning === ""
      ? []
      : [`${channelMark}analysis${messageMark}${reasoning}${endMark}`]),
    ...(content === "" && (calls.length > 0 || message.content === null)
      ? []
      : [`${channelMark}${said}${messageMark}${content}${calls.length > 0 ? endMark : ""}`]),
    ...calls.map(
      ({ json, name }, index) =>
        `${channelMark}commentary to=${namespace}${name} <|constrain|>json${messageMark}${CallJson.rewrite(json)}` +
        (index < calls.length - 1 ? callMark : "")
    )
  ]
  return written.join(`${start}assistant`)
}

/** Messages in the template's form: reasoning in `thinking`, and no content with calls. */
const forTemplate = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const turns: Array<Message> = []
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role !== "assistant") {
      turns.push(message)
      continue
    }
    const { reasoning_content: reasoning, tool_calls: calls = [], ...rest } = message
    const thinking = reasoning ?? ""
    if (calls.length === 0) {
      turns.push({ ...rest, content: textOf(message), ...(thinking !== "" && { thinking }) })
      continue
    }
    const results: Array<Message> = []
    while (messages[at + 1]?.role === "tool") results.push(messages[++at]!)
    const thought = [thinking, textOf(message)].filter((text) => text !== "").join("\n\n")
    for (const [index, call] of calls.entries()) {
      const { content: _, ...bare } = rest
      turns.push({
        ...bare,
        content: "",
        ...(index === 0 && thought !== "" && { thinking: thought }),
        tool_calls: [call]
      })
      const own = results.findIndex(({ tool_call_id: id }) => id !== undefined && id === call.id)
      // A result without an id belongs to the next call.
      const mine = own === -1 ? results.findIndex(({ tool_call_id: id }) => id === undefined) : own
      if (mine !== -1) turns.push(...results.splice(mine, 1))
    }
    turns.push(...results)
  }
  return turns
}

export const format: OutputFormat = {
  name: "harmony",
  isContent: false,
  hasSpecialMarks: true,
  callId: Marked.usualId,
  forTemplate,
  read,
  write
}
