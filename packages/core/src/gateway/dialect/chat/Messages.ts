/**
 * Reads the messages of a Chat Completions request.
 *
 * `developer` is an alias of `system`, `function` a legacy one of `tool`. Keys of a message without meaning for a model
 * (`refusal: null`, leftovers of SDK helpers) are dropped, because agents send back the answers they got. Content that
 * a model would need but cannot process (audio, files) is rejected by name.
 */
import { Effect, Predicate } from "effect"
import * as Normalize from "../Normalize.ts"
import { describeValue } from "./Parameters.ts"
import type { Failure } from "../Dialect.ts"
import type { ContentPart, Message, ToolCall } from "../../../trajectory/Message.ts"
import { invalid, unsupported } from "../OpenAiFailure.ts"

/** More than any chat has; a list of millions would block the gateway. */
const maxMessages = 100_000

export const messagesOf = Effect.fnUntraced(function* (value: unknown) {
  if (!Array.isArray(value) || value.length === 0) {
    return yield* invalid("messages", `expected a list of at least one message, got ${describeValue(value)}`)
  }
  if (value.length > maxMessages) return yield* invalid("messages", `at most ${maxMessages}, got ${value.length}`)
  const messages: Array<Message> = []
  for (const [index, input] of value.entries()) messages.push(yield* messageOf(input, `messages[${index}]`))
  return messages
})

const messageOf = (input: unknown, at: string): Effect.Effect<Message, Failure> => {
  if (!Predicate.isReadonlyObject(input))
    return Effect.fail(invalid(at, `expected an object, got ${describeValue(input)}`))
  switch (input["role"]) {
    case "system":
    case "developer":
      return Effect.flatMap(contentOf(input["content"], `${at}.content`), (content) =>
        named("system", content, input, at)
      )
    case "user":
      return Effect.flatMap(contentOf(input["content"], `${at}.content`, true), (content) =>
        named("user", content, input, at)
      )
    case "assistant":
      return assistantOf(input, at)
    case "tool":
      return toolResultOf(input, at)
    case "function":
      return Effect.flatMap(contentOf(input["content"] ?? "", `${at}.content`), (content) =>
        named("tool", content, input, at)
      )
    default:
      return Effect.fail(
        invalid(
          `${at}.role`,
          `expected system, developer, user, assistant, tool or function, got ${describeValue(input["role"])}`
        )
      )
  }
}

type Given = { readonly [key: string]: unknown }

const named = (
  role: string,
  content: Message["content"],
  { name }: Given,
  at: string
): Effect.Effect<Message, Failure> => {
  if (name === undefined || name === null) return Effect.succeed({ role, content })
  return typeof name === "string"
    ? Effect.succeed({ role, content, name })
    : Effect.fail(invalid(`${at}.name`, `expected a string, got ${describeValue(name)}`))
}

const contentOf = Effect.fnUntraced(function* (content: unknown, at: string, mayShow = false) {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) {
    return yield* invalid(at, `expected a string or a list of parts, got ${describeValue(content)}`)
  }
  const parts: Array<ContentPart> = []
  for (const [index, part] of content.entries()) parts.push(yield* partOf(part, `${at}[${index}]`, mayShow))
  return Normalize.content(parts)
})

const partOf = (part: unknown, at: string, mayShow: boolean): Effect.Effect<ContentPart, Failure> => {
  if (!Predicate.isReadonlyObject(part))
    return Effect.fail(invalid(at, `expected an object, got ${describeValue(part)}`))
  const { type } = part
  if (type === "text") {
    return typeof part["text"] === "string"
      ? Effect.succeed({ type, text: part["text"] })
      : Effect.fail(invalid(`${at}.text`, `expected a string, got ${describeValue(part["text"])}`))
  }
  if (type === "image_url" && mayShow) return imageOf(part["image_url"], `${at}.image_url`)
  const right = mayShow ? "text and image_url" : "text"
  return typeof type === "string"
    ? Effect.fail(unsupported(`${at}.type`, `parts of type ${describeValue(type)} are not supported; use ${right}`))
    : Effect.fail(invalid(`${at}.type`, `expected ${right}, got ${describeValue(type)}`))
}

