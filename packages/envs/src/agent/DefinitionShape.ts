/** Validates definitions of plain functions at run time, since a file may not have been type-checked. */
import { hint } from "@atropos/core/base/Nearest"
import * as ValueText from "@atropos/core/base/ValueText"
import { Predicate } from "effect"

export type Kind = "string" | "function" | "function?" | "object?" | "range?" | "any" | "any?"

/** Describes the kind of a value for error messages. */
export const kindOf = (value: unknown): string => {
  if (value === undefined || value === null) return `nothing (${String(value)})`
  if (Array.isArray(value)) return "an array"
  if (Predicate.isPromiseLike(value)) return "a Promise"
  if (typeof value === "object") return `an object with ${Object.keys(value).join(", ") || "no keys"}`
  return typeof value === "function"
    ? "a function"
    : `a ${typeof value} (${(typeof value === "number" ? String(value) : (ValueText.of(value) ?? "")).slice(0, 80)})`
}

const fits = (kind: Kind, value: unknown): boolean => {
  if (value === undefined) return kind.endsWith("?")
  if (kind === "string") return typeof value === "string" && value !== ""
  if (kind.startsWith("function")) return typeof value === "function"
  if (kind === "range?") {
    return Array.isArray(value) && value.length === 2 && value.every(Number.isFinite) && value[0] < value[1]
  }
  return kind.startsWith("any") || Predicate.isObject(value)
}

/** Throws `TypeError` if a definition has unknown keys or lacks required ones. */
export const check = (maker: string, input: unknown, keys: { readonly [key: string]: Kind }): void => {
  if (!Predicate.isObject(input)) throw new TypeError(`${maker} takes an object, not ${kindOf(input)}`)
  const names = Object.keys(keys)
  const unknown = Object.keys(input).find((key) => !names.includes(key))
  if (unknown !== undefined) {
    const named = hint(unknown, names)
    throw new TypeError(
      `${maker}: unknown key "${unknown}"${named === "" ? `; known keys: ${names.join(", ")}` : named}`
    )
  }
  const values: { readonly [key: string]: unknown } = { ...input }
  for (const [key, kind] of Object.entries(keys)) {
    if (fits(kind, values[key])) continue
    const form = {
      string: "a name",
      function: "a function",
      "function?": "a function",
      "object?": "an object",
      "range?": "the lowest and the highest score, such as [0, 1],",
      any: "a value",
      "any?": "a value"
    }[kind]
    throw new TypeError(`${maker}: ${key} must be ${form}, not ${kindOf(values[key])}`)
  }
}
