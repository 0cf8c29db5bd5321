/**
 * Mistral's models: a list of calls after one marker, or, since 2025, a marker before each call. All variants are
 * supported.
 *
 *     [TOOL_CALLS][{"name": "search", "arguments": {"q": "cats"}}]
 *     [TOOL_CALLS]search[ARGS]{"q": "cats"}
 *
 * Their templates check that roles alternate, excluding calls and results, so messages are passed with their
 * `tool_calls`; ids must have nine letters or digits, so others are replaced by one derived from them.
 */
import type { Message } from "../../trajectory/Message.ts"
import * as CallJson from "./CallJson.ts"
import * as Marked from "./Marked.ts"
import type { OutputFormat, ReadCall } from "./OutputFormat.ts"
import * as ThinkTags from "./ThinkTags.ts"

const mark = "[TOOL_CALLS]"
const idMark = "[CALL_ID]"
const argumentsMark = "[ARGS]"

interface Read {
  readonly calls: ReadonlyArray<ReadCall>
  readonly end: number
}

/** A list of calls, or a single one, as JSON at `from`. */
const readJson = (text: string, from: number): Read | undefined => {
  const end = CallJson.endOf(text, from)
  if (end === undefined) return undefined
  const json = text.slice(from, end)
  const calls = CallJson.callsOf(json, ["arguments"])
  return calls && { calls, end }
}

const readNamed = (text: string, from: number): Read | undefined => {
  let at = from
  while (at < text.length && text[at] !== "[" && text[at] !== "{") at++
  const name = text.slice(from, at).trim()
  if (text.startsWith(idMark, at)) {
    at += idMark.length
    while (at < text.length && text[at] !== "[" && text[at] !== "{") at++
  }
  if (text.startsWith(argumentsMark, at)) at = CallJson.skipBlanks(text, at + argumentsMark.length)
  const end = text[at] === "{" ? CallJson.endOf(text, at) : undefined
  const call = end === undefined ? undefined : CallJson.argumentsOf(name, text.slice(at, end))
  return end === undefined || call === undefined ? undefined : { calls: [call], end }
}

const isId = /^[a-zA-Z0-9]{9}$/

const letters = (part: number): string => (part >>> 0).toString(36).padStart(7, "0")

/** Nine letters and digits derived deterministically from an id. */
const shortId = (id: string): string => {
  if (isId.test(id)) return id
  let [high, low] = [0x811c9dc5, 0x01000193]
  for (let at = 0; at < id.length; at++) {
    high = Math.imul(high ^ id.charCodeAt(at), 0x01000193)
    low = Math.imul(low + id.charCodeAt(at), 0x5bd1e995) ^ (low >>> 13)
  }
  return (letters(high).slice(-5) + letters(low)).slice(0, 9)
}

const forTemplate = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> =>
  messages.map((message, index): Message => {
    const { tool_call_id: id, tool_calls: calls } = message
    if (id === undefined && calls === undefined) return message
    const { tool_calls: _, ...rest } = message
    return {
      ...rest,
      ...(id !== undefined && { tool_call_id: shortId(id) }),
      // These templates do not accept an empty list.
      ...(calls !== undefined &&
        calls.length > 0 && {
          tool_calls: calls.map((call, at) => ({ ...call, id: shortId(call.id ?? `${index} ${at}`) }))
        })
    }
  })

const make = (isNamed: boolean, thinking: ThinkTags.Tags): OutputFormat =>
  Marked.make({
    name: "mistral",
    thinking,
    ends: ["</s>"],
    separator: "",
    isContent: false,
    hasSpecialMarks: true,
    callId: (random) => random.slice(0, 9).padStart(9, "0"),
    forTemplate,
    opens: [mark],
    readCalls: (text) => {
      const first = text.indexOf(mark)
      const calls: Array<ReadCall> = []
      for (let from = first; from !== -1;) {
        const start = CallJson.skipBlanks(text, from + mark.length)
        const isJson = text[start] === "[" || text[start] === "{"
        const read = isJson ? readJson(text, start) : readNamed(text, start)
        if (read === undefined) return undefined
        calls.push(...read.calls)
        from = text.indexOf(mark, read.end)
      }
      // Some vocabularies put a space before every text.
      return { at: first === 1 && text[0] === " " ? 0 : first, calls }
    },
    writeCalls: (calls) =>
      isNamed
        ? calls.map(({ json, name }) => `${mark}${name}${argumentsMark}${CallJson.rewrite(json)}`).join("")
        : `${mark}[${calls
            .map(({ json, name }) => `{"name": ${JSON.stringify(name)}, "arguments": ${CallJson.rewrite(json)}}`)
            .join(", ")}]`
  })

const listed = make(false, ThinkTags.think)
const named = make(true, ThinkTags.think)
const listedThinking = make(false, ThinkTags.bracketThink)
const namedThinking = make(true, ThinkTags.bracketThink)

/** The variant that the template writes; without one, that of current models. */
export const format = (template: string | undefined): OutputFormat => {
  if (template === undefined) return namedThinking
  const isThinking = template.includes(ThinkTags.bracketThink.open)
  if (template.includes(argumentsMark)) return isThinking ? namedThinking : named
  return isThinking ? listedThinking : listed
}
