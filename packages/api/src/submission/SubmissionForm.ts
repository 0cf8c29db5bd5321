/**
 * Decodes the formats of a submission into the store's form.
 *
 * Packed: a list of groups with their keys (`PackedGroup.encodeList`), or one group with its key in the header
 * `Idempotency-Key`. JSON: `{ "key": <uuid>, "group": <the original's object> }`, or an array of these, each optionally
 * with `policy_versions` (step or null per sequence), `version_runs` (versions per token) and `item_id` (the item's
 * stable id); stored packed, with 32-bit floats. All groups are accepted or none; an error states its location.
 */
import * as ContentId from "@atropos/core/base/ContentId"
import { Predicate, Result, Schema } from "effect"
import * as ScoredGroup from "@atropos/core/trajectory/ScoredGroup"
import * as VersionRuns from "@atropos/core/trajectory/VersionRuns"
import { packedContentType } from "@atropos/core/service/api/Fields"
import * as ApiError from "@atropos/core/service/api/TrajectoryApiError"
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import * as WireGroup from "@atropos/core/service/WireGroup"
import * as Payloads from "../store/Payloads.ts"
import type { Limits } from "../http/RequestBody.ts"
import type { Submission } from "../store/TrajectoryStore.ts"

export type Failure = ApiError.BadRequest | ApiError.Invalid | ApiError.TooLarge

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const invalid = (field: string, message: string) =>
  Result.fail(new ApiError.Invalid({ field, message: `${field}: ${message}` }))

const checkKey = (field: string, key: unknown): Result.Result<string, ApiError.Invalid> =>
  typeof key === "string" && uuid.test(key) ? Result.succeed(key) : invalid(field, "should be a UUID")

const checkCount = (count: number, limits: Limits): Result.Result<void, ApiError.Invalid> =>
  count <= limits.maxGroups
    ? Result.void
    : invalid("groups", `at most ${limits.maxGroups} groups per request, not ${count}`)

const toSubmission = (
  place: string,
  key: string,
  group: PackedGroup.LabelledGroup,
  bytes: Uint8Array,
  limits: Limits
): Result.Result<Submission, ApiError.TooLarge> =>
  bytes.length > limits.maxGroupBytes
    ? Result.fail(
        new ApiError.TooLarge({
          message: `${place} is larger than the ${limits.maxGroupBytes} bytes allowed for one group: ${bytes.length}`
        })
      )
    : Result.succeed({
        key,
        sequences: ScoredGroup.size(group),
        tokens: ScoredGroup.tokenCount(group),
        scores: Array.from(group.scores),
        envId: group.envId ?? null,
        policyStep: Payloads.policyStep(group.policyVersions),
        ...(group.itemId !== undefined && { itemId: group.itemId }),
        hasMessages: (group.messages?.length ?? 0) > 0,
        payload: { format: "packed", bytes }
      })

const readPackedGroup = (
  place: string,
  key: string,
  bytes: Uint8Array,
  limits: Limits
): Result.Result<Submission, ApiError.Invalid | ApiError.TooLarge> =>
  Result.gen(function* () {
    const group = yield* Result.mapError(
      PackedGroup.decodeLabelled(bytes),
      ({ field, message }) =>
        new ApiError.Invalid({ field: `${place}.${field}`, message: `${place}.${field}: ${message}` })
    )
    if (group.tokens.length > limits.maxSequences) {
      return yield* invalid(`${place}.tokens`, `at most ${limits.maxSequences} sequences, not ${group.tokens.length}`)
    }
    const long = group.tokens.findIndex((row) => row.length > limits.maxTokensPerSequence)
    if (long >= 0) {
      return yield* invalid(
        `${place}.tokens.${long}`,
        `at most ${limits.maxTokensPerSequence} tokens, not ${group.tokens[long]!.length}`
      )
    }
    return yield* toSubmission(place, key, group, bytes, limits)
  })

const listStart = [0x41, 0x54, 0x50, 0x4c] // "ATPL"

/** A packed body; `key` is the header `Idempotency-Key`, required for a single group. */
const readPacked = (
  body: Uint8Array,
  key: string | undefined,
  limits: Limits
): Result.Result<ReadonlyArray<Submission>, Failure> =>
  Result.gen(function* () {
    if (!listStart.every((byte, index) => body[index] === byte)) {
      return [yield* readPackedGroup("group", yield* checkKey("Idempotency-Key", key), body, limits)]
    }
    const items = yield* Result.mapError(
      PackedGroup.decodeList(body),
      ({ field, message }) => new ApiError.BadRequest({ field, message: `${field}: ${message}` })
    )
    yield* checkCount(items.length, limits)
    const submissions: Array<Submission> = []
    for (const [index, { bytes, key }] of items.entries()) {
      const place = `groups.${index}`
      submissions.push(yield* readPackedGroup(place, yield* checkKey(`${place}.key`, key), bytes, limits))
    }
    return submissions
  })

