/**
 * The stable id of a content: the same in any order and run, and different for different contents.
 *
 * The first 16 hexadecimal digits (64 bits) of the SHA-256 of its JSON with sorted keys; among a million contents, two
 * share an id with a chance of 3 in 100 million. Bytes and number arrays are included, functions are not.
 */
import { createHash } from "node:crypto"

/**
 * JSON with sorted keys, and replacements for values without a JSON form. `above`: the values that contain this one.
 */
const inOrder = (value: unknown, above: ReadonlyArray<object>): unknown => {
  if (typeof value === "bigint") return String(value)
  if (typeof value !== "object" || value === null) return value
  // A value that contains itself.
  if (above.includes(value)) return "circular"
  const inside = [...above, value]
  if (ArrayBuffer.isView(value)) {
    return [value.constructor.name, Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")]
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return inOrder(value.toJSON(), inside)
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
    return Array.from<unknown, unknown>(value, (one) => inOrder(one, inside))
  }
  const keys = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return Object.fromEntries(keys.map(([key, one]) => [key, inOrder(one, inside)]))
}

/** The JSON that is hashed. */
export const canonical = (content: unknown): string => JSON.stringify(inOrder(content, [])) ?? "null"

export const of = (content: unknown): string =>
  createHash("sha256").update(canonical(content)).digest("hex").slice(0, 16)

const longest = 128

/** Describes `isPlain` in messages. */
export const plain = `an item id: 1 to ${longest} characters, without control characters`

/** Requirement for ids on wires and in URLs: up to 128 characters without control characters. */
export const isPlain = (id: string): boolean =>
  id.length > 0 && id.length <= longest && id.isWellFormed() && !/\p{Cc}/u.test(id)

/** A given id if it is valid on wires; otherwise the id of the content. */
export const named = (input: unknown): string => (typeof input === "string" && isPlain(input) ? input : of(input))
