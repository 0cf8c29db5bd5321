/**
 * Parses a pre-written dialogue with tools: the messages before each answer, the calls that the answer must make, and
 * the tools' replies.
 *
 * Two layouts of rows: `{ from, value }` (`human`, `gpt`, `tool`; also `function_call` and `observation`), with calls
 * as `<tool_call>{…}</tool_call>` and replies in `<tool_response>…</tool_response>`, as in
 * interstellarninja/hermes_reasoning_tool_use; or OpenAI's `{ role, content, tool_calls }`. Tools are in a separate
 * column, or in the system prompt. An answer without calls between answers with calls must make none; answers after the
 * last calls are dropped. In a dialogue without any calls the right answer makes none. A null in arguments or tools
 * that are objects counts as absent; arguments as JSON text are unchanged.
 */
import { ExactJson, type Message, ToolCalls } from "@atropos/core"
import { Predicate, Result, Schema } from "effect"

/** One answer that the model has to give. */
export interface Turn {
  /** Its calls, in any order; empty: an answer in words. */
  readonly expected: ReadonlyArray<ToolCalls.Call>
  readonly replies: ReadonlyArray<string>
  /** The next messages of the user or the system. */
  readonly said: ReadonlyArray<Message.Message>
}

export interface Script {
  /** The messages before the first answer. */
  readonly prompt: ReadonlyArray<Message.Message>
  /** In OpenAI's form; empty: they are in the prompt. */
  readonly tools: ReadonlyArray<Definition>
  readonly turns: readonly [Turn, ...ReadonlyArray<Turn>]
}

const Definition = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.StructWithRest(
    Schema.Struct({
      name: Schema.NonEmptyString,
      description: Schema.String,
      parameters: Schema.Record(Schema.String, Schema.Unknown)
    }),
    [Schema.Record(Schema.String, Schema.Unknown)]
  )
})
export type Definition = typeof Definition.Type

type Read<A> = Result.Result<A, string>

const json = (text: string) => Result.try(() => ExactJson.parseWritten(text))

/**
 * Removes null members: a Parquet column has one struct for all tools, whose fields are null if they belong to another
 * tool, and files made from it keep these nulls.
 */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!Predicate.isReadonlyObject(value) || value instanceof ExactJson.Numeral) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[key, withoutNulls(one)]]))
  )
}
const isDefinition = Schema.is(Definition)

/** Tools as a list or a JSON list of them, in OpenAI's form or bare. */
export const toolsOf = (input: unknown): Read<ReadonlyArray<Definition>> => {
  const parsed = typeof input === "string" ? Result.getOrUndefined(json(input)) : withoutNulls(input)
  if (!Array.isArray(parsed)) return Result.fail("the tools are no list, nor a JSON list")
  const definitions = parsed.map((one: unknown): unknown => {
    const bare = Predicate.hasProperty(one, "function") ? one.function : one
    if (!Predicate.isReadonlyObject(bare)) return bare
    const {
      description = "",
      parameters = { type: "object", properties: {} },
      ...rest
    } = bare as Record<string, unknown>
    return { type: "function", function: { ...rest, description, parameters } }
  })
  return definitions.every(isDefinition)
    ? Result.succeed(definitions)
    : Result.fail('a tool is not { name, description, parameters }, nor { type: "function", function: { … } }')
}

interface Said {
  readonly role: "system" | "user" | "assistant" | "tool"
  readonly text: string
  readonly calls: ReadonlyArray<ToolCalls.Call>
}

const roles: { readonly [name: string]: Said["role"] } = {
  system: "system",
  developer: "system",
  human: "user",
  user: "user",
  gpt: "assistant",
  assistant: "assistant",
  model: "assistant",
  function_call: "assistant",
  tool: "tool",
  observation: "tool",
  function_response: "tool",
  ipython: "tool"
}

const opens = /<tool_call>/g

/** Calls written in a text; fails if one cannot be parsed. */
const callsIn = (text: string): Read<ReadonlyArray<ToolCalls.Call>> => {
  const calls = ToolCalls.callsOf(text)
  const opened = Array.from(text.matchAll(opens)).length
  return opened === calls.length ? Result.succeed(calls) : Result.fail(`a call cannot be read: ${text.slice(0, 200)}`)
}

/** A call from its name and its arguments as JSON text, parsed as strictly as one in a text. */
export const callOf = (name: string, args: string): ToolCalls.Call | undefined =>
  ToolCalls.callsOf(`<tool_call>{"name": ${JSON.stringify(name)}, "arguments": ${args.trim() || "{}"}}</tool_call>`)[0]

const asText = (value: unknown): string =>
  typeof value === "string" ? value : (ExactJson.write(withoutNulls(value ?? {})) ?? "{}")

