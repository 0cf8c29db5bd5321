/**
 * Reads residues, `x \equiv 5 \pmod 7` and "5 (mod 7)". The question names the modulus, so the number alone answers a
 * residue, and a residue the number. Only reduced ones count: `17 \bmod 5` repeats the question. Linear in the text.
 */
import { normalise } from "./Normalise.ts"

interface Residue {
  readonly values: ReadonlyArray<bigint>
  readonly modulus: bigint
}

const name = String.raw`(?:[a-zA-Z](?:_\{?\w\}?)?\s{0,3}(?:\\equiv(?![a-zA-Z])|≡|=|\\cong(?![a-zA-Z]))\s{0,3})`
const joint = String.raw`\s{0,3}(?:,|\\text\s?\{\s{0,3},?\s?(?:and|or)\s{0,3}\}|,?\s?(?:and|or)(?![a-zA-Z]))\s{0,3}`
const value = String.raw`-?\d{1,40}`
const space = String.raw`(?:\s|\\[,;: ]|\\q?quad|\$|~){0,6}`
const mod = String.raw`\\?(?:[pb]?mod|text\s?\{\s{0,3}\(?mod(?:ulo)?\s{0,3}\}|(?:mathrm|operatorname)\s?\{\s?mod\s?\}|modulo)`
const modulus = String.raw`${space}\\?\(?${space}${mod}${space}\{?${space}(\d{1,40})\s{0,3}\}?${space}\\?\)?\}?`

const residue = new RegExp(String.raw`^[\s$]{0,6}${name}?(${value}(?:${joint}${value}){0,20})${modulus}[\s$]{0,6}\.?$`)
const between = new RegExp(String.raw`(?<=mod[\s\\{}()$a-z\d]{1,30})${joint}`)

/** Max characters of a residue, or a list of some. */
const maxLength = 400

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value)

const readOne = (text: string): Residue | undefined => {
  const [, values = "", base = "0"] = residue.exec(text) ?? []
  const numbers = (values.match(/-?\d+/g) ?? []).map(BigInt)
  const modulus = BigInt(base)
  const isReduced = numbers.length > 0 && numbers.every((one) => magnitude(one) < modulus)
  return isReduced ? { values: numbers, modulus } : undefined
}

/** Reduced residues of one modulus; undefined for anything else. */
const read = (answer: string): Residue | undefined => {
  if (answer.length > maxLength || !/mod/.test(answer)) return undefined
  const residues = normalise(answer).split(between).map(readOne)
  const [first] = residues
  const areOfOne = residues.every((one) => one !== undefined && one.modulus === first?.modulus)
  return first !== undefined && areOfOne
    ? { ...first, values: residues.flatMap((one) => one?.values ?? []) }
    : undefined
}

const written = ({ values }: Residue): string => values.join(" , ")

/** The numbers of two answers if either is a residue, from 0 on if both are; undefined if none is, or moduli differ. */
export const without = (gold: string, prediction: string): readonly [gold: string, prediction: string] | undefined => {
  const [a, b] = [read(gold), read(prediction)]
  if (a === undefined || b === undefined) {
    return a === undefined && b === undefined
      ? undefined
      : [a === undefined ? gold : written(a), b === undefined ? prediction : written(b)]
  }
  if (a.modulus !== b.modulus) return undefined
  const [own, other] = [a, b].map((one) =>
    written({ ...one, values: one.values.map((value) => ((value % a.modulus) + a.modulus) % a.modulus) })
  )
  return own === undefined || other === undefined ? undefined : [own, other]
}
