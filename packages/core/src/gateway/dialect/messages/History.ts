/**
 * Converts a request's `system` and `messages` to our messages, so that what a client sends back equals the recording.
 *
 * Consecutive messages of one role are one turn: an assistant's blocks become one message (text, reasoning and calls,
 * in any order), a user's become one tool message per `tool_result` and then one of the rest, with a blank line between
 * originally separate messages. A final assistant turn is a prefill of the answer.
 */
import { Effect, Predicate } from "effect"
import type { ContentPart, Message, ToolCall } from "../../../trajectory/Message.ts"
import * as Normalize from "../Normalize.ts"
import type { Failure } from "../Dialect.ts"
import * as MessagesBlocks from "./Blocks.ts"
import * as MessagesErrors from "./Errors.ts"

type Ignored = MessagesBlocks.Ignored

interface UserTurn {
  readonly role: "user"
  readonly param: string
  readonly results: Array<Message>
  readonly parts: Array<ContentPart>
}

interface AssistantTurn {
  readonly role: "assistant"
  readonly param: string
  text: string
  thinking: string
  readonly calls: Array<ToolCall>
}

interface SystemTurn {
  readonly role: "system"
  readonly content: string
}

type Turn = UserTurn | AssistantTurn | SystemTurn

const resultsFirst = "tool_result blocks must come first in the user message after calls"
const blankLine: ContentPart = { type: "text", text: "\n\n" }

const textOf = Effect.fnUntraced(function* (content: unknown, param: string, ignored: Ignored) {
  const blocks = yield* MessagesBlocks.list(content, param)
  const texts = yield* Effect.forEach(blocks, (one, index) =>
    one.type === "text"
      ? MessagesBlocks.text(one, `${param}.${index}`, ignored)
      : Effect.fail(
          MessagesErrors.unsupported(`${param}.${index}`, `a system prompt must be text, not a "${one.type}" block`)
        )
  )
  return texts.join("")
})

const userTurn = Effect.fnUntraced(function* (content: unknown, param: string, ignored: Ignored) {
  const results: Array<Message> = []
  const parts: Array<ContentPart> = []
  const blocks = yield* MessagesBlocks.list(content, `${param}.content`)
  if (blocks.length === 0) return yield* MessagesErrors.invalid(`${param}.content`, "a user message must not be empty")
  for (const [index, one] of blocks.entries()) {
    const at = `${param}.content.${index}`
    if (one.type === "tool_result") {
      if (parts.length > 0) return yield* MessagesErrors.invalid(at, resultsFirst)
      results.push(yield* MessagesBlocks.toolResult(one, at, ignored))
    } else parts.push(yield* MessagesBlocks.part(one, at, ignored))
  }
  return { role: "user", param, results, parts } satisfies UserTurn
})

const assistantTurn = Effect.fnUntraced(function* (content: unknown, param: string, ignored: Ignored) {
  let text = ""
  let thinking = ""
  const calls: Array<ToolCall> = []
  const blocks = yield* MessagesBlocks.list(content, `${param}.content`)
  for (const [index, one] of blocks.entries()) {
    const at = `${param}.content.${index}`
    switch (one.type) {
      case "text":
        text += yield* MessagesBlocks.text(one, at, ignored)
        break
      case "thinking":
        thinking += yield* MessagesBlocks.thinking(one, at, ignored)
        break
      case "redacted_thinking":
        ignored.add(one.type)
        break
      case "tool_use":
        calls.push(yield* MessagesBlocks.toolUse(one, at, ignored))
        break
      default:
        return yield* MessagesErrors.unsupported(
          at,
          `blocks of type "${one.type}" are not supported in assistant messages`
        )
    }
  }
  return { role: "assistant", param, text, thinking, calls } satisfies AssistantTurn
})

