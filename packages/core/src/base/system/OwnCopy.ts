/**
 * Copies plain data for external code that may modify it: lists and plain objects are new, with keys in order; strings,
 * numbers, bytes and class instances are shared.
 */
import * as KeyOrder from "../json/KeyOrder.ts"

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export const of = <A>(value: A): A => copied(value, new Map()) as A

/** `known` maps originals to copies so far: a value may contain itself. */
const copied = (value: unknown, known: Map<object, unknown>): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (!Array.isArray(value) && !isPlain(value)) return value
  const before = known.get(value)
  if (before !== undefined) return before
  const copy: object = Array.isArray(value) ? [] : KeyOrder.copy(value, Object.create(Object.getPrototypeOf(value)))
  known.set(value, copy)
  for (const [key, one] of Object.entries(value)) {
    Object.defineProperty(copy, key, {
      value: copied(one, known),
      configurable: true,
      enumerable: true,
      writable: true
    })
  }
  return copy
}
