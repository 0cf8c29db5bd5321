/**
 * Finds the shape of a packed group and its sections, and cuts them into rows; every length is checked against the
 * available bytes. Joins rows to sections for writing.
 */
import { Result, Schema } from "effect"
import { failed, groupMagic, PackedGroupError, preludeBytes, readPrelude } from "./PackedFrame.ts"
import * as JsonSpans from "./JsonSpans.ts"
import * as Sections from "./Sections.ts"
import * as ContentId from "../../base/ContentId.ts"
import { traceparentPattern } from "../../base/Trace.ts"
import * as Timings from "../../trajectory/Timings.ts"

const Section = Schema.Tuple([Schema.String, Schema.Literals(["i32", "f32", "f64"]), Schema.Natural])
/** The stable id of an item, as in wires and addresses. */
export const ItemId = Schema.String.check(Schema.makeFilter((id: string) => ContentId.isPlain(id) || ContentId.plain))
const Shape = Schema.Struct({
  sequences: Schema.Natural,
  tokens: Schema.Natural,
  env_id: Schema.NullOr(Schema.Int),
  policy_versions: Schema.NullOr(Schema.Array(Schema.NullOr(Schema.Int))),
  traceparent: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(traceparentPattern, { message: "a W3C traceparent" }))
  ),
  item_id: Schema.optionalKey(ItemId),
  solved: Schema.optionalKey(Schema.Array(Schema.Boolean)),
  sections: Schema.Array(Section).check(Schema.isMaxLength(32))
})

const decodeShape = Schema.decodeUnknownResult(Schema.fromJsonString(Shape))
const decoder = new TextDecoder()

/** A packed group with its parts located. */
export interface Opened {
  readonly shape: typeof Shape.Type
  readonly rest: Uint8Array
  readonly sections: ReadonlyMap<
    string,
    { readonly type: Sections.NumberType; readonly offset: number; readonly length: number }
  >
}

export const open = (bytes: Uint8Array): Result.Result<Opened, PackedGroupError> =>
  Result.gen(function* () {
    const { first: shapeLength, second: restLength } = yield* readPrelude(bytes, groupMagic, "a packed group")
    const restStart = Sections.align(preludeBytes + shapeLength)
    const start = Sections.align(restStart + restLength)
    if (restStart + restLength > bytes.length) {
      return yield* failed(
        "prelude",
        `shape and rest need ${restStart + restLength} bytes, but only ${bytes.length} are present`
      )
    }
    const shapeBytes = bytes.subarray(preludeBytes, preludeBytes + shapeLength)
    if (JsonSpans.isTooDeep(shapeBytes)) return yield* failed("shape", "is nested too deeply")
    const shape = yield* Result.mapError(
      decodeShape(decoder.decode(shapeBytes)),
      (error) => new PackedGroupError({ field: "shape", message: error.message })
    )
    const sections = new Map<string, { type: Sections.NumberType; offset: number; length: number }>()
    let offset = start
    for (const [name, type, length] of shape.sections) {
      const end = offset + length * Sections.width[type]
      if (end > bytes.length) {
        return yield* failed(name, `${length} numbers need ${end} bytes, but only ${bytes.length} are present`)
      }
      if (sections.has(name)) return yield* failed(name, "duplicate section")
      sections.set(name, { type, offset, length })
      offset = Sections.align(end)
    }
    return { shape, rest: bytes.subarray(restStart, restStart + restLength), sections }
  })

/** The numbers of a section; undefined if it is absent. */
export const numbersOf = (
  bytes: Uint8Array,
  { sections }: Opened,
  name: string,
  type: Sections.NumberType
): Result.Result<Sections.Numbers | undefined, PackedGroupError> => {
  const section = sections.get(name)
  if (section === undefined) return Result.succeed(undefined)
  if (section.type !== type) return failed(name, `numbers are ${section.type}, expected ${type}`)
  return Result.succeed(Sections.read(type, bytes, section.offset, section.length))
}

const cut = <A extends { readonly length: number; subarray(start: number, end: number): A }>(
  name: string,
  whole: A,
  lengths: ArrayLike<number>
): Result.Result<ReadonlyArray<A>, PackedGroupError> => {
  const rows: Array<A> = []
  let at = 0
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths[i]!
    if (length < 0) return failed(`${name}.${i}`, `a row cannot have ${length} entries`)
    rows.push(whole.subarray(at, at + length))
    at += length
  }
  return at === whole.length
    ? Result.succeed(rows)
    : failed(name, `rows have ${at} entries in total, but the section has ${whole.length}`)
}

export const ints = (bytes: Uint8Array, opened: Opened, name: string) =>
  // The type was requested.
  Result.map(numbersOf(bytes, opened, name, "i32"), (numbers) => numbers as Int32Array | undefined)
export const floats = (bytes: Uint8Array, opened: Opened, name: string) =>
  Result.map(numbersOf(bytes, opened, name, "f32"), (numbers) => numbers as Float32Array | undefined)

