/**
 * Joins a unit that an answer writes in several commands to one text, as `Units` reads it: `5 \mathrm{~km} /
 * \mathrm{h}` and `5 \frac{\text{km}}{\text{h}}` are `5 \text{ km/h}`. Minutes are no minimum: `5 \text{ min}`.
 */
import * as Units from "./Units.ts"

/** One unit's name or sign, with its power. */
const name = String.raw`\\(?:mathrm|text|textrm|rm|mathsf|mbox|operatorname)\s?\{[\s~]{0,3}([a-zA-Z]{1,20})\.?[\s~]{0,3}\}(?:\s?\^\s?\{?\s?([23])(?:\s?\})?)?`
const gap = String.raw`(?:\s|~|\\[,;: ]){0,4}`
const afterNumber = String.raw`(?<=[\d})]${gap})`

const joined = new RegExp(
  String.raw`${afterNumber}${name}${gap}(/|\\cdot(?![a-zA-Z])|·|⋅)${gap}(?:\\(?:mathrm|text|textrm|rm|mathsf|mbox|operatorname)\s?\{[\s~]{0,3})?([a-zA-Z]{1,20})(?:[\s~]{0,3}\})?(?:\s?\^\s?\{?\s?([23])(?:\s?\})?)?(?=${gap}\$?\s{0,4}$)`
)
const fraction = new RegExp(
  String.raw`${afterNumber}\\[dt]?frac\s?\{\s?${name}\s?\}\s?\{\s?${name}\s?\}(?=${gap}\$?\s{0,4}$)`
)
const minutes = new RegExp(
  String.raw`${afterNumber}\\(?:mathrm|text|textrm|rm|mbox)\s?\{[\s~]{0,3}min\.?[\s~]{0,3}\}(?!\s{0,3}[({_])`,
  "g"
)

/** "10 \\Omega" and `5 \mathrm{\mu m}`. */
const ohms = new RegExp(String.raw`(?<=\d${gap})\\Omega(?=${gap}\$?\s{0,4}$)`)
const micro = new RegExp(
  String.raw`(?<=[\d}]${gap})(?:\\(?:mathrm|text|rm)\s?\{\s{0,3})?(?:\\(?:up)?mu(?![a-zA-Z])|[µμ])\s{0,3}\}?\s{0,3}(?:\\(?:mathrm|text|rm)\s?\{\s{0,3})?([mgsLCFAVWNJH])\s{0,3}\}?(?=${gap}\$?\s{0,4}$)`
)

/** A product of several units in one command. */
const product = new RegExp(
  String.raw`(?<=[\d}]${gap})\\(?:mathrm|text|rm)\s?\{((?:[^{}]|\{[^{}]{0,10}\}){3,60})\}(?=${gap}\$?\s{0,4}$)`
)
const symbols = /^(?:[kcmMGµμn]?(?:m|g|s|L|N|J|W|V|A|K|C|F|T|Pa|Hz|mol|eV|rad)|min|h|day)$/
const factor = /(\/)?\s?\(?\s?([a-zA-Zµμ]{1,4})(?:\s?\^\s?\{?\s?(-?\d)\s?\}?)?\s?(\))?/g

/** `N\,m^2/kg^2` as one word of letters, its factors in order; undefined if one of them is no unit. */
const wordOf = (units: string): string | undefined => {
  const plain = units
    .replaceAll(/\\(?:cdot(?![a-zA-Z])|[,;: ])|[~·⋅*]/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
  const parts = [...plain.matchAll(factor)]
  if (parts.length < 3 || plain.replaceAll(factor, "").trim() !== "") return undefined
  let isBelow = false
  const written: Array<string> = []
  for (const [one, slash, name = "", power = "1", close] of parts) {
    if (!symbols.test(name)) return undefined
    const isOver = slash !== undefined || isBelow
    const exponent = Number(power) * (isOver ? -1 : 1)
    written.push(...Array.from({ length: Math.abs(exponent) }, () => (exponent < 0 ? `per${name}` : name)))
    isBelow = (isBelow || (slash !== undefined && one.includes("("))) && close === undefined
  }
  return written.toSorted().join("-")
}

/** Units that only occur in compound ones here: alone, their signs are more often names of values. */
const inCompounds = new Set(["A", "C", "K", "T", "Pa", "mol", "rad", "rev", "eV", "kJ", "kW"])
const isKnown = (unit: string): boolean => unit.length > 3 || inCompounds.has(unit) || Units.isUnit(unit)

const write = (whole: string, first: string, power: string | undefined, mark: string, last: string, end?: string) =>
  power === undefined && isKnown(first) && isKnown(last)
    ? `\\text{ ${first}${mark}${last}}${end === undefined ? "" : `^${end}`}`
    : whole

export const tidy = (answer: string): string =>
  answer
    .replace(ohms, "\\text{ ohms}")
    .replace(micro, "\\text{ micro$1}")
    .replace(product, (whole, units: string) => {
      const word = wordOf(units)
      return word === undefined ? whole : `\\text{ ${word}}`
    })
    .replaceAll(minutes, "\\text{ minutes}")
    .replace(joined, (whole, first: string, power: string | undefined, sign: string, last: string, end?: string) =>
      write(whole, first, power, sign === "/" ? "/" : " ", last, end)
    )
    .replace(fraction, (whole, first: string, power: string | undefined, last: string, end?: string) =>
      write(whole, first, power, "/", last, end)
    )
