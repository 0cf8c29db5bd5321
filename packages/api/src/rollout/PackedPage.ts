/**
 * Packs the groups of a saved page: per-token numbers in byte columns next to the JSON, long texts once. Pure and
 * without imports: written by the command, read in a browser.
 *
 * A group's object keeps its form; packed values are replaced by a marker:
 *
 *     tokens       { $ids: [at, lengths] }       indices into `Tables.ids`, in the column `ids` from byte `at`
 *     masks        { $runs: [[12, 30], …] }      per sequence, alternating numbers of untrained and trained tokens
 *     logprobs, …  { $decimals: [at, lengths] }  three significant digits, in the columns `high` and `low` from
 *                                                byte `at`
 *     a long text  { (text): n }                 `Tables.texts[n]`: pictures are repeated in every rollout and its
 *                                                messages
 *
 * Ids, masks and texts round-trip exactly. Decimals keep three digits from 1e-12 to 1e16, smaller ones become 0; a
 * field with other values (or an invalid mask) is not packed.
 */
import { isFields } from "./Fields.ts"

export interface Columns<A> {
  readonly ids: A
  readonly high: A
  readonly low: A
}

/** Tables that markers refer to; part of the JSON. */
export interface Tables {
  readonly ids: ReadonlyArray<number>
  readonly texts: ReadonlyArray<string>
}

type Rows = ReadonlyArray<ArrayLike<number>>
type Lengths = ReadonlyArray<number>
/** `at` is a byte offset in the column. */
type Place = readonly [at: number, lengths: Lengths]

/** The marker of a long text: a key that does not occur in data. */
const text = "\uE000text"

const untrained = -100

/** Compression handles shorter repetitions by itself. */
const longText = 1024

/** The number of distinct ids that three bytes can encode. */
const maxIds = 128 + 64 * 256 + 64 * 65536

const smallest = -12
const largest = 15
/** Codes per sign: 900 mantissas (100 to 999) for each exponent; 0 is zero. */
const codes = (largest - smallest + 1) * 900

/** The code of a value rounded to three digits; null if out of range. */
export const codeOf = (value: number): number | null => {
  if (!Number.isFinite(value)) return null
  const [mantissa = "", exponent = ""] = Math.abs(value).toExponential(2).split("e")
  const power = Number(exponent)
  if (value === 0 || power < smallest) return 0
  if (power > largest) return null
  const code = 1 + (power - smallest) * 900 + Math.round(Number(mantissa) * 100) - 100
  return value < 0 ? code + codes : code
}

export const valueOf = (code: number): number => {
  if (code === 0) return 0
  const [sign, size] = code > codes ? ["-", code - codes - 1] : ["", code - 1]
  return Number(`${sign}${(size % 900) + 100}e${Math.floor(size / 900) + smallest - 2}`)
}

/** Alternating numbers of untrained and trained tokens; null if a label is neither. */
const runsOf = (mask: ArrayLike<number>, tokens: ArrayLike<number> | undefined): Lengths | null => {
  if (mask.length !== tokens?.length) return null
  const runs = [0]
  for (let at = 0; at < mask.length; at++) {
    const isTrained = mask[at] !== untrained
    if (isTrained && mask[at] !== tokens[at]) return null
    if (isTrained !== (runs.length % 2 === 0)) runs.push(0)
    runs[runs.length - 1]!++
  }
  return runs
}

const lengthsOf = (rows: Rows): Lengths => Array.from(rows, ({ length }) => length)

/** The index of a key, which is added if new. */
const placeOf = <Key>(known: Map<Key, number>, key: Key): number => {
  const place = known.get(key) ?? known.size
  known.set(key, place)
  return place
}

export interface Writer {
  readonly tokens: (rows: Rows) => unknown
  /** `tokens` are those of the same group. */
  readonly masks: (rows: Rows, tokens: Rows) => unknown
  readonly decimals: (rows: Rows) => unknown
  /** Any JSON: its long texts are stored once overall. */
  readonly texts: (value: unknown) => unknown
  /** The bytes since the last call. */
  readonly take: () => Columns<Uint8Array>
  readonly tables: () => Tables
}

