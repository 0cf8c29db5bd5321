/**
 * Joins the text of a streamed message: content, reasoning and refusals are appended, other fields take their last
 * value.
 *
 * Content is a string, or a list of parts whose text is appended (`{ type: "text", text }`; Mistral's `thinking`).
 * Reasoning arrives as `reasoning_content`, `reasoning` or the texts of `reasoning_details`. Content of another type is
 * a failure.
 */
import { Predicate, Result } from "effect"
import type { Delta } from "./Inference.ts"

type Fields = { readonly [key: string]: unknown }

export interface StreamedText {
  /** Takes a delta; returns the text it adds, or why it cannot be read. */
  readonly take: (delta: Fields) => Result.Result<Delta | undefined, string>
  readonly words: () => Words
  readonly message: () => Fields
}

export interface Words {
  readonly content: string
  readonly thinking: string
}

export const make = (): StreamedText => {
  let content: string | undefined
  let thinking = ""
  let thinkingKey = "reasoning_content"
  let refusal = ""
  const others = new Map<string, unknown>()

  return {
    take: (delta) => {
      const { content: given, reasoning, reasoning_content, reasoning_details, refusal: refused, ...rest } = delta
      const words = wordsOf(given)
      if (words === undefined) return Result.fail(`content is invalid: ${JSON.stringify(given).slice(0, 200)}`)
      const thoughts = [textOf(reasoning_content), textOf(reasoning), textsOf(reasoning_details)]
      const own = thoughts.find((text) => text !== "") ?? ""
      const thought = own + words.thinking
      if (given !== undefined && given !== null) content = (content ?? "") + words.content
      if (own !== "" && thoughts[0] === "" && thoughts[1] !== "") thinkingKey = "reasoning"
      thinking += thought
      refusal += textOf(refused)
      for (const [key, value] of Object.entries(rest)) if (value !== null) others.set(key, value)
      return Result.succeed(deltaOf({ content: words.content, thinking: thought }))
    },
    words: () => ({ content: content ?? "", thinking }),
    message: () => ({
      ...Object.fromEntries(others),
      role: "assistant",
      content: content ?? null,
      ...(thinking !== "" && { [thinkingKey]: thinking }),
      ...(refusal !== "" && { refusal })
    })
  }
}

export const deltaOf = ({ content, thinking }: Words): Delta | undefined =>
  content === "" && thinking === ""
    ? undefined
    : { ...(content !== "" && { content }), ...(thinking !== "" && { reasoning: thinking }) }

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const textsOf = (parts: unknown): string =>
  Array.isArray(parts)
    ? parts.map((part) => (Predicate.isReadonlyObject(part) ? textOf(part["text"]) : "")).join("")
    : ""

/** Undefined if the content is neither text nor text parts. */
const wordsOf = (given: unknown): Words | undefined => {
  if (given === undefined || given === null) return { content: "", thinking: "" }
  if (typeof given === "string") return { content: given, thinking: "" }
  if (!Array.isArray(given)) return undefined
  let content = ""
  let thinking = ""
  for (const part of given) {
    if (!Predicate.isReadonlyObject(part)) return undefined
    if (part["type"] === "text") content += textOf(part["text"])
    else if (part["type"] === "thinking") thinking += textOf(part["thinking"]) || textsOf(part["thinking"])
    else return undefined
  }
  return { content, thinking }
}