const PolicyVersions = Schema.Array(Schema.NullOr(Schema.Int))
const isPolicyVersions = Schema.is(PolicyVersions)
const isItem = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

const readVersionRuns = (
  field: string,
  value: unknown,
  { sequences, values }: WireGroup.Checked,
  versions: ReadonlyArray<number | null> = []
): Result.Result<ReadonlyArray<Int32Array> | undefined, ApiError.Invalid> => {
  if (value === undefined) return Result.succeed(undefined)
  const rows = (Array.isArray(value) ? value : []).flatMap((row) => VersionRuns.ofJson(row) ?? [])
  if (!Array.isArray(value) || value.length !== sequences || rows.length !== sequences) {
    return invalid(field, `should have a list of [start, version or null] per sequence (${sequences})`)
  }
  for (const [index, runs] of rows.entries()) {
    const flaw = VersionRuns.flaw(runs, values.tokens[index]!.length, versions[index])
    if (flaw !== undefined) return invalid(`${field}.${index}`, flaw)
  }
  return Result.succeed(rows)
}

const readJsonItem = (
  place: string,
  item: unknown,
  limits: Limits
): Result.Result<Submission, ApiError.Invalid | ApiError.TooLarge> =>
  Result.gen(function* () {
    const at = (name: string) => (place === "" ? name : `${place}.${name}`)
    if (!isItem(item) || Array.isArray(item)) {
      return yield* invalid(place === "" ? "body" : place, "should be an object with key and group")
    }
    const key = yield* checkKey(at("key"), item["key"])
    const checked = yield* Result.mapError(
      WireGroup.check(item["group"], { loc: place === "" ? ["group"] : [place, "group"], limits }),
      (error) =>
        new ApiError.Invalid({ field: error.mistakes[0]?.loc.join(".") ?? at("group"), message: error.message })
    )
    const versions = item["policy_versions"]
    if (versions !== undefined && !(isPolicyVersions(versions) && versions.length === checked.sequences)) {
      return yield* invalid(at("policy_versions"), `should have one step, or null, per sequence (${checked.sequences})`)
    }
    const versionRuns = yield* readVersionRuns(at("version_runs"), item["version_runs"], checked, versions)
    const itemId = item["item_id"]
    if (itemId !== undefined && !(Predicate.isString(itemId) && ContentId.isPlain(itemId))) {
      return yield* invalid(at("item_id"), `should be ${ContentId.plain}`)
    }
    const group: PackedGroup.LabelledGroup = {
      ...WireGroup.toLabelled(checked),
      ...(isPolicyVersions(versions) && { policyVersions: versions }),
      ...(versionRuns && { versionRuns }),
      ...(itemId !== undefined && { itemId })
    }
    return yield* toSubmission(at("group"), key, group, PackedGroup.encodeLabelled(group), limits)
  })

/** Larger submissions should be packed. */
const maxJsonBytes = 8 * 1024 * 1024

const readJson = (body: Uint8Array, limits: Limits): Result.Result<ReadonlyArray<Submission>, Failure> =>
  Result.gen(function* () {
    if (body.length > maxJsonBytes) {
      return yield* Result.fail(
        new ApiError.TooLarge({
          message: `a JSON submission may have at most ${maxJsonBytes} bytes, not ${body.length}: send fewer groups, or send them packed`
        })
      )
    }
    const { notFinite, value } = yield* Result.mapError(
      WireGroup.parse(body),
      (error) => new ApiError.BadRequest({ message: `the body is not JSON: ${error.message}` })
    )
    if (notFinite) return yield* invalid("body", "NaN and Infinity are not JSON numbers: every number must be finite")
    if (!Array.isArray(value)) return [yield* readJsonItem("", value, limits)]
    yield* checkCount(value.length, limits)
    const submissions: Array<Submission> = []
    for (const [index, item] of value.entries()) submissions.push(yield* readJsonItem(String(index), item, limits))
    return submissions
  })

/** A body with the headers that describe it; the content type is one of the two. */
export interface Sent {
  readonly contentType: string | undefined
  readonly idempotencyKey: string | undefined
  readonly body: Uint8Array
}

export const read = (
  { body, contentType, idempotencyKey }: Sent,
  limits: Limits
): Result.Result<ReadonlyArray<Submission>, Failure> =>
  contentType?.toLowerCase().startsWith(packedContentType)
    ? readPacked(body, idempotencyKey, limits)
    : readJson(body, limits)
