/**
 * Encodes a scored group as bytes: our own wire and storage format, at a tenth of the cost of JSON.
 *
 * Layout, all little-endian; every part starts at a multiple of 8 bytes:
 *
 *     "ATPG" | version u32 = 1 | bytes of shape u32 | bytes of rest u32      16 bytes
 *     shape    JSON: { sequences, tokens, env_id, policy_versions, traceparent?, item_id?,
 *              solved?, sections: [[name, type, length], …] }
 *     rest     JSON: { messages, generation_params, overrides, group_overrides, images, calls }, those that are given
 *     sections in the listed order: "i32", "f32" or "f64" numbers
 *
 * A matrix is one section with concatenated rows, plus `<name>.lengths` (i32) if its rows are not as long as the
 * tokens' (always for `tokens`, for `timings`, rows of `Timings`, and for `version_runs`, rows of `VersionRuns`);
 * distillation matrices also have `<name>.positions`, the number of rows per sequence. Readers ignore sections they do
 * not know.
 *
 * `decode` trusts nothing: every length is checked against the available bytes, and the numbers against the rules of
 * `WireGroup` (finite, token ids from 0 to 2^31 - 1, one entry per sequence and per token). If alignment allows, its
 * arrays are views of the given bytes, which must then not change. Number arrays survive a round trip bit for bit,
 * masks and sampling logprobs as described in `Labels`.
 */
import { Result, Schema } from "effect"
import { failed, groupMagic, PackedGroupError, preludeBytes, writePrelude } from "./wire/PackedFrame.ts"
import * as Labels from "../trajectory/Labels.ts"
import { type LabelledGroup, toScoredGroup } from "./wire/LabelledGroup.ts"
import { checkLabelled } from "./wire/PackedRules.ts"
import {
  cube,
  floats,
  ints,
  matrix,
  type NamedSection,
  numbersOf,
  open,
  readCube,
  readMatrix,
  readTimings,
  readVersionRuns,
  withLengths
} from "./wire/PackedSections.ts"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as ExactMessages from "./wire/ExactMessages.ts"
import * as JsonSpans from "./wire/JsonSpans.ts"
import * as Sections from "./wire/Sections.ts"
import type { Message } from "../trajectory/Message.ts"
import * as RewardComponents from "../reward/RewardComponents.ts"
import type { Overrides, ScoredGroup } from "../trajectory/ScoredGroup.ts"
import * as Timings from "../trajectory/Timings.ts"

export { PackedGroupError } from "./wire/PackedFrame.ts"
export type { LabelledGroup } from "./wire/LabelledGroup.ts"
export { decodeList, encodeList, listParts, type KeyedBytes } from "./wire/PackedList.ts"
export { check } from "./wire/PackedRules.ts"

const Free = Schema.Record(Schema.String, Schema.Unknown)
const Rest = Schema.Struct({
  messages: Schema.optionalKey(Schema.Array(Schema.Array(Free))),
  generation_params: Schema.optionalKey(Free),
  overrides: Schema.optionalKey(Schema.Array(Free)),
  group_overrides: Schema.optionalKey(Free),
  images: Schema.optionalKey(Schema.Unknown),
  /** (G) the calls of `Timings`, null for rows without any. */
  calls: Schema.optionalKey(Schema.Unknown)
})

const decodeRest = Schema.decodeUnknownResult(Schema.fromJsonString(Rest))

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The masks' labels, written while concatenating rows. */
const labels = ({ masks, tokens }: ScoredGroup): ReadonlyArray<NamedSection> => {
  const whole = new Int32Array(masks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const [i, mask] of masks.entries()) {
    Labels.write(whole, at, tokens[i]!, mask)
    at += mask.length
  }
  return withLengths("masks", ["masks", "i32", whole], masks, tokens)
}

const sampledLogprobs = ({ inferenceLogprobs: rows, tokens }: ScoredGroup): ReadonlyArray<NamedSection> => {
  if (rows === undefined) return []
  const whole = new Float32Array(rows.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const row of rows) {
    Labels.writeLogprobs(whole, at, row)
    at += row.length
  }
  return withLengths("inference_logprobs", ["inference_logprobs", "f32", whole], rows, tokens)
}