const turnOf = Effect.fnUntraced(function* (input: unknown, param: string, ignored: Ignored) {
  if (!Predicate.isReadonlyObject(input)) {
    return yield* MessagesErrors.invalid(param, "must be an object with role and content")
  }
  const { content, role, ...rest } = input
  const stranger = Object.keys(rest).find((key) => rest[key] !== null)
  if (stranger !== undefined) {
    return yield* MessagesErrors.unsupported(`${param}.${stranger}`, "unknown key: a message has only role and content")
  }
  switch (role) {
    case "user":
      return yield* userTurn(content, param, ignored)
    case "assistant":
      return yield* assistantTurn(content, param, ignored)
    case "system":
      return { role, content: yield* textOf(content, `${param}.content`, ignored) } satisfies SystemTurn
    default:
      return yield* MessagesErrors.invalid(`${param}.role`, 'must be "user", "assistant" or "system"')
  }
})

/** Merges a turn into the previous one of the same role; fails if it answers calls too late. */
const joined = (earlier: Turn | undefined, later: Turn): Effect.Effect<boolean, Failure> => {
  if (earlier?.role === "assistant" && later.role === "assistant") {
    earlier.text += later.text
    earlier.thinking += later.thinking
    for (const call of later.calls) earlier.calls.push(call)
    return Effect.succeed(true)
  }
  if (earlier?.role !== "user" || later.role !== "user") return Effect.succeed(false)
  if (earlier.parts.length > 0 && later.results.length > 0) {
    return Effect.fail(MessagesErrors.invalid(later.param, resultsFirst))
  }
  for (const result of later.results) earlier.results.push(result)
  if (earlier.parts.length > 0 && later.parts.length > 0) earlier.parts.push(blankLine)
  for (const part of later.parts) earlier.parts.push(part)
  return Effect.succeed(true)
}

/** Like Anthropic's API: every call must be answered exactly once in the following turn, and nothing else may be. */
const checkResults = (turn: Turn | undefined, next: Turn | undefined): Effect.Effect<void, Failure> => {
  const open = new Set(turn?.role === "assistant" ? turn.calls.map(({ id = "" }) => id) : [])
  const param = next?.role === "user" ? next.param : "messages"
  for (const { tool_call_id: id = "" } of next?.role === "user" ? next.results : []) {
    if (open.delete(id)) continue
    return Effect.fail(
      MessagesErrors.invalid(
        param,
        `tool_use_id ${id} does not match a tool_use block of the previous message, or occurs twice`
      )
    )
  }
  const [missing] = open
  return missing === undefined
    ? Effect.void
    : Effect.fail(
        MessagesErrors.invalid(param, `the tool_use block ${missing} has no tool_result block in the next message`)
      )
}

const messagesOf = (turn: Turn): ReadonlyArray<Message> => {
  switch (turn.role) {
    case "system":
      return [{ role: turn.role, content: turn.content }]
    case "assistant":
      return [Normalize.assistant({ content: turn.text, reasoning: turn.thinking, toolCalls: turn.calls })]
    case "user":
      return turn.parts.length === 0
        ? turn.results
        : [...turn.results, { role: "user", content: Normalize.content(turn.parts) }]
  }
}

export const read = Effect.fnUntraced(function* (
  { messages, system }: { readonly messages: unknown; readonly system: unknown },
  ignored: Ignored
) {
  if (!Array.isArray(messages) || messages.length === 0) {
    return yield* MessagesErrors.invalid("messages", "a list of at least one message is required")
  }
  const turns: Array<Turn> = []
  for (const [index, input] of messages.entries()) {
    const turn = yield* turnOf(input, `messages.${index}`, ignored)
    if (!(yield* joined(turns.at(-1), turn))) turns.push(turn)
  }
  yield* checkResults(undefined, turns[0])
  for (const [index, turn] of turns.entries()) yield* checkResults(turn, turns[index + 1])
  const prompt = system === undefined || system === null ? "" : yield* textOf(system, "system", ignored)
  const opening: ReadonlyArray<Message> = prompt === "" ? [] : [{ role: "system", content: prompt }]
  return [...opening, ...turns.flatMap(messagesOf)]
})
