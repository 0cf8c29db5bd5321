/**
 * Detects chat templates that render the text of a message only as a list of parts, as those of some models with
 * pictures: they drop a plain string without an error.
 */
import { Result } from "effect"

const word = "atropos text"

/** `render`: the prompt of a chat of one message of the user with this content. */
export const areNeeded = (render: (content: unknown) => string): boolean => {
  const shows = (content: unknown): boolean =>
    Result.getOrElse(
      Result.try(() => render(content).includes(word)),
      () => false
    )
  return !shows(word) && shows([{ type: "text", text: word }])
}

/** A message with its text as a part. */
export const of = <M extends { readonly content?: unknown }>(message: M): M =>
  typeof message.content === "string"
    ? Object.assign({}, message, { content: [{ type: "text", text: message.content }] })
    : message
