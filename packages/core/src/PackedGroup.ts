/**
 * A scored group as bytes: our own wire and storage format, a tenth of the cost of JSON.
 *
 * Layout, all little-endian; every part starts at a multiple of 8 bytes:
 *
 *     "ATPG" | version u32 = 1 | bytes of shape u32 | bytes of rest u32      16 bytes
 *     shape    JSON: { sequences, tokens, env_id, policy_versions, sections: [[name, type, length], …] }
 *     rest     JSON: { messages, generation_params, overrides, group_overrides, images }, those that are given
 *     sections in the order told: "i32", "f32" or "f64" numbers
 *
 * A matrix is one section with its rows joined, and `<name>.lengths` (i32) where its rows are not as long as the tokens' (always
 * for `tokens`); distillation matrices also have `<name>.positions`, the number of rows per sequence.
 *
 * `decode` believes nothing: every length is checked against the bytes that are there, and the numbers against the rules of
 * `WireGroup` (finite, token ids from 0 to 2^31 - 1, one entry per sequence and per token). Where alignment allows, its arrays
 * are views of the given bytes, which must then stay unchanged. Number arrays survive a round trip bit for bit.
 */
import { Result, Schema } from "effect"
import * as Sections from "./internal/wire/Sections.ts"
import type { Message } from "./Message.ts"
import type { Overrides, ScoredGroup } from "./ScoredGroup.ts"

/** The bytes are no packed group, or the group breaks a rule. */
export class PackedGroupError extends Schema.TaggedError<PackedGroupError>()("PackedGroupError", {
  /** The field, or the part of the format. */
  field: Schema.String,
  message: Schema.String
}) {}

/** What a packed group says of itself without its numbers being read. */
export interface Envelope {
  /** G */
  readonly sequences: number
  /** Number of tokens over all sequences. */
  readonly tokens: number
  readonly scores: Float64Array
  readonly envId: number | null
  /** (G) trainer step whose weights sampled each sequence, where known. */
  readonly policyVersions: ReadonlyArray<number | null> | null
}

const version = 1
const preludeBytes = 16
const groupMagic = 0x47505441 // "ATPG"
const listMagic = 0x4c505441 // "ATPL"

const Section = Schema.Tuple([Schema.String, Schema.Literals(["i32", "f32", "f64"]), Schema.Natural])
const Shape = Schema.Struct({
  sequences: Schema.Natural,
  tokens: Schema.Natural,
  env_id: Schema.NullOr(Schema.Int),
  policy_versions: Schema.NullOr(Schema.Array(Schema.NullOr(Schema.Int))),
  sections: Schema.Array(Section).check(Schema.isMaxLength(32))
})
const Free = Schema.Record(Schema.String, Schema.Unknown)
const Rest = Schema.Struct({
  messages: Schema.optionalKey(Schema.Array(Schema.Array(Free))),
  generation_params: Schema.optionalKey(Free),
  overrides: Schema.optionalKey(Schema.Array(Free)),
  group_overrides: Schema.optionalKey(Free),
  images: Schema.optionalKey(Schema.Unknown)
})

const decodeShape = Schema.decodeUnknownResult(Schema.fromJsonString(Shape))
const decodeRest = Schema.decodeUnknownResult(Schema.fromJsonString(Rest))

const failed = (field: string, message: string) => Result.fail(new PackedGroupError({ field, message }))

const encoder = new TextEncoder()
const decoder = new TextDecoder()

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

type NamedSection = readonly [name: string, type: Sections.NumberType, numbers: Sections.Numbers]

/** Rows with their lengths, left out where they are those of the tokens. */
const matrix = (
  name: string,
  type: "i32" | "f32",
  rows: ReadonlyArray<Int32Array | Float32Array> | undefined,
  tokens?: ReadonlyArray<Int32Array>
): ReadonlyArray<NamedSection> => {
  if (rows === undefined) return []
  const asTokens =
    tokens !== undefined && rows.length === tokens.length && rows.every((row, i) => row.length === tokens[i]!.length)
  const numbers: NamedSection = [name, type, joined(rows, type)]
  return asTokens ? [numbers] : [[`${name}.lengths`, "i32", lengthsOf(rows)], numbers]
}

const cube = (
  name: string,
  type: "i32" | "f32",
  matrices: ReadonlyArray<ReadonlyArray<Int32Array | Float32Array>> | undefined
): ReadonlyArray<NamedSection> =>
  matrices === undefined
    ? []
    : [[`${name}.positions`, "i32", lengthsOf(matrices)], ...matrix(name, type, matrices.flat())]

