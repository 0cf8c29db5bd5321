/** Reads JSON bodies like the original's server. */
import { Result } from "effect"
import type { Detail } from "./Detail.ts"
import * as ExactMessages from "./ExactMessages.ts"
import * as JsonSpans from "./JsonSpans.ts"
import * as PythonJson from "./PythonJson.ts"
import { WireError } from "./WireError.ts"

export const tooDeep = new WireError({
  reason: "invalid",
  details: [
    { type: "recursion_loop", loc: ["body"], msg: `Nested deeper than ${JsonSpans.maxDepth} levels`, input: null }
  ]
})

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const hasMark = (bytes: Uint8Array): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/**
 * Parses body bytes as JSON, with the original's errors: 400 for invalid UTF-8, `json_invalid` otherwise. JSON that is
 * nested too deep is rejected before parsing.
 */
export const parse = (
  body: Uint8Array
): Result.Result<{ readonly bytes: Uint8Array; readonly value: unknown; readonly notFinite: boolean }, WireError> => {
  const bytes = hasMark(body) ? body.subarray(3) : body
  if (JsonSpans.isTooDeep(bytes)) return Result.fail(tooDeep)
  const text = Result.try(() => decoder.decode(bytes))
  if (Result.isFailure(text)) return Result.fail(new WireError({ reason: "unreadable", details: [] }))
  const parsed = PythonJson.parse(text.success)
  if (Result.isFailure(parsed)) {
    const { message, position } = parsed.failure
    const detail: Detail = {
      type: "json_invalid",
      loc: ["body", position],
      msg: "JSON decode error",
      input: {},
      ctx: { error: message }
    }
    return Result.fail(new WireError({ reason: "invalid", details: [detail] }))
  }
  const { notFinite, value } = parsed.success
  return Result.succeed({ bytes, notFinite, value: ExactMessages.keep(value, () => bytes) })
}
