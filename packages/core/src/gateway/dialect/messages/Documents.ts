/**
 * Reads a document block whose source is text (`text`, or `content` of text blocks) as a text for the model, in the
 * form that Anthropic's guide recommends for documents in a prompt. Other sources (PDF, URL, uploaded file) are refused
 * by name: their text is not known here.
 */
import { Effect, Predicate } from "effect"
import type { Failure } from "../Dialect.ts"
import * as MessagesErrors from "./Errors.ts"

const tagged = (name: string, value: unknown): string =>
  typeof value === "string" && value !== "" ? `<${name}>${value}</${name}>\n` : ""

const partText = (part: unknown): unknown =>
  Predicate.isReadonlyObject(part) && part["type"] === "text" ? part["text"] : undefined

const textOf = (source: unknown): string | undefined => {
  if (!Predicate.isReadonlyObject(source)) return undefined
  const { content, data, type } = source
  if (type === "text") return typeof data === "string" ? data : undefined
  if (type !== "content") return undefined
  if (typeof content === "string") return content
  const texts = Array.isArray(content) ? content.map(partText) : []
  return texts.length > 0 && texts.every(Predicate.isString) ? texts.join("\n") : undefined
}

const kindOf = (source: unknown): string => {
  const { media_type: media, type } = Predicate.isReadonlyObject(source) ? source : {}
  return [type, media].filter(Predicate.isString).join(", ") || "none"
}

export const read = (block: { readonly [key: string]: unknown }, param: string): Effect.Effect<string, Failure> => {
  const text = textOf(block["source"])
  return text === undefined
    ? Effect.fail(
        MessagesErrors.unsupported(
          `${param}.source`,
          `documents are read if their source is text (type "text", or "content" with text blocks), not ${kindOf(block["source"])}: send the document's text`
        )
      )
    : Effect.succeed(
        `<document>\n${tagged("source", block["title"])}${tagged("context", block["context"])}<document_content>\n${text}\n</document_content>\n</document>\n`
      )
}
