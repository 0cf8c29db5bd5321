/**
 * Converts arguments of a tool call: JSON text internally, an object on Anthropic's wire.
 *
 * Numbers are written and read verbatim. Clients parse and re-serialize the object, which may change whitespace and the
 * spelling of numbers, so the text that comes back may differ; a session compares values. Anything but an object is
 * sent as a string with the text itself, and comes back unchanged; the Vercel AI SDK wraps such a string in an object.
 */
import { Option, Predicate, Result } from "effect"
import * as ExactJson from "../../../base/json/ExactJson.ts"
import * as Nesting from "../../../base/json/Nesting.ts"

const wrapper = "rawInvalidInput"

const objectOf = (json: string): Option.Option<object> =>
  json.trim() === ""
    ? Option.some({})
    : Nesting.isDeep(json)
      ? Option.none()
      : Option.filter(
          Result.getSuccess(Result.try(() => ExactJson.parseWritten(json))),
          (value): value is object => Predicate.isReadonlyObject(value) && !(value instanceof ExactJson.Numeral)
        )

/** The `input` of a `tool_use` block. */
export const read = (json: string): unknown => Option.getOrElse(objectOf(json), () => json)

/** The streamed JSON of the input: the text itself if it is an object. */
export const streamed = (json: string): string =>
  json.trim() === "" ? "{}" : Option.isSome(objectOf(json)) ? json : JSON.stringify(json)

/** The arguments of an `input`. */
export const write = (input: unknown): string => {
  const bare = unwrapped(input)
  return typeof bare === "string" ? bare : (ExactJson.write(bare) ?? "")
}

const unwrapped = (input: unknown): unknown =>
  Predicate.isReadonlyObject(input) && Object.keys(input).length === 1 && typeof input[wrapper] === "string"
    ? input[wrapper]
    : input