/** The bytes of a group. */
export const encode = (group: ScoredGroup): Uint8Array => {
  const { tokens } = group
  const sections: ReadonlyArray<NamedSection> = [
    ["scores", "f64", group.scores],
    ...matrix("tokens", "i32", tokens),
    ...matrix("masks", "i32", group.masks, tokens),
    ...matrix("advantages", "f32", group.advantages, tokens),
    ...matrix("ref_logprobs", "f32", group.refLogprobs, tokens),
    ...matrix("inference_logprobs", "f32", group.inferenceLogprobs, tokens),
    ...cube("distill_token_ids", "i32", group.distillTokenIds),
    ...cube("distill_logprobs", "f32", group.distillLogprobs)
  ]
  const shape = encoder.encode(
    JSON.stringify({
      sequences: tokens.length,
      tokens: tokens.reduce((sum, row) => sum + row.length, 0),
      env_id: group.envId ?? null,
      policy_versions: group.policyVersions ?? null,
      sections: sections.map(([name, type, numbers]) => [name, type, numbers.length])
    })
  )
  const rest = encoder.encode(
    JSON.stringify({
      messages: group.messages,
      generation_params: group.generationParams,
      overrides: group.overrides,
      group_overrides: group.groupOverrides,
      images: group.images
    })
  )
  const shapeEnd = Sections.align(preludeBytes + shape.length)
  const start = Sections.align(shapeEnd + rest.length)
  const total = sections.reduce((offset, [, , { byteLength }]) => offset + Sections.align(byteLength), start)
  const bytes = new Uint8Array(total)
  prelude(bytes, groupMagic, shape.length, rest.length)
  bytes.set(shape, preludeBytes)
  bytes.set(rest, shapeEnd)
  let offset = start
  for (const [, , numbers] of sections) {
    Sections.write(numbers, bytes, offset)
    offset += Sections.align(numbers.byteLength)
  }
  return bytes
}

const prelude = (bytes: Uint8Array, magic: number, first: number, second: number): void => {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  view.setUint32(0, magic, true)
  view.setUint32(4, version, true)
  view.setUint32(8, first, true)
  view.setUint32(12, second, true)
}

interface Opened {
  readonly shape: typeof Shape.Type
  readonly rest: Uint8Array
  readonly sections: ReadonlyMap<
    string,
    { readonly type: Sections.NumberType; readonly offset: number; readonly length: number }
  >
}

