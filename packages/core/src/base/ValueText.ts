/**
 * Formats any value of external code as text: JSON with exact integers or, if JSON cannot represent it (it contains
 * itself, a getter throws), its parts as JavaScript writes them. Never throws.
 */
import * as Formatter from "effect/Formatter"
import * as Result from "effect/Result"
import * as ExactJson from "./json/ExactJson.ts"

/** Undefined for what JSON omits: undefined, functions, symbols. */
export const of = (value: unknown): string | undefined =>
  Result.getOrElse(
    Result.try(() => ExactJson.write(value)),
    () => Formatter.format(value)
  )
