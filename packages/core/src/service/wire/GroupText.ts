/**
 * The JSON text of a group for storage: the 14 keys in the original's order, with values as the received bytes where
 * possible.
 */
import * as GroupFields from "./GroupFields.ts"
import * as JsonSpans from "./JsonSpans.ts"

const encoder = new TextEncoder()
const nullBytes = encoder.encode("null")
const keyBytes = GroupFields.keys.map((key, index) => encoder.encode(`${index === 0 ? "{" : ","}"${key}":`))
const integerKeys: ReadonlySet<string> = new Set(["tokens", "masks", "distill_token_ids"])

/** Closing brackets of a matrix of numbers; undefined for values that may contain strings. */
const closingBrackets =
  (values: GroupFields.GroupValues) =>
  (key: string): number | undefined => {
    switch (key) {
      case "scores":
        return 1
      case "tokens":
      case "masks":
      case "advantages":
      case "ref_logprobs":
      case "inference_logprobs":
        return values[key] === null ? undefined : values[key].length + 1
      case "distill_token_ids":
      case "distill_logprobs":
        return values[key]?.reduce((sum, matrix) => sum + matrix.length + 1, 1)
      default:
        return undefined
    }
  }

/** Detects a fraction or an exponent in these bytes: integers must not be stored in this form. */
const hasFraction = (bytes: Uint8Array): boolean => bytes.includes(0x2e) || bytes.includes(0x65) || bytes.includes(0x45)

const closing = encoder.encode("}")

/** All keys in order, with the spans' bytes as values. `instead` provides replacements of spans. */
export const join = (
  bytes: Uint8Array,
  spans: ReadonlyMap<string, JsonSpans.Span>,
  instead: (key: GroupFields.Key, value: Uint8Array) => Uint8Array = (_key, value) => value
): Uint8Array => {
  const parts: Array<Uint8Array> = []
  GroupFields.keys.forEach((key, index) => {
    const span = spans.get(key)
    parts.push(keyBytes[index]!)
    parts.push(span === undefined ? nullBytes : instead(key, bytes.subarray(span.start, span.end)))
  })
  parts.push(closing)
  return Buffer.concat(parts)
}

/** The spans of the object in `bytes`, with the values of `coerced` keys rewritten; undefined if nested too deep. */
export const canonical = (
  bytes: Uint8Array,
  values: GroupFields.GroupValues,
  coerced: ReadonlySet<string>
): Uint8Array | undefined => {
  const spans = JsonSpans.members(bytes, closingBrackets(values))
  if (spans === undefined) return undefined
  return join(bytes, spans, (key, value) =>
    coerced.has(key) || (integerKeys.has(key) && hasFraction(value))
      ? encoder.encode(JSON.stringify(values[key]))
      : value
  )
}
