/**
 * Reads quantities in several units of one kind, "2 hours and 30 minutes", `5\text{ ft }6\text{ in}`, `5'6"`, in the
 * smallest unit. A reference of this form is also answered in one of its units: "2.5 hours". Linear in the text.
 */
import * as Exact from "./expression/Exact.ts"

type Kind = "time" | "length" | "mass" | "months"

const units: ReadonlyArray<readonly [names: string, kind: Kind, size: number]> = [
  ["weeks?", "time", 604_800],
  ["days?|d", "time", 86_400],
  ["hours?|hrs?|h", "time", 3_600],
  ["minutes?|mins?", "time", 60],
  ["seconds?|secs?|s", "time", 1],
  ["miles?|mi", "length", 63_360],
  ["yards?|yds?", "length", 36],
  ["feet|foot|ft", "length", 12],
  ["inch(?:es)?|in", "length", 1],
  ["pounds?|lbs?", "mass", 16],
  ["ounces?|oz", "mass", 1],
  ["years?|yrs?", "months", 12],
  ["months?", "months", 1]
]
const known = units.map(([names, kind, size]) => [new RegExp(`^(?:${names})$`, "i"), kind, size] as const)

const part = /(\d{1,9}(?:\.\d{1,9})?)\s{0,3}([a-z]{1,8})\.?/gi
const whole = /^(?:\d{1,9}(?:\.\d{1,9})?\s{0,3}[a-z]{1,8}\.?(?:,\s{0,3}|\s{1,3}|,?\sand\s|$)){1,4}$/i
const feet =
  /^(\d{1,9})\s?(?:'|′|\^\s?\{?\\prime\s?\}?)\s?(\d{1,2}(?:\.\d{1,9})?)\s?(?:"|″|''|\^\s?\{?\\prime\\prime\s?\}?)$/
const commands = /\\(?:text|textrm|mathrm|mbox)\s?\{|[{}$~]|\\[,;: ]|\\q?quad(?![a-zA-Z])/g

interface Compound {
  readonly kind: Kind
  readonly value: Exact.Rational
  readonly parts: number
}

/** Max characters of a quantity. */
const maxLength = 120

const read = (answer: string): Compound | undefined => {
  if (answer.length > maxLength || !/\d/.test(answer)) return undefined
  const text = answer.trim().replace(feet, "$1 ft $2 in").replaceAll(commands, " ").replaceAll(/\s+/g, " ").trim()
  if (!whole.test(text)) return undefined
  const found = Array.from(text.matchAll(part), ([, count = "", name = ""]) => {
    const [, kind, size] = known.find(([names]) => names.test(name)) ?? []
    const value = Exact.fromDecimal(count)
    const total = value === undefined || size === undefined ? undefined : Exact.multiply(value, Exact.fromInteger(size))
    return kind === undefined || size === undefined || total === undefined ? undefined : { kind, size, total }
  })
  let value: Exact.Rational | undefined = Exact.fromInteger(0)
  let last = Number.POSITIVE_INFINITY
  for (const one of found) {
    // The units become smaller.
    if (one === undefined || one.kind !== found[0]?.kind || one.size >= last || value === undefined) return undefined
    value = Exact.add(value, one.total)
    last = one.size
  }
  const kind = found[0]?.kind
  return kind === undefined || value === undefined ? undefined : { kind, value, parts: found.length }
}

/** The verdict if the reference is such a quantity and the other one, in these units, too; undefined if not. */
export const areEqual = (gold: string, prediction: string): boolean | undefined => {
  const own = read(gold)
  const other = own === undefined || own.parts < 2 ? undefined : read(prediction)
  if (own === undefined || other === undefined) return undefined
  return own.kind === other.kind && Exact.equals(own.value, other.value)
}
