/**
 * Arguments of a tool call: JSON text inside, an object on Anthropic's wire.
 *
 * Numbers go out and are read as they are written. Clients parse the object and write it again, so that whitespace and
 * the spelling of numbers may be lost: what comes back is not always the same text; a session compares values.
 * What is no object goes out as a string, the text itself, and comes back as it was; the Vercel AI SDK wraps such a
 * string in an object.
 */
import { Option, Predicate, Result } from "effect"
import * as ExactJson from "../../../base/ExactJson.ts"
import * as Nesting from "../../../base/Nesting.ts"

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

/** The same in JSON, as it is streamed: the text itself where it is an object. */
export const streamed = (json: string): string =>
  json.trim() === "" ? "{}" : Option.isSome(objectOf(json)) ? json : JSON.stringify(json)

/** The arguments that an `input` stands for. */
export const write = (input: unknown): string => {
  const bare = unwrapped(input)
  return typeof bare === "string" ? bare : (ExactJson.write(bare) ?? "")
}

const unwrapped = (input: unknown): unknown =>
  Predicate.isReadonlyObject(input) && Object.keys(input).length === 1 && typeof input[wrapper] === "string"
    ? input[wrapper]
    : input
