/**
 * Reads scored groups of JSON Lines files, as written by `process` and an environment's `data_path_to_save_groups`,
 * ours (with `item_id` and `timings`) or the original's.
 *
 * A line is the original's object (`WireGroup`), with any private keys its environment added. Lines with only `scores`
 * and `messages` are groups without tokens; a chat may be one string, the assistant's text. Samples of an evaluation
 * (`samples.jsonl`: an answer with its chat and its `score` per line) are groups of one, marked as such. Any other line
 * becomes a fault, and reading continues.
 */
import { Effect, Predicate, Result, Stream } from "effect"
import * as PythonJson from "./wire/PythonJson.ts"
import * as ContentId from "../base/ContentId.ts"
import * as RepeatedKeys from "../base/json/RepeatedKeys.ts"
import * as JsonLines from "../data/JsonLines.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import * as Timings from "../trajectory/Timings.ts"
import * as VersionRuns from "../trajectory/VersionRuns.ts"
import * as TrainedLogprobs from "./TrainedLogprobs.ts"
import * as ExactMessages from "./wire/ExactMessages.ts"
import * as JsonSpans from "./wire/JsonSpans.ts"
import * as WireGroup from "./WireGroup.ts"

/** Description of a valid line, for messages. */
export const expected = "a scored group (an object with scores, and with tokens and masks, or messages)"

/** A group, and its position in its file. */
export interface Saved {
  readonly _tag: "Saved"
  /** From 1. */
  readonly line: number
  /** Its first byte, and the byte after its line break. */
  readonly start: number
  readonly end: number
  readonly group: ScoredGroup
  /** Unknown keys: private ones of its environment, or misspelled ones. */
  readonly unknown: ReadonlyArray<string>
  /** True for a sample of an evaluation, which is for display and not for training. */
  readonly isEvaluation: boolean
  /** The trainer's logprobs, if the line has them (copied from the viewer). */
  readonly trained?: TrainedLogprobs.TrainedLogprobs
  /** The complete sample, including what a group cannot represent. */
  readonly sample?: Fields
}

export interface Fault {
  readonly _tag: "Fault"
  readonly line: number
  readonly start: number
  readonly end: number
  readonly problem: string
}

export type Entry = Saved | Fault

type Fields = { readonly [key: string]: unknown }

const keys: ReadonlySet<string> = new Set<string>([
  ...WireGroup.keys,
  "policy_versions",
  "version_runs",
  "item_id",
  "timings",
  "trainer_logprobs",
  "trainer_version"
])

const kindOf = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "an array"
      : typeof value === "object"
        ? "an object"
        : `a ${typeof value}`

/** Adds empty tokens to a group without any, and turns a chat that is one string into a message. */
const completed = (fields: Fields): Fields => {
  const { messages } = fields
  if (!Array.isArray(messages)) return fields
  const none = messages.map((): ReadonlyArray<number> => [])
  return {
    ...fields,
    ...(fields["tokens"] === undefined && fields["masks"] === undefined && { tokens: none, masks: none }),
    messages: messages.map((chat: unknown) =>
      typeof chat === "string" ? [{ role: "assistant", content: chat }] : chat
    )
  }
}

/** Keys of a sample kept in addition to its chat and its score. */
const knownKeys = ["item", "label", "correct", "finish_reason", "rewards"]

/** An evaluation sample as a group of one; undefined if it is not a sample. */
const sampled = (fields: Fields): Fields | undefined => {
  const { messages, score } = fields
  const isSample =
    typeof score === "number" &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every((one) => Predicate.isReadonlyObject(one))
  // In a sample, `tokens` is a number.
  if (!isSample || "scores" in fields || Array.isArray(fields["tokens"])) return undefined
  const switches = knownKeys.flatMap((key) =>
    fields[key] === undefined || fields[key] === null ? [] : [[key, fields[key]]]
  )
  return { scores: [score], messages: [messages], overrides: [Object.fromEntries(switches)] }
}

const policyVersionsOf = ({ policy_versions: versions }: Fields, size: number): Pick<ScoredGroup, "policyVersions"> =>
  Array.isArray(versions) && versions.length === size && versions.every((one) => one === null || Number.isInteger(one))
    ? { policyVersions: versions }
    : {}

const timingsOf = ({ timings }: Fields, size: number): Pick<ScoredGroup, "timings"> =>
  Array.isArray(timings) && timings.length === size ? { timings: timings.map(Timings.ofJson) } : {}

/** The stable id of its item: `item_id` of a group, `id` of a sample. */
const itemIdOf = (line: Fields, isSample: boolean): Pick<ScoredGroup, "itemId"> => {
  const id = line[isSample ? "id" : "item_id"]
  return typeof id === "string" && ContentId.isPlain(id) ? { itemId: id } : {}
}

const listNames = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "nothing" : names.slice(0, 12).join(", ")

/** Reports unknown keys, once per file. */
export const unknownFields = () => {
  const known = new Set<string>()
  return (file: string, { line, unknown }: Pick<Saved, "line" | "unknown">): string | undefined => {
    const news = unknown.filter((name) => !known.has(`${file}\0${name}`))
    for (const name of news) known.add(`${file}\0${name}`)
    return news.length === 0
      ? undefined
      : `${file}, line ${line}: unknown fields of a group, ignored from here on: ${news.join(", ")} (known: ${[...keys].join(", ")})`
  }
}

