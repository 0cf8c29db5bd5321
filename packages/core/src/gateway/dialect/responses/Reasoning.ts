/**
 * What was thought before an answer, as items carry it: `content` holds the whole of it, `summary` too where one was
 * asked for, and `encrypted_content`, where that was asked for, the same in a form that clients pass on untouched.
 *
 * It is not encrypted: what the model thinks here is no secret. The form is for clients that drop `content`.
 */
import { Option, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"

const mark = "reasoning."
const decodeText = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.String))

// As JSON, for texts that no bytes stand for: half a pair of surrogates.
export const seal = (reasoning: string): string => mark + Base64Url.encode(JSON.stringify(reasoning))

/** What was sealed; undefined for what another service did. */
export const open = (sealed: string): string | undefined => {
  if (!sealed.startsWith(mark)) return undefined
  const json = Result.getOrUndefined(Base64Url.decodeString(sealed.slice(mark.length)))
  return Option.getOrUndefined(decodeText(json))
}
