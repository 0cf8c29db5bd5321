/**
 * Tool calls in the Hermes format, from a model's text to OpenAI's shape and back.
 *
 *     <tool_call>{"name": "search", "arguments": {"q": "cats"}}</tool_call>
 *
 * A `Translator` remembers the exact text behind every call it hands out, so that a later turn that sends the call back
 * is rendered as the model wrote it, token for token. A truncated answer keeps `length` as its finish reason. Follows
 * the original's tool_call_translator.py and tool_call_parser.py.
 */
import { Effect, Option, Predicate, Random, Schema } from "effect"
import * as Nesting from "../base/Nesting.ts"
import * as RepeatedKeys from "../base/RepeatedKeys.ts"
import type { Message, ToolCall } from "../Message.ts"
import { text as textOf } from "../Message.ts"
import type { FinishReason } from "../Trajectory.ts"

/** What a completion says once its tool calls are taken out. */
export interface ParsedAnswer {
  /** What stands before the first call; the whole text where there is none. Null where nothing stands before it. */
  readonly content: string | null
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason
}

export interface Translator {
  /**
   * Reads the calls out of a completion and remembers its text under their ids. Malformed or unclosed calls are text.
   */
  readonly parse: (text: string, finishReason: FinishReason) => Effect.Effect<ParsedAnswer>
  /** Turns the calls of assistant messages back into the text they came from, or into freshly written calls. */
  readonly toText: (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>
}

const start = "<tool_call>"
const end = "</tool_call>"

/** What stands in each closed call, in time linear in the text. */
const blocksOf = (text: string): ReadonlyArray<string> => {
  const blocks: Array<string> = []
  for (let from = text.indexOf(start); from !== -1;) {
    const to = text.indexOf(end, from + start.length)
    if (to === -1) break
    blocks.push(text.slice(from + start.length, to))
    from = text.indexOf(start, to + end.length)
  }
  return blocks
}

/** A translator with an empty memory; it belongs to one session. */
export const makeTranslator = (): Translator => {
  const written = new Map<string, string>()
  const parse = Effect.fnUntraced(function* (text: string, finishReason: FinishReason) {
    const calls = readCalls(text)
    if (calls.length === 0) return { content: text, toolCalls: [], finishReason }
    const toolCalls: Array<ToolCall> = []
    for (const { arguments: value, name } of calls) {
      const id = `call_${letters(yield* Random.nextInt)}${letters(yield* Random.nextInt)}`
      written.set(id, text)
      toolCalls.push({ id, type: "function", function: { name, arguments: writeJson(value) } })
    }
    const content = text.slice(0, text.indexOf(start))
    return {
      content: content === "" ? null : content,
      toolCalls,
      finishReason: finishReason === "length" ? finishReason : "tool_calls"
    }
  })
  const toText = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> =>
    messages.map((message) => {
      const [first] = message.tool_calls ?? []
      if (message.role !== "assistant" || first === undefined) return message
      return { role: "assistant", content: written.get(first.id ?? "") ?? writeCalls(message) }
    })
  return { parse, toText }
}

/** The text of an assistant message whose calls came from elsewhere: its content, then one line per call. */
export const writeCalls = (message: Message): string =>
  [
    ...[textOf(message)].filter((content) => content !== ""),
    ...(message.tool_calls ?? []).map(({ function: { arguments: json, name } }) => {
      const value = Option.getOrElse(decodeJson(json), () => json)
      return writeCall({ name, arguments: value })
    })
  ].join("\n")

const letters = (integer: number): string => Math.abs(integer).toString(36)

const decodeAnyJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** What recursion over it would not survive is no JSON here, nor is what says two things at once. */
const decodeJson = (json: string): Option.Option<unknown> =>
  Nesting.isDeep(json) || RepeatedKeys.find(json) !== undefined ? Option.none() : decodeAnyJson(json)

const WrittenCall = Schema.Struct({ name: Schema.NonEmptyString, arguments: Schema.Unknown })
const decodeCall = Schema.decodeUnknownOption(WrittenCall)

/** All calls, or none where one of them is malformed. */
const readCalls = (text: string): ReadonlyArray<Call> => {
  const blocks = blocksOf(text)
  if (text.split(start).length - 1 !== blocks.length) return []
  const calls = blocks.flatMap((json) => Option.toArray(Option.flatMap(decodeJson(json), decodeCall)))
  return calls.length === blocks.length ? calls : []
}

/** A call by its name and arguments. */
export interface Call {
  readonly name: string
  readonly arguments: unknown
}

/** All calls of a completion that can be read, in order; what is malformed or not closed is passed over. */
export const callsOf = (text: string): ReadonlyArray<Call> =>
  blocksOf(text).flatMap((json) => Option.toArray(Option.flatMap(decodeJson(escapeControls(json)), decodeCall)))

/** A call as a model writes it. */
export const writeCall = ({ arguments: value, name }: Call): string =>
  `${start}${writeJson({ name, arguments: value })}${end}`

/**
 * Whether a call does what an expected one does: the same name, and every expected argument with an equal value.
 * Further arguments are allowed, at the top only.
 */
export const fulfils = (expected: Call, given: Call): boolean => {
  if (expected.name !== given.name) return false
  if (!Predicate.isReadonlyObject(expected.arguments)) return isSameJson(expected.arguments, given.arguments)
  const there = given.arguments
  return (
    Predicate.isReadonlyObject(there) &&
    Object.entries(expected.arguments).every(
      ([key, value]) => Object.hasOwn(there, key) && isSameJson(value, there[key])
    )
  )
}

/** Equal as JSON: objects in any order of their keys. */
const isSameJson = (a: unknown, b: unknown): boolean => {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, at) => isSameJson(one, b[at]))
  if (!Predicate.isReadonlyObject(a) || !Predicate.isReadonlyObject(b)) return a === b
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]))
  )
}

/**
 * Whether the given calls can be paired with the expected ones, each with one of its own and none left over (augmenting
 * paths).
 */
export const matchOneToOne = (expected: ReadonlyArray<Call>, given: ReadonlyArray<Call>): boolean => {
  if (expected.length !== given.length) return false
  const takenBy = new Map<number, number>()
  const place = (index: number, tried: Set<number>): boolean =>
    given.some((call, at) => {
      if (tried.has(at) || !fulfils(expected[index]!, call)) return false
      tried.add(at)
      const other = takenBy.get(at)
      if (other !== undefined && !place(other, tried)) return false
      takenBy.set(at, index)
      return true
    })
  return expected.every((_, index) => place(index, new Set()))
}

/** JSON as Python writes it (a blank after colon and comma): what models saw in training and chat templates write. */
const writeJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(writeJson).join(", ")}]`
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([key, entry]) => `${JSON.stringify(key)}: ${writeJson(entry)}`)
      .join(", ")}}`
  }
  return JSON.stringify(value) ?? "null"
}

const control = /\p{Cc}/u

/** Models write raw line breaks and tabs inside strings; outside of strings they mean nothing. Linear in the text. */
const escapeControls = (json: string): string => {
  if (!control.test(json)) return json
  let escaped = ""
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    const one = json[at]!
    if (one === '"') isInString = !isInString
    escaped += isInString && control.test(one) ? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}` : one
    // What is escaped ends no string; a raw control character behind a backslash is looked at by itself.
    if (isInString && one === "\\" && at + 1 < json.length && !control.test(json[at + 1]!)) escaped += json[++at]!
  }
  return escaped
}