/** The group of a line, or its error. */
export const parse = (
  text: string
): Result.Result<Pick<Saved, "group" | "isEvaluation" | "sample" | "trained" | "unknown">, string> => {
  const parsed = PythonJson.parse(text)
  if (Result.isFailure(parsed)) {
    return Result.fail(`is not JSON (${parsed.failure.message} at character ${parsed.failure.position + 1})`)
  }
  const repeated = RepeatedKeys.findIn(text, parsed.success.value)
  if (repeated !== undefined) return Result.fail(`repeats the key ${JSON.stringify(repeated)} in an object`)
  const { notFinite } = parsed.success
  const line = ExactMessages.keep(parsed.success.value, () => new TextEncoder().encode(text))
  const sample = Predicate.isReadonlyObject(line) ? sampled(line) : undefined
  const value = sample ?? line
  if (!Predicate.isReadonlyObject(value)) return Result.fail(`is ${kindOf(value)}; expected ${expected}`)
  const names = Object.keys(value)
  if (!("scores" in value) || !("tokens" in value || "messages" in value)) {
    return Result.fail(`is not a group: it has ${listNames(names)}; expected ${expected}`)
  }
  const bad = notFinite ? [...keys].flatMap((key) => PythonJson.notFiniteIn(value[key], [key]))[0] : undefined
  if (bad !== undefined) return Result.fail(`${bad.loc.join(".")}: expected a finite number, got ${bad.word}`)
  const group = Result.map(WireGroup.check(completed(value), { loc: [] }), WireGroup.toScoredGroup)
  if (Result.isFailure(group)) return Result.fail(group.failure.message)
  const trained = TrainedLogprobs.ofJson(value, group.success.tokens.length)
  const versioned = { ...group.success, ...policyVersionsOf(value, group.success.tokens.length) }
  // Excluded if they do not fit the group: its versions are known without them.
  const versionRuns = VersionRuns.ofRows(value["version_runs"], versioned)
  return Result.succeed({
    ...(trained && { trained }),
    group: {
      ...versioned,
      ...(versionRuns && { versionRuns }),
      ...timingsOf(value, group.success.tokens.length),
      ...(Predicate.isReadonlyObject(line) && itemIdOf(line, sample !== undefined))
    },
    unknown: names.filter((name) => !keys.has(name)),
    isEvaluation: sample !== undefined,
    ...(sample !== undefined && Predicate.isReadonlyObject(line) && { sample: line })
  })
}

/**
 * The line of a group, without its line break: the original's object, the item's id, the timings of its turns, and
 * policy versions if they changed during a sequence.
 */
export const encode = (group: ScoredGroup): string => {
  const { itemId, policyVersions, timings, versionRuns } = group
  const extra = JSON.stringify({
    ...(itemId !== undefined && { item_id: itemId }),
    ...(timings && { timings: timings.map(Timings.toJson) }),
    ...(versionRuns && { policy_versions: policyVersions, version_runs: versionRuns.map(VersionRuns.toJson) })
  })
  const line = WireGroup.encode(group)
  return extra === "{}" ? line : `${line.slice(0, -1)},${extra.slice(1)}`
}

/**
 * Like `encode`, or the reason why readers would reject the line: messages that an environment made by hand may be
 * invalid. Parses the line, so that nothing is written that is rejected later.
 */
export const encodeReadable = (group: ScoredGroup): Result.Result<string, string> => {
  const line = encode(group)
  return Result.map(parse(line), () => line)
}

/** Changes the values of some keys in a line, appending new ones; all other bytes are preserved. */
export const rewritten = (line: Uint8Array, values: { readonly [key: string]: unknown }): Uint8Array => {
  const spans = JsonSpans.members(line, () => undefined)
  const end = line.lastIndexOf(closeBrace)
  // Both were accepted when the line was read.
  if (spans === undefined || end < 0) throw new Error("the line is not a parsed JSON object")
  const known = Object.keys(values)
    .flatMap((key) => {
      const span = spans.get(key)
      return span === undefined ? [] : [{ ...span, text: JSON.stringify(values[key]) }]
    })
    .toSorted((a, b) => a.start - b.start)
  const added = Object.keys(values)
    .filter((key) => !spans.has(key))
    .map((key, index) => {
      const isFirst = spans.size === 0 && index === 0
      return `${isFirst ? "" : ", "}${JSON.stringify(key)}: ${JSON.stringify(values[key])}`
    })
  const parts: Array<Uint8Array> = []
  let at = 0
  for (const { end, start, text } of known) {
    parts.push(line.subarray(at, start), Buffer.from(text))
    at = end
  }
  // Whitespace before the closing brace stays after what is added.
  let last = end
  while (last > at && line[last - 1]! <= 0x20) last--
  parts.push(line.subarray(at, last), Buffer.from(added.join("")), line.subarray(last))
  return Buffer.concat(parts)
}

const closeBrace = 0x7d

export const ofLine = (line: JsonLines.Line): Entry => {
  const place = { line: line.number, start: line.start, end: line.end }
  if (line._tag === "Faulty") return { _tag: "Fault", problem: line.problem, ...place }
  const parsed = parse(line.text)
  if (Result.isSuccess(parsed)) return { _tag: "Saved", ...parsed.success, ...place }
  const problem = line.isTerminated ? parsed.failure : `is truncated at the end of the file. It ${parsed.failure}`
  return { _tag: "Fault", problem, ...place }
}

/** The groups and faults of a file; fails if it is not a file of lines. */
export const read = (path: string, options: JsonLines.Options = {}) =>
  Stream.unwrap(
    Effect.as(
      JsonLines.inspect(path, expected),
      Stream.map(JsonLines.read(path, options), (line) => ofLine(line))
    )
  )
