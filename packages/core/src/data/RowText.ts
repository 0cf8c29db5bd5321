/**
 * Parses the JSON text of one row, with numbers as written (`ExactJson`). Rejects deeper nesting than in any row, over
 * which recursion would crash the process, and repeated keys: a parser would keep only the last value.
 */
import { Result } from "effect"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as Nesting from "../base/json/Nesting.ts"
import * as RepeatedKeys from "../base/json/RepeatedKeys.ts"
import * as Reason from "../base/Reason.ts"

class RepeatedKey {
  readonly key: string
  constructor(key: string) {
    this.key = key
  }
}

export const parse = (text: string): Result.Result<unknown, unknown> => {
  if (Nesting.isDeep(text)) return Result.fail(new SyntaxError("nested more than 200 levels deep"))
  const value = Result.try(() => ExactJson.parseWritten(text))
  if (Result.isFailure(value)) return value
  const repeated = RepeatedKeys.findIn(text, value.success)
  return repeated === undefined ? value : Result.fail(new RepeatedKey(repeated))
}

/** Formats the failure of `parse`. */
export const problem = (failure: unknown): string =>
  failure instanceof RepeatedKey
    ? `the key ${JSON.stringify(failure.key)} is repeated`
    : `not JSON: ${Reason.of(failure)}`
