/**
 * Carries the reasoning of an answer in items: `content` has all of it, `summary` too if requested, and
 * `encrypted_content`, if requested, has it in a form that clients pass on unchanged.
 *
 * It is not encrypted, because the reasoning here is not secret. The form is for clients that drop `content`.
 */
import { Option, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"

const mark = "reasoning."
const decodeText = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.String))

// As JSON, to preserve lone surrogates, which have no UTF-8 form.
export const seal = (reasoning: string): string => mark + Base64Url.encode(JSON.stringify(reasoning))

/** Reverses `seal`; undefined for the data of another service. */
export const open = (sealed: string): string | undefined => {
  if (!sealed.startsWith(mark)) return undefined
  const json = Result.getOrUndefined(Base64Url.decodeString(sealed.slice(mark.length)))
  return Option.getOrUndefined(decodeText(json))
}
