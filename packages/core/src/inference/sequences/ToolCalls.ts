/**
 * Converts tool calls and reasoning from a model's text to OpenAI's form and back, in the model's own format
 * (`format/`).
 *
 * A `Translator` remembers the exact text of every call it returns, so that a later turn that sends the call back is
 * rendered exactly as the model wrote it. A truncated answer keeps `length` as its finish reason. The other functions
 * handle calls in the Hermes format, as used in data sets.
 */
import { Effect, Predicate, Random } from "effect"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as CallJson from "../format/CallJson.ts"
import * as Formats from "../format/Formats.ts"
import type { Call, OutputFormat, ReadContext } from "../format/OutputFormat.ts"
import type { Message, ToolCall } from "../../trajectory/Message.ts"
import { isSameJson } from "../session/SameMessage.ts"
import type { FinishReason } from "../../trajectory/Trajectory.ts"

export type { Call } from "../format/OutputFormat.ts"

/** A completion with its tool calls extracted. */
export interface ParsedAnswer {
  /** The text before the first call; the whole text if none. Null if it is empty. */
  readonly content: string | null
  /** The reasoning, if it is kept separate. */
  readonly reasoning?: string
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason
}

export interface Translator {
  /**
   * Extracts the calls of a completion and remembers its text under their ids. Malformed or unclosed calls are text.
   */
  readonly parse: (
    text: string,
    finishReason: FinishReason,
    context?: Omit<ReadContext, "finishReason">
  ) => Effect.Effect<ParsedAnswer>
  /**
   * Messages for the chat template: calls of assistant messages are converted back to their original text, or newly
   * written ones, if the template accepts such text.
   */
  readonly toText: (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>
}

export interface TranslatorOptions {
  /** Default: Hermes. */
  readonly format?: OutputFormat
  /**
   * Keeps reasoning in the content as the model wrote it ("content", default), or separate ("apart"). Formats whose
   * text the chat template does not accept as content always keep it separate.
   */
  readonly reasoning?: "content" | "apart"
}

/** A translator without memory yet; use one per session. */
export const makeTranslator = ({
  format = Formats.byName("hermes"),
  reasoning: place = "content"
}: TranslatorOptions = {}): Translator => {
  const written = new Map<string, string>()
  const isApart = place === "apart" || !format.isContent
  const parse = Effect.fnUntraced(function* (
    text: string,
    finishReason: FinishReason,
    context: Omit<ReadContext, "finishReason"> = {}
  ) {
    const { beforeCalls, calls, content, reasoning } = format.read(text, { ...context, finishReason })
    const toolCalls: Array<ToolCall> = []
    for (const { json, name } of calls) {
      const id = format.callId(`${yield* letters}${yield* letters}`)
      written.set(id, text)
      toolCalls.push({ id, type: "function", function: { name, arguments: json } })
    }
    const kept = calls.length > 0 && beforeCalls === "" ? null : beforeCalls
    return {
      content: isApart ? content : kept,
      ...(isApart && reasoning !== undefined && { reasoning }),
      toolCalls,
      finishReason: calls.length === 0 || finishReason === "length" ? finishReason : "tool_calls"
    }
  })
  const toText = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
    if (!format.isContent) return format.forTemplate(messages)
    return messages.map((message) => {
      const [first] = message.tool_calls ?? []
      if (message.role !== "assistant" || first === undefined) return message
      return { role: "assistant", content: written.get(first.id ?? "") ?? format.write(message) }
    })
  }
  return { parse, toText }
}

const letters = Effect.map(Random.nextIntBetween(0, 36 ** 6), (integer) => integer.toString(36).padStart(6, "0"))

const start = "<tool_call>"
const end = "</tool_call>"

/** The contents of each closed call, in time linear in the text. */
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

/**
 * All valid calls of a completion, in order; malformed or unclosed ones are skipped. A call without arguments, or with
 * null for them, has none. Numbers are exact at any length: 0.1 is not 0.10000000000000001.
 */
export const callsOf = (text: string): ReadonlyArray<Call> =>
  blocksOf(text).flatMap((json) => {
    const call = CallJson.call(escapeControls(json), ["arguments"], true)
    return call === undefined ? [] : [{ name: call.name, arguments: ExactJson.parseExact(call.json) ?? {} }]
  })

export const writeCall = ({ arguments: value, name }: Call): string =>
  `${start}${CallJson.write({ name, arguments: value })}${end}`

/**
 * True if a call satisfies an expected one: the same name, and every expected argument with an equal value. Additional
 * arguments are allowed at the top level only.
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

/**
 * Matches given calls one-to-one with expected ones, with none left over (augmenting paths): for every expected call
 * the index of the given one. Undefined if impossible.
 */
export const pairOneToOne = (
  expected: ReadonlyArray<Call>,
  given: ReadonlyArray<Call>
): ReadonlyArray<number> | undefined => {
  if (expected.length !== given.length) return undefined
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
  if (!expected.every((_, index) => place(index, new Set()))) return undefined
  const places = new Map(Array.from(takenBy, ([at, index]) => [index, at] as const))
  return expected.map((_, index) => places.get(index)!)
}

export const matchOneToOne = (expected: ReadonlyArray<Call>, given: ReadonlyArray<Call>): boolean =>
  pairOneToOne(expected, given) !== undefined

const control = /\p{Cc}/u

/**
 * Escapes raw line breaks and tabs, which models write inside of strings and which mean nothing outside. Linear in the
 * text.
 */
const escapeControls = (json: string): string => {
  if (!control.test(json)) return json
  let escaped = ""
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    const one = json[at]!
    if (one === '"') isInString = !isInString
    escaped += isInString && control.test(one) ? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}` : one
    // An escaped character ends no string; a raw control character after a backslash is handled separately.
    if (isInString && one === "\\" && at + 1 < json.length && !control.test(json[at + 1]!)) escaped += json[++at]!
  }
  return escaped
}
