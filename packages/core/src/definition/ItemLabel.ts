/**
 * Derives an item's default label for logs and pages: its question, under one of the names common in data sets, else
 * its JSON. Pure.
 */
import { Formatter, Predicate } from "effect"

const questionFields = ["question", "problem", "prompt", "instruction", "task", "query", "input", "text", "title"]

/** A text, or the last user message of a chat. */
const textOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return value.trim() === "" ? undefined : value
  if (!Array.isArray(value)) return undefined
  const message: unknown = value.findLast((one: unknown) => Predicate.isReadonlyObject(one) && one["role"] === "user")
  return Predicate.isReadonlyObject(message) ? textOf(message["content"]) : undefined
}

export const of = (item: unknown): string => {
  if (typeof item === "string") return item
  if (!Predicate.isReadonlyObject(item)) return Formatter.formatJson(item)
  for (const name of [...questionFields, "messages"]) {
    const text = textOf(item[name])
    if (text !== undefined) return text
  }
  return Formatter.formatJson(item)
}
