/**
 * The lasting id of a content: the same whenever it comes and in whatever order, another one for another content.
 *
 * It is the first 16 hexadecimal digits (64 bits) of the SHA-256 of its JSON, whose keys are sorted; among a million
 * contents two share an id with a chance of 3 in 100 million. Bytes and number arrays count, functions do not.
 */
import { createHash } from "node:crypto"

/** As JSON has it: keys in order, and what JSON has no form for as something else. `above`: what holds the value. */
const inOrder = (value: unknown, above: ReadonlyArray<object>): unknown => {
  if (typeof value === "bigint") return String(value)
  if (typeof value !== "object" || value === null) return value
  // What holds itself has no end.
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

/** The JSON that the id is of. */
export const canonical = (content: unknown): string => JSON.stringify(inOrder(content, [])) ?? "null"

export const of = (content: unknown): string =>
  createHash("sha256").update(canonical(content)).digest("hex").slice(0, 16)

const longest = 128

/** That in words, for messages. */
export const plain = `an id of an item: 1 to ${longest} characters, none of them a control character`

/** What an id must be to stand on wires and in addresses: up to 128 characters, none of them a control character. */
export const isPlain = (id: string): boolean =>
  id.length > 0 && id.length <= longest && id.isWellFormed() && !/\p{Cc}/u.test(id)

/** An id that somebody gave, as it is where it can stand on wires; the id of any other content. */
export const named = (given: unknown): string => (typeof given === "string" && isPlain(given) ? given : of(given))
