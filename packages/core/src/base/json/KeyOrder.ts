/**
 * Records the order of keys in a JSON text's objects. A JavaScript object moves integer keys to the front, so that a
 * template would render `{"b": …, "1": …}` differently than Python.
 *
 * The order is stored separately from the object: code that copies the object calls `copy`, and code that writes or
 * renders it calls `entries`.
 */
import * as JsonKeys from "./JsonKeys.ts"

const written = new WeakMap<object, ReadonlyArray<string>>()

/** Keys that JavaScript reorders. */
const digits = /"(?:0|[1-9]\d{0,9})"\s*:/

const maxDepth = 512

/** The keys of each object of a JSON text, in the order in which the objects open; undefined if keys are repeated. */
const scan = (json: string): ReadonlyArray<ReadonlyArray<string>> | undefined => {
  const all: Array<Set<string>> = []
  let isRepeated = false
  const depth = JsonKeys.scan(
    json,
    () => {
      const keys = new Set<string>()
      all.push(keys)
      return keys
    },
    (keys, key) => {
      isRepeated = keys.has(key)
      keys.add(key)
      return isRepeated
    }
  )
  return isRepeated || depth > maxDepth ? undefined : all.map((keys) => [...keys])
}

/** Records the order of keys in `value`, which was parsed from this text. */
export const remember = <A>(json: string, value: A): A => {
  const all = digits.test(json) ? scan(json) : undefined
  if (all === undefined) return value
  let next = 0
  const walk = (one: unknown): void => {
    if (Array.isArray(one)) return one.forEach(walk)
    if (typeof one !== "object" || one === null || isLeaf(one)) return
    const keys = all[next++] ?? []
    if (Object.keys(one).some((key, at) => key !== keys[at])) written.set(one, keys)
    for (const key of keys) walk((one as Readonly<Record<string, unknown>>)[key])
  }
  walk(value)
  return value
}

/** A number represented as an object (`ExactJson.Numeral`). */
const isLeaf = (value: object): boolean =>
  Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null

/** The members of an object, in the order of its text. */
export const entries = (value: object): ReadonlyArray<readonly [key: string, value: unknown]> => {
  const keys = written.get(value)
  return keys === undefined
    ? Object.entries(value)
    : keys.map((key) => [key, (value as Readonly<Record<string, unknown>>)[key]] as const)
}

/** Transfers the key order of an object to a copy with the same keys. */
export const copy = <A extends object>(from: object, to: A): A => {
  const keys = written.get(from)
  if (keys !== undefined) written.set(to, keys)
  return to
}

/** True if a value contains an object whose keys JavaScript has reordered. */
export const isMoved = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  (written.has(value) ||
    (Array.isArray(value) ? value.some(isMoved) : !isLeaf(value) && Object.values(value).some(isMoved)))
