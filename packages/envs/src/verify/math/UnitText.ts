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

/** Units that only occur in compound ones here: alone, their signs are more often names of values. */
const inCompounds = new Set(["A", "C", "K", "T", "Pa", "mol", "rad", "rev", "eV", "kJ", "kW"])
const isKnown = (unit: string): boolean => unit.length > 3 || inCompounds.has(unit) || Units.isUnit(unit)

const write = (whole: string, first: string, power: string | undefined, mark: string, last: string, end?: string) =>
  power === undefined && isKnown(first) && isKnown(last)
    ? `\\text{ ${first}${mark}${last}}${end === undefined ? "" : `^${end}`}`
    : whole

export const tidy = (answer: string): string =>
  answer
    .replaceAll(minutes, "\\text{ minutes}")
    .replace(joined, (whole, first: string, power: string | undefined, sign: string, last: string, end?: string) =>
      write(whole, first, power, sign === "/" ? "/" : " ", last, end)
    )
    .replace(fraction, (whole, first: string, power: string | undefined, last: string, end?: string) =>
      write(whole, first, power, "/", last, end)
    )