export const encode = (group: ScoredGroup): Uint8Array => pack(group, labels(group), sampledLogprobs(group))

/** Encodes a group that comes from another wire. */
export const encodeLabelled = (group: LabelledGroup): Uint8Array =>
  pack(
    group,
    matrix("masks", "i32", group.masks, group.tokens),
    matrix("inference_logprobs", "f32", group.inferenceLogprobs, group.tokens)
  )

const callsOf = ({ timings = [] }: Pick<ScoredGroup, "timings">) =>
  timings.some((one) => one?.calls !== undefined) ? timings.map((one) => one?.calls ?? null) : undefined

const pack = (
  group: Omit<ScoredGroup, "masks" | "inferenceLogprobs">,
  masks: ReadonlyArray<NamedSection>,
  inferenceLogprobs: ReadonlyArray<NamedSection>
): Uint8Array => {
  const { tokens } = group
  const sections: ReadonlyArray<NamedSection> = [
    ["scores", "f64", group.scores],
    ...matrix("tokens", "i32", tokens),
    ...masks,
    ...matrix("advantages", "f32", group.advantages, tokens),
    ...matrix("ref_logprobs", "f32", group.refLogprobs, tokens),
    ...inferenceLogprobs,
    ...cube("distill_token_ids", "i32", group.distillTokenIds),
    ...cube("distill_logprobs", "f32", group.distillLogprobs),
    ...matrix("timings", "i32", group.timings?.map(Timings.toRow)),
    ...matrix("routed_experts", "i32", group.routedExperts),
    ...matrix("version_runs", "i32", group.versionRuns),
    ...cube("kept_tokens", "i32", group.keptTokens)
  ]
  const shape = encoder.encode(
    JSON.stringify({
      sequences: tokens.length,
      tokens: tokens.reduce((sum, { length }) => sum + length, 0),
      env_id: group.envId ?? null,
      policy_versions: group.policyVersions ?? null,
      traceparent: group.traceparent,
      item_id: group.itemId,
      solved: group.solved,
      sections: sections.map(([name, type, numbers]) => [name, type, numbers.length])
    })
  )
  const rest = encoder.encode(
    ExactJson.write({
      messages: group.messages,
      generation_params: group.generationParams,
      overrides: RewardComponents.toOverrides(group.overrides, group.rewards),
      group_overrides: group.groupOverrides,
      images: group.images,
      calls: callsOf(group)
    })
  )
  const shapeEnd = Sections.align(preludeBytes + shape.length)
  const start = Sections.align(shapeEnd + rest.length)
  const total = sections.reduce((offset, [, , { byteLength }]) => offset + Sections.align(byteLength), start)
  const bytes = new Uint8Array(total)
  writePrelude(bytes, groupMagic, shape.length, rest.length)
  bytes.set(shape, preludeBytes)
  bytes.set(rest, shapeEnd)
  let offset = start
  for (const [, , numbers] of sections) {
    Sections.write(numbers, bytes, offset)
    offset += Sections.align(numbers.byteLength)
  }
  return bytes
}

export const decode = (bytes: Uint8Array): Result.Result<ScoredGroup, PackedGroupError> =>
  Result.map(decodeLabelled(bytes), toScoredGroup)

