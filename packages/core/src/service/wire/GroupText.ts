/**
 * The JSON text of a group that is stored: the 14 keys in the original's order, their values as the bytes that came in
 * wherever these can stay.
 */
import * as GroupFields from "./GroupFields.ts"
import * as JsonSpans from "./JsonSpans.ts"

const encoder = new TextEncoder()
const nullBytes = encoder.encode("null")
const keyBytes = GroupFields.keys.map((key, index) => encoder.encode(`${index === 0 ? "{" : ","}"${key}":`))
const integerKeys: ReadonlySet<string> = new Set(["tokens", "masks", "distill_token_ids"])

/** Closing brackets of a matrix of numbers; undefined for what may hold strings. */
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

/** Whether a number in these bytes is written with a fraction or an exponent: an integer must not be stored so. */
const hasFraction = (bytes: Uint8Array): boolean => bytes.includes(0x2e) || bytes.includes(0x65) || bytes.includes(0x45)

const closing = encoder.encode("}")

/** All keys in order, the spans' bytes as their values. `instead` says what to write in place of a span. */
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

/**
 * The spans of the object in `bytes`, with the values of `coerced` keys written anew; undefined where it nests too
 * deep.
 */
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