const imageOf = (image: unknown, at: string): Effect.Effect<ContentPart, Failure> => {
  const { detail, url } = Predicate.isReadonlyObject(image) ? image : {}
  if (typeof url !== "string" || !/^(?:https?:|data:image\/)/.test(url)) {
    return Effect.fail(
      invalid(`${at}.url`, `expected an address (https://…) or an image (data:image/…), got ${describeValue(url)}`)
    )
  }
  return Effect.succeed({
    type: "image_url",
    image_url: { url, ...(typeof detail === "string" && { detail }) }
  })
}

const assistantOf = Effect.fnUntraced(function* (input: Given, at: string) {
  for (const key of ["refusal", "audio"]) {
    const value = input[key]
    if (value !== undefined && value !== null && value !== "") {
      return yield* unsupported(
        `${at}.${key}`,
        "is not supported: an assistant message has text, reasoning and tool calls"
      )
    }
  }
  const { content, name } = input
  const isSilent = content === undefined || content === null
  const reasoning = input["reasoning_content"] ?? input["reasoning"] ?? undefined
  const text = isSilent ? "" : yield* contentOf(content, `${at}.content`)
  if (typeof text !== "string") return yield* unsupported(`${at}.content`, "must be text in an assistant message")
  const toolCalls = yield* toolCallsOf(input, at)
  // An answer with nothing, or only reasoning, has null.
  if (content === undefined && toolCalls.length === 0 && input["tool_calls"] === undefined && reasoning === undefined) {
    return yield* invalid(`${at}.content`, "is required in an assistant message without tool_calls")
  }
  if (reasoning !== undefined && typeof reasoning !== "string") {
    return yield* invalid(`${at}.reasoning_content`, `expected a string, got ${describeValue(reasoning)}`)
  }
  const message = Normalize.assistant({ content: text, toolCalls, ...(reasoning !== undefined && { reasoning }) })
  return typeof name === "string" ? Object.assign(message, { name }) : message
})

const toolCallsOf = Effect.fnUntraced(function* (input: Given, at: string) {
  const { function_call: single, tool_calls: several } = input
  const calls: Array<ToolCall> = []
  if (several !== undefined && several !== null) {
    if (!Array.isArray(several))
      return yield* invalid(`${at}.tool_calls`, `expected a list, got ${describeValue(several)}`)
    for (const [index, call] of several.entries()) calls.push(yield* toolCallOf(call, `${at}.tool_calls[${index}]`))
  }
  // The legacy form has one call, without an id to refer to.
  if (single !== undefined && single !== null) {
    calls.push(yield* toolCallOf({ id: "call_function", function: single }, `${at}.function_call`))
  }
  return calls
})

const toolCallOf = (call: unknown, at: string): Effect.Effect<ToolCall, Failure> => {
  if (!Predicate.isReadonlyObject(call))
    return Effect.fail(invalid(at, `expected an object, got ${describeValue(call)}`))
  const { function: called, id, type } = call
  if (type !== undefined && type !== null && type !== "function") {
    return Effect.fail(unsupported(`${at}.type`, `expected function, got ${describeValue(type)}`))
  }
  if (typeof id !== "string") return Effect.fail(invalid(`${at}.id`, `expected a string, got ${describeValue(id)}`))
  const { arguments: text, name } = Predicate.isReadonlyObject(called) ? called : {}
  if (typeof name !== "string" || name === "") {
    return Effect.fail(invalid(`${at}.function.name`, `expected a name, got ${describeValue(name)}`))
  }
  if (typeof text !== "string") {
    return Effect.fail(invalid(`${at}.function.arguments`, `expected JSON as a string, got ${describeValue(text)}`))
  }
  return Effect.succeed(Normalize.toolCall(id, name, text))
}

const toolResultOf = Effect.fnUntraced(function* (input: Given, at: string) {
  const { name, tool_call_id: id } = input
  if (typeof id !== "string") {
    return yield* invalid(`${at}.tool_call_id`, `expected the id of the answered call, got ${describeValue(id)}`)
  }
  const content = yield* contentOf(input["content"], `${at}.content`)
  const message: Message = { role: "tool", content, tool_call_id: id }
  return typeof name === "string" ? Object.assign(message, { name }) : message
})