/** Decodes to the wire's form. */
export const decodeLabelled = (bytes: Uint8Array): Result.Result<LabelledGroup, PackedGroupError> =>
  Result.gen(function* () {
    const opened = yield* open(bytes)
    const { shape } = opened
    if (JsonSpans.isTooDeep(opened.rest)) return yield* failed("rest", "is nested too deeply")
    const rest = yield* Result.mapError(
      Result.map(decodeRest(decoder.decode(opened.rest)), (rest) => ExactMessages.keep(rest, () => opened.rest)),
      (error) => new PackedGroupError({ field: "rest", message: error.message })
    )
    const lengths = (yield* ints(bytes, opened, "tokens.lengths")) ?? new Int32Array()
    const tokens = yield* readMatrix(bytes, opened, "tokens", ints(bytes, opened, "tokens"), lengths)
    const masks = yield* readMatrix(bytes, opened, "masks", ints(bytes, opened, "masks"), lengths)
    // The type was requested.
    const scores = (yield* numbersOf(bytes, opened, "scores", "f64")) as Float64Array | undefined
    if (tokens === undefined) return yield* failed("tokens", "this section is missing")
    if (masks === undefined) return yield* failed("masks", "this section is missing")
    if (scores === undefined) return yield* failed("scores", "this section is missing")
    const count = lengths.reduce((sum, length) => sum + length, 0)
    if (count !== shape.tokens)
      return yield* failed("shape.tokens", `is ${shape.tokens}, but the sections have ${count}`)
    const floatMatrix = (name: string) => readMatrix(bytes, opened, name, floats(bytes, opened, name), lengths)
    const advantages = yield* floatMatrix("advantages")
    const refLogprobs = yield* floatMatrix("ref_logprobs")
    const inferenceLogprobs = yield* floatMatrix("inference_logprobs")
    const distillTokenIds = yield* readCube(bytes, opened, "distill_token_ids", ints)
    const distillLogprobs = yield* readCube(bytes, opened, "distill_logprobs", floats)
    const turns = yield* readTimings(bytes, opened)
    const timings = turns && "calls" in rest ? Timings.withCalls(turns, rest.calls) : turns
    if (turns !== undefined && timings === undefined) {
      return yield* failed("rest.calls", "should be null or a list of calls for each sequence with timings")
    }
    const words = ints(bytes, opened, "routed_experts")
    const routedExperts = yield* readMatrix(bytes, opened, "routed_experts", words, lengths)
    const versionRuns = yield* readVersionRuns(bytes, opened)
    const keptTokens = yield* readCube(bytes, opened, "kept_tokens", ints)
    return yield* checkLabelled({
      tokens,
      masks,
      scores,
      ...(advantages && { advantages }),
      ...(refLogprobs && { refLogprobs }),
      ...(inferenceLogprobs && { inferenceLogprobs }),
      // Free-form as in the original; role and content are not checked.
      ...(rest.messages && { messages: rest.messages as unknown as ReadonlyArray<ReadonlyArray<Message>> }),
      ...(rest.generation_params && { generationParams: rest.generation_params satisfies Overrides }),
      ...(rest.overrides && { overrides: rest.overrides }),
      ...(rest.group_overrides && { groupOverrides: rest.group_overrides }),
      ...("images" in rest && { images: rest.images }),
      ...(shape.env_id !== null && { envId: shape.env_id }),
      ...(distillTokenIds && { distillTokenIds }),
      ...(distillLogprobs && { distillLogprobs }),
      ...(routedExperts && { routedExperts }),
      ...(keptTokens && { keptTokens }),
      ...(shape.policy_versions && { policyVersions: shape.policy_versions }),
      ...(versionRuns && { versionRuns }),
      ...(shape.traceparent && { traceparent: shape.traceparent }),
      ...(shape.item_id !== undefined && { itemId: shape.item_id }),
      ...(shape.solved && { solved: shape.solved }),
      ...(timings && { timings })
    })
  })

export const masks = (bytes: Uint8Array): Result.Result<ReadonlyArray<Int32Array>, PackedGroupError> =>
  Result.gen(function* () {
    const opened = yield* open(bytes)
    const lengths = (yield* ints(bytes, opened, "tokens.lengths")) ?? new Int32Array()
    return (yield* readMatrix(bytes, opened, "masks", ints(bytes, opened, "masks"), lengths)) ?? []
  })

/** The chats as sent, null if none; reads nothing else, and checks nothing. */
export const messages = (bytes: Uint8Array): Result.Result<unknown, PackedGroupError> =>
  Result.flatMap(open(bytes), ({ rest }) =>
    Result.try({
      try: (): unknown => {
        const parsed: unknown = JSON.parse(decoder.decode(rest))
        return typeof parsed === "object" && parsed !== null && "messages" in parsed ? parsed.messages : null
      },
      catch: (cause) => new PackedGroupError({ field: "rest", message: String(cause) })
    })
  )