type Whole<A> = Result.Result<A | undefined, PackedGroupError>
interface Cuttable<A> {
  readonly length: number
  subarray(start: number, end: number): A
}

/** A matrix: its rows are as long as the tokens' unless its lengths are given. */
export const readMatrix = <A extends Cuttable<A>>(
  bytes: Uint8Array,
  opened: Opened,
  name: string,
  whole: Whole<A>,
  tokenLengths: ArrayLike<number>
): Result.Result<ReadonlyArray<A> | undefined, PackedGroupError> =>
  Result.gen(function* () {
    const numbers = yield* whole
    if (numbers === undefined) return undefined
    const lengths = (yield* ints(bytes, opened, `${name}.lengths`)) ?? tokenLengths
    const { sequences } = opened.shape
    if (lengths.length !== sequences) {
      return yield* failed(name, `should have one entry per sequence of tokens, ${sequences}, not ${lengths.length}`)
    }
    return yield* cut(name, numbers, lengths)
  })

/** A matrix per sequence. */
export const readCube = <A extends Cuttable<A>>(
  bytes: Uint8Array,
  opened: Opened,
  name: string,
  read: (bytes: Uint8Array, opened: Opened, name: string) => Whole<A>
): Result.Result<ReadonlyArray<ReadonlyArray<A>> | undefined, PackedGroupError> =>
  Result.gen(function* () {
    const numbers = yield* read(bytes, opened, name)
    const positions = yield* ints(bytes, opened, `${name}.positions`)
    const lengths = yield* ints(bytes, opened, `${name}.lengths`)
    if (numbers === undefined) return undefined
    if (positions === undefined || lengths === undefined) {
      return yield* failed(name, "its sections .positions and .lengths are missing")
    }
    const { sequences } = opened.shape
    if (positions.length !== sequences) {
      return yield* failed(name, `should have one entry per sequence of tokens, ${sequences}, not ${positions.length}`)
    }
    const rows = yield* cut(name, numbers, lengths)
    const perSequence = yield* cut(`${name}.positions`, lengths, positions)
    let at = 0
    return perSequence.map(({ length }) => rows.slice(at, (at += length)))
  })

export const readVersionRuns = (bytes: Uint8Array, opened: Opened) =>
  readMatrix(bytes, opened, "version_runs", ints(bytes, opened, "version_runs"), [])

export const readTimings = (
  bytes: Uint8Array,
  opened: Opened
): Result.Result<ReadonlyArray<Timings.Timings | null> | undefined, PackedGroupError> =>
  Result.gen(function* () {
    const rows = yield* readMatrix(bytes, opened, "timings", ints(bytes, opened, "timings"), [])
    const timings = rows?.map(Timings.ofRow)
    const odd = timings?.indexOf(undefined) ?? -1
    if (odd >= 0)
      return yield* failed(`timings.${odd}`, "should be non-negative times in milliseconds: 2, and 3 per turn")
    return timings?.map((one) => one ?? null)
  })

const joined = (rows: ReadonlyArray<Int32Array | Float32Array>, type: "i32" | "f32"): Sections.Numbers => {
  const length = rows.reduce((sum, row) => sum + row.length, 0)
  const whole = type === "i32" ? new Int32Array(length) : new Float32Array(length)
  let at = 0
  for (const row of rows) {
    whole.set(row, at)
    at += row.length
  }
  return whole
}

const lengthsOf = (rows: ReadonlyArray<ArrayLike<unknown>>): Int32Array => Int32Array.from(rows, (row) => row.length)
export type NamedSection = readonly [name: string, type: Sections.NumberType, numbers: Sections.Numbers]

/** Rows with their lengths, which are omitted if equal to those of the tokens. */
export const matrix = (
  name: string,
  type: "i32" | "f32",
  rows: ReadonlyArray<Int32Array | Float32Array> | undefined,
  tokens?: ReadonlyArray<Int32Array>
): ReadonlyArray<NamedSection> =>
  rows === undefined ? [] : withLengths(name, [name, type, joined(rows, type)], rows, tokens)

export const withLengths = (
  name: string,
  numbers: NamedSection,
  rows: ReadonlyArray<ArrayLike<unknown>>,
  tokens?: ReadonlyArray<Int32Array>
): ReadonlyArray<NamedSection> => {
  const asTokens =
    tokens !== undefined && rows.length === tokens.length && rows.every((row, i) => row.length === tokens[i]!.length)
  return asTokens ? [numbers] : [[`${name}.lengths`, "i32", lengthsOf(rows)], numbers]
}

export const cube = (
  name: string,
  type: "i32" | "f32",
  matrices: ReadonlyArray<ReadonlyArray<Int32Array | Float32Array>> | undefined
): ReadonlyArray<NamedSection> =>
  matrices === undefined
    ? []
    : [[`${name}.positions`, "i32", lengthsOf(matrices)], ...matrix(name, type, matrices.flat())]