export const writer = (): Writer => {
  const ids = new Map<number, number>()
  const texts = new Map<string, number>()
  let bytes: Columns<Array<number>> = { ids: [], high: [], low: [] }
  let idsAt = 0
  let decimalsAt = 0

  const pushId = (place: number): void => {
    if (place < 128) return void bytes.ids.push(place)
    const rest = place - 128
    if (rest < 64 * 256) return void bytes.ids.push(128 + (rest >> 8), rest & 255)
    const far = rest - 64 * 256
    bytes.ids.push(192 + (far >> 16), (far >> 8) & 255, far & 255)
  }
  const shortened = (value: unknown): unknown => {
    if (typeof value === "string") {
      return value.length < longText ? value : { [text]: placeOf(texts, value) }
    }
    if (Array.isArray(value)) return value.map(shortened)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]))
  }

  return {
    tokens: (rows) => {
      const count = rows.reduce((sum, { length }) => sum + length, 0)
      if (ids.size + count > maxIds) return rows.map((row) => Array.from(row))
      const at = idsAt + bytes.ids.length
      for (const row of rows) for (let i = 0; i < row.length; i++) pushId(placeOf(ids, row[i]!))
      return { $ids: [at, lengthsOf(rows)] }
    },
    masks: (rows, tokens) => {
      const runs = rows.map((row, index) => runsOf(row, tokens[index]))
      return runs.includes(null) ? rows.map((row) => Array.from(row)) : { $runs: runs }
    },
    decimals: (rows) => {
      const coded = rows.map((row) => Array.from(row, codeOf))
      if (coded.some((row) => row.includes(null))) return rows.map((row) => Array.from(row))
      const at = decimalsAt + bytes.low.length
      for (const row of coded) {
        for (const code of row) {
          bytes.high.push(code! >> 8)
          bytes.low.push(code! & 255)
        }
      }
      return { $decimals: [at, lengthsOf(rows)] }
    },
    texts: shortened,
    take: () => {
      const { high, ids, low } = bytes
      bytes = { ids: [], high: [], low: [] }
      idsAt += ids.length
      decimalsAt += low.length
      return { ids: Uint8Array.from(ids), high: Uint8Array.from(high), low: Uint8Array.from(low) }
    },
    tables: () => ({ ids: [...ids.keys()], texts: [...texts.keys()] })
  }
}

/** The packed fields: in others, markers are ordinary data. Masks come after their tokens. */
const numeric = new Set(["tokens", "masks", "advantages", "ref_logprobs", "inference_logprobs", "trainer_differences"])

/** Unpacks groups; values without markers are returned unchanged. */
export const reader = (tables: Tables, columns: Columns<Uint8Array>): ((group: unknown) => unknown) => {
  const idsOf = ([start, lengths]: Place) => {
    let at = start
    const next = (): number => columns.ids[at++] ?? 0
    const place = (): number => {
      const first = next()
      if (first < 128) return first
      if (first < 192) return 128 + ((first - 128) << 8) + next()
      return 128 + 64 * 256 + ((first - 192) << 16) + (next() << 8) + next()
    }
    return lengths.map((length) => Array.from({ length }, () => tables.ids[place()] ?? 0))
  }
  const decimalsOf = ([start, lengths]: Place) => {
    let at = start
    return lengths.map((length) =>
      Array.from({ length }, () => valueOf(((columns.high[at] ?? 0) << 8) + (columns.low[at++] ?? 0)))
    )
  }
  const masksOf = (runs: ReadonlyArray<Lengths>, tokens: Rows) =>
    runs.map((lengths, index) => {
      const mask: Array<number> = []
      for (const [run, length] of lengths.entries()) {
        for (let i = 0; i < length; i++) mask.push(run % 2 === 0 ? untrained : (tokens[index]?.[mask.length] ?? 0))
      }
      return mask
    })
  const lengthened = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(lengthened)
    if (!isFields(value)) return value
    const place = value[text]
    if (typeof place === "number") return tables.texts[place]
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, lengthened(inner)]))
  }
  return (group) => {
    if (!isFields(group)) return group
    let tokens: Rows = []
    const fields = Object.entries(group).map(([key, value]): [string, unknown] => {
      if (!isFields(value) || !numeric.has(key)) return [key, lengthened(value)]
      // Written by the writer above.
      if ("$ids" in value) return [key, (tokens = idsOf(value["$ids"] as Place))]
      if ("$decimals" in value) return [key, decimalsOf(value["$decimals"] as Place)]
      return [key, masksOf(value["$runs"] as ReadonlyArray<Lengths>, tokens)]
    })
    return Object.fromEntries(fields)
  }
}