const readPrelude = (
  bytes: Uint8Array,
  magic: number,
  what: string
): Result.Result<{ readonly first: number; readonly second: number }, PackedGroupError> => {
  if (bytes.length < preludeBytes) return failed("prelude", `${bytes.length} bytes are too few for ${what}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0, true) !== magic) return failed("prelude", `these bytes do not start as ${what} does`)
  const found = view.getUint32(4, true)
  if (found !== version) return failed("prelude", `version ${found} of ${what} is not known here, only ${version}`)
  return Result.succeed({ first: view.getUint32(8, true), second: view.getUint32(12, true) })
}

const open = (bytes: Uint8Array): Result.Result<Opened, PackedGroupError> =>
  Result.gen(function* () {
    const { first: shapeLength, second: restLength } = yield* readPrelude(bytes, groupMagic, "a packed group")
    const restStart = Sections.align(preludeBytes + shapeLength)
    const start = Sections.align(restStart + restLength)
    if (restStart + restLength > bytes.length) {
      return yield* failed("prelude", `shape and rest need ${restStart + restLength} bytes, ${bytes.length} are there`)
    }
    const shape = yield* Result.mapError(
      decodeShape(decoder.decode(bytes.subarray(preludeBytes, preludeBytes + shapeLength))),
      (error) => new PackedGroupError({ field: "shape", message: error.message })
    )
    const sections = new Map<string, { type: Sections.NumberType; offset: number; length: number }>()
    let offset = start
    for (const [name, type, length] of shape.sections) {
      const end = offset + length * Sections.width[type]
      if (end > bytes.length) {
        return yield* failed(name, `${length} numbers need ${end} bytes, ${bytes.length} are there`)
      }
      if (sections.has(name)) return yield* failed(name, "this section comes twice")
      sections.set(name, { type, offset, length })
      offset = Sections.align(end)
    }
    return { shape, rest: bytes.subarray(restStart, restStart + restLength), sections }
  })

/** The numbers of a section; undefined where it is not there. */
const numbersOf = (
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

/** Cuts `whole` into rows. */
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
    : failed(name, `rows have ${at} entries together, the section has ${whole.length}`)
}

const ints = (bytes: Uint8Array, opened: Opened, name: string) =>
  // The type was asked for.
  Result.map(numbersOf(bytes, opened, name, "i32"), (numbers) => numbers as Int32Array | undefined)
const floats = (bytes: Uint8Array, opened: Opened, name: string) =>
  Result.map(numbersOf(bytes, opened, name, "f32"), (numbers) => numbers as Float32Array | undefined)

type Whole<A> = Result.Result<A | undefined, PackedGroupError>
interface Cuttable<A> {
  readonly length: number
  subarray(start: number, end: number): A
}

const readMatrix = <A extends Cuttable<A>>(
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

const readCube = <A extends Cuttable<A>>(
  bytes: Uint8Array,
  opened: Opened,
  name: string,
  whole: Whole<A>
): Result.Result<ReadonlyArray<ReadonlyArray<A>> | undefined, PackedGroupError> =>
  Result.gen(function* () {
    const numbers = yield* whole
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

const checkTokens = (name: string, rows: ReadonlyArray<Int32Array>): PackedGroupError | undefined => {
  for (const [i, row] of rows.entries()) {
    for (let t = 0; t < row.length; t++) {
      if (row[t]! < 0)
        return new PackedGroupError({ field: `${name}.${i}.${t}`, message: `a token id cannot be ${row[t]}` })
    }
  }
  return undefined
}

const checkFinite = (name: string, rows: ReadonlyArray<Float32Array | Float64Array>): PackedGroupError | undefined => {
  for (const [i, row] of rows.entries()) {
    for (let t = 0; t < row.length; t++) {
      if (!Number.isFinite(row[t])) {
        return new PackedGroupError({ field: `${name}.${i}.${t}`, message: `should be a finite number, not ${row[t]}` })
      }
    }
  }
  return undefined
}

const checkLengths = (
  name: string,
  rows: ReadonlyArray<ArrayLike<number>>,
  tokens: ReadonlyArray<Int32Array>
): PackedGroupError | undefined => {
  const i = rows.findIndex((row, index) => row.length !== tokens[index]?.length)
  return i < 0
    ? undefined
    : new PackedGroupError({
        field: `${name}.${i}`,
        message: `should have one entry per token, ${tokens[i]?.length ?? 0}, not ${rows[i]!.length}`
      })
}

const checkCount = (name: string, count: number, sequences: number): PackedGroupError | undefined =>
  count === sequences
    ? undefined
    : new PackedGroupError({
        field: name,
        message: `should have one entry per sequence of tokens, ${sequences}, not ${count}`
      })

/** The first rule a group breaks: those of `WireGroup`, for groups that never were JSON. */
export const check = (group: ScoredGroup): Result.Result<ScoredGroup, PackedGroupError> => {
  const { advantages, distillLogprobs, distillTokenIds, inferenceLogprobs, masks, refLogprobs, scores, tokens } = group
  const sequences = tokens.length
  const counted = { masks, scores, advantages, refLogprobs, inferenceLogprobs, distillTokenIds, distillLogprobs }
  const error =
    Object.entries(counted)
      .map(([name, rows]) => rows && checkCount(name, rows.length, sequences))
      .find((found) => found !== undefined) ??
    (group.overrides && checkCount("overrides", group.overrides.length, sequences)) ??
    (group.policyVersions && checkCount("policyVersions", group.policyVersions.length, sequences)) ??
    checkTokens("tokens", tokens) ??
    checkLengths("masks", masks, tokens) ??
    checkFinite("scores", [scores]) ??
    (advantages && checkFinite("advantages", advantages)) ??
    (refLogprobs && (checkLengths("refLogprobs", refLogprobs, tokens) ?? checkFinite("refLogprobs", refLogprobs))) ??
    (inferenceLogprobs &&
      (checkLengths("inferenceLogprobs", inferenceLogprobs, tokens) ??
        checkFinite("inferenceLogprobs", inferenceLogprobs))) ??
    (distillTokenIds && checkTokens("distillTokenIds", distillTokenIds.flat())) ??
    (distillLogprobs && checkFinite("distillLogprobs", distillLogprobs.flat()))
  return error === undefined ? Result.succeed(group) : Result.fail(error)
}

/** The group of packed bytes. */
export const decode = (bytes: Uint8Array): Result.Result<ScoredGroup, PackedGroupError> =>
  Result.gen(function* () {
    const opened = yield* open(bytes)
    const { shape } = opened
    const rest = yield* Result.mapError(
      decodeRest(decoder.decode(opened.rest)),
      (error) => new PackedGroupError({ field: "rest", message: error.message })
    )
    const lengths = (yield* ints(bytes, opened, "tokens.lengths")) ?? new Int32Array()
    const tokens = yield* readMatrix(bytes, opened, "tokens", ints(bytes, opened, "tokens"), lengths)
    const masks = yield* readMatrix(bytes, opened, "masks", ints(bytes, opened, "masks"), lengths)
    // The type was asked for.
    const scores = (yield* numbersOf(bytes, opened, "scores", "f64")) as Float64Array | undefined
    if (tokens === undefined) return yield* failed("tokens", "this section is missing")
    if (masks === undefined) return yield* failed("masks", "this section is missing")
    if (scores === undefined) return yield* failed("scores", "this section is missing")
    const count = lengths.reduce((sum, length) => sum + length, 0)
    if (count !== shape.tokens) return yield* failed("shape.tokens", `says ${shape.tokens}, the sections have ${count}`)
    const floatMatrix = (name: string) => readMatrix(bytes, opened, name, floats(bytes, opened, name), lengths)
    const advantages = yield* floatMatrix("advantages")
    const refLogprobs = yield* floatMatrix("ref_logprobs")
    const inferenceLogprobs = yield* floatMatrix("inference_logprobs")
    const distillTokenIds = yield* readCube(
      bytes,
      opened,
      "distill_token_ids",
      ints(bytes, opened, "distill_token_ids")
    )
    const distillLogprobs = yield* readCube(
      bytes,
      opened,
      "distill_logprobs",
      floats(bytes, opened, "distill_logprobs")
    )
    return yield* check({
      tokens,
      masks,
      scores,
      ...(advantages && { advantages }),
      ...(refLogprobs && { refLogprobs }),
      ...(inferenceLogprobs && { inferenceLogprobs }),
      // Free-form as in the original; role and content are the environment's business.
      ...(rest.messages && { messages: rest.messages as unknown as ReadonlyArray<ReadonlyArray<Message>> }),
      ...(rest.generation_params && { generationParams: rest.generation_params satisfies Overrides }),
      ...(rest.overrides && { overrides: rest.overrides }),
      ...(rest.group_overrides && { groupOverrides: rest.group_overrides }),
      ...("images" in rest && { images: rest.images }),
      ...(shape.env_id !== null && { envId: shape.env_id }),
      ...(distillTokenIds && { distillTokenIds }),
      ...(distillLogprobs && { distillLogprobs }),
      ...(shape.policy_versions && { policyVersions: shape.policy_versions })
    })
  })

/** Counts and scores; the numbers of the sequences are not looked at. */
export const envelope = (bytes: Uint8Array): Result.Result<Envelope, PackedGroupError> =>
  Result.gen(function* () {
    const opened = yield* open(bytes)
    const { env_id, policy_versions, sequences, tokens } = opened.shape
    const scores = (yield* numbersOf(bytes, opened, "scores", "f64")) as Float64Array | undefined
    if (scores === undefined) return yield* failed("scores", "this section is missing")
    return { sequences, tokens, scores, envId: env_id, policyVersions: policy_versions }
  })

/** A packed group with the key it is submitted under, or the id it is handed out under. */
export interface KeyedBytes {
  readonly key: string
  readonly bytes: Uint8Array
}

const Index = Schema.Array(Schema.Struct({ key: Schema.String, bytes: Schema.Natural }))
const decodeIndex = Schema.decodeUnknownResult(Schema.fromJsonString(Index))

/** Several packed groups as one body: "ATPL", version, bytes of index, number of groups, the index as JSON, the groups. */
export const encodeList = (items: ReadonlyArray<KeyedBytes>): Uint8Array => {
  const index = encoder.encode(JSON.stringify(items.map(({ bytes, key }) => ({ key, bytes: bytes.length }))))
  const start = Sections.align(preludeBytes + index.length)
  const whole = new Uint8Array(items.reduce((offset, { bytes }) => offset + Sections.align(bytes.length), start))
  prelude(whole, listMagic, index.length, items.length)
  whole.set(index, preludeBytes)
  let offset = start
  for (const { bytes } of items) {
    whole.set(bytes, offset)
    offset += Sections.align(bytes.length)
  }
  return whole
}

/** The groups of such a body, as views of it; each still has to be decoded. */
export const decodeList = (bytes: Uint8Array): Result.Result<ReadonlyArray<KeyedBytes>, PackedGroupError> =>
  Result.gen(function* () {
    const { first: indexLength, second: count } = yield* readPrelude(bytes, listMagic, "a list of packed groups")
    if (preludeBytes + indexLength > bytes.length) {
      return yield* failed("index", `needs ${preludeBytes + indexLength} bytes, ${bytes.length} are there`)
    }
    const index = yield* Result.mapError(
      decodeIndex(decoder.decode(bytes.subarray(preludeBytes, preludeBytes + indexLength))),
      (error) => new PackedGroupError({ field: "index", message: error.message })
    )
    if (index.length !== count) {
      return yield* failed("index", `lists ${index.length} groups, the prelude says ${count}`)
    }
    const items: Array<KeyedBytes> = []
    let offset = Sections.align(preludeBytes + indexLength)
    for (const [i, entry] of index.entries()) {
      const end = offset + entry.bytes
      if (end > bytes.length) return yield* failed(`index.${i}`, `needs ${end} bytes, ${bytes.length} are there`)
      items.push({ key: entry.key, bytes: bytes.subarray(offset, end) })
      offset = Sections.align(end)
    }
    return items
  })