/** The calls of a message with a separate field for them. */
const callsBeside = (input: unknown): Read<ReadonlyArray<ToolCalls.Call>> => {
  const list = Array.isArray(input) ? input : [input]
  const calls = list.map((one: unknown) => {
    const bare = Predicate.hasProperty(one, "function") ? one.function : one
    if (!Predicate.hasProperty(bare, "name") || typeof bare.name !== "string") return undefined
    return callOf(bare.name, Predicate.hasProperty(bare, "arguments") ? asText(bare.arguments) : "{}")
  })
  return calls.every((call) => call !== undefined)
    ? Result.succeed(calls)
    : Result.fail("a call is not { name, arguments }")
}

const saidOf = (message: unknown, index: number): Read<Said> => {
  if (!Predicate.isReadonlyObject(message)) return Result.fail(`message ${index + 1} is no object`)
  const { content, from, role: input, tool_calls, value } = message as Record<string, unknown>
  const name = String(from ?? input)
  const role = Object.hasOwn(roles, name) ? roles[name] : undefined
  if (role === undefined) {
    return Result.fail(
      `message ${index + 1} is from ${JSON.stringify(name)}, and not from human, gpt, tool or the like`
    )
  }
  const text = value ?? content ?? ""
  if (typeof text !== "string") return Result.fail(`message ${index + 1} is no text`)
  const parsedCalls =
    name === "function_call"
      ? Result.flatMap(
          Result.mapError(json(text), () => "a call is not JSON"),
          callsBeside
        )
      : Array.isArray(tool_calls) && tool_calls.length > 0
        ? callsBeside(tool_calls)
        : role === "assistant"
          ? callsIn(text)
          : Result.succeed([])
  return Result.mapBoth(parsedCalls, {
    onFailure: (fault) => `message ${index + 1}: ${fault}`,
    onSuccess: (calls) => ({ role, text, calls })
  })
}

/** The content of each `<tool_response>`, or the whole text if none. */
const repliesIn = (text: string): ReadonlyArray<string> => {
  const parts = text.split("<tool_response>").slice(1)
  return parts.length === 0 ? [text] : parts.map((part) => part.split("</tool_response>")[0]!.trim())
}

/** The answers of a conversation, each with the messages after it. */
const turnsOf = (messages: ReadonlyArray<Said>, first: number): Read<ReadonlyArray<Turn>> => {
  const turns: Array<Turn> = []
  for (let at = first; at < messages.length;) {
    const { calls: expected, role } = messages[at]!
    if (role !== "assistant") return Result.fail(`message ${at + 1} is from ${role}, where an answer should be`)
    let end = at + 1
    while (end < messages.length && messages[end]!.role === "tool") end++
    const replies = messages.slice(at + 1, end).flatMap(({ text }) => repliesIn(text))
    if (expected.length === 0 && replies.length > 0) return Result.fail(`message ${at + 2} answers no call`)
    const behind = end
    while (end < messages.length && messages[end]!.role !== "assistant" && messages[end]!.role !== "tool") end++
    const texts = messages.slice(behind, end).map(({ role, text }): Message.Message => ({ role, content: text }))
    if (end < messages.length && expected.length > 0 && replies.length === 0) {
      return Result.fail(`the calls of message ${at + 1} have no results`)
    }
    if (end < messages.length && expected.length === 0 && texts.length === 0) {
      return Result.fail(`message ${end + 1} is a second answer in a row`)
    }
    turns.push({ expected, replies, said: texts })
    at = end
  }
  return Result.succeed(turns)
}

/** The script of a row, or what is wrong with the row. */
export const ofRow = (conversation: unknown, tools: unknown): Read<Script> =>
  Result.gen(function* () {
    const parsed = typeof conversation === "string" ? Result.getOrUndefined(json(conversation)) : conversation
    if (!Array.isArray(parsed)) return yield* Result.fail("the conversation is no list of messages")
    const messages = yield* Result.all(parsed.map(saidOf))
    const first = messages.findIndex(({ role }) => role === "assistant")
    if (first === -1) return yield* Result.fail("the conversation has no answer")
    const before = messages.slice(0, first)
    if (before.at(-1)?.role !== "user")
      return yield* Result.fail("the conversation does not begin with a request of the user")
    const all = yield* turnsOf(messages, first)
    const last = all.findLastIndex(({ expected }) => expected.length > 0)
    // In a dialogue without calls, the first answer is the one to learn.
    const [one, ...others] = all.slice(0, Math.max(1, last + 1))
    const areInPrompt = before.some(({ role, text }) => role === "system" && text.includes("<tools>"))
    return {
      prompt: before.map(({ role, text }): Message.Message => ({ role, content: text })),
      tools: areInPrompt || tools === null || tools === undefined ? [] : yield* toolsOf(tools),
      turns: [one!, ...others]
    }
  })
