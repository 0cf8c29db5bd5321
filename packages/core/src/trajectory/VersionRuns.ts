/**
 * Records which weights sampled each token of a sequence, if they changed while it was sampled: within an answer, or
 * between the turns of an episode.
 *
 * Runs of tokens as (2R) Int32: start, version, start, version, … Starts ascend strictly; a run ends where the next one
 * starts, the last one at the end of the sequence. Tokens before the first start, and those that are not trained, have
 * no version. Versions are policy versions, or -1 if unknown. Empty: all sampled tokens are of the sequence's version
 * (`policyVersions[i]`), which otherwise is the oldest of the runs, so that readers without runs see that.
 *
 *     JSON   [[start, version], …], null for an unknown version
 */
import type { ScoredGroup } from "./ScoredGroup.ts"
import type { Trajectory } from "./Trajectory.ts"

/** Marks a run of unknown version. */
const unknown = -1

const known = (version: number): number | undefined => (version === unknown ? undefined : version)

/** Tokens from `start` on. */
export interface Run {
  readonly start: number
  readonly version: number | undefined
}

/** Runs in ascending order, joined if equal; undefined if all are of one version. */
export const make = (runs: ReadonlyArray<Run>): Int32Array | undefined => {
  const joined: Array<number> = []
  for (const { start, version = unknown } of runs) {
    if (joined.length === 0 || joined.at(-1) !== version) joined.push(start, version)
  }
  return joined.length > 2 ? Int32Array.from(joined) : undefined
}

/** Runs of an answer's tokens, the first of which is at `start`, from the version of each. */
export const ofTokens = (versions: ArrayLike<number | undefined>, start: number): Int32Array | undefined =>
  make(Array.from(versions, (version, at) => ({ start: start + at, version })))

/** The version of each run; undefined if unknown. */
export const versions = (runs: ArrayLike<number>): ReadonlyArray<number | undefined> =>
  Array.from({ length: runs.length / 2 }, (_, at) => known(runs[2 * at + 1]!))

/** The oldest known version; undefined if none is known. */
export const oldest = (runs: Int32Array): number | undefined => {
  const all = versions(runs).filter((version) => version !== undefined)
  return all.length === 0 ? undefined : Math.min(...all)
}

/** The version of a token; undefined if unknown. */
export const versionAt = (runs: ArrayLike<number>, token: number): number | undefined => {
  let found = unknown
  for (let at = 0; at < runs.length && runs[at]! <= token; at += 2) found = runs[at + 1]!
  return known(found)
}

/** A mask without the tokens whose version is rejected (undefined: unknown version). */
export const restrict = (
  mask: Trajectory["mask"],
  runs: Int32Array,
  accepts: (version: number | undefined) => boolean
): Uint8Array => {
  const kept = mask.slice()
  for (let at = 0; at < runs.length; at += 2) {
    if (!accepts(known(runs[at + 1]!))) kept.fill(0, runs[at], runs[at + 2] ?? kept.length)
  }
  return kept
}

/** The rule that the runs of a sequence break, if any. `version` is the sequence's own. */
export const flaw = (runs: Int32Array, tokens: number, version: number | null | undefined): string | undefined => {
  if (runs.length === 0) return undefined
  if (runs.length % 2 === 1) return "should be pairs of a start and a version"
  for (let at = 0; at < runs.length; at += 2) {
    if (runs[at]! < 0 || runs[at]! >= tokens || (at > 0 && runs[at]! <= runs[at - 2]!)) {
      return `starts should ascend within the ${tokens} tokens: ${runs[at]}`
    }
    if (runs[at + 1]! < unknown) return `a version cannot be ${runs[at + 1]}`
  }
  const least = oldest(runs) ?? null
  return least === (version ?? null)
    ? undefined
    : `their oldest version, ${least ?? "unknown"}, should be the sequence's in policy_versions, ${version ?? "unknown"}`
}

export const toJson = (runs: Int32Array): ReadonlyArray<readonly [number, number | null]> =>
  Array.from({ length: runs.length / 2 }, (_, at) => [runs[2 * at]!, known(runs[2 * at + 1]!) ?? null])

const isInt32 = (value: unknown): value is number => Number.isInteger(value) && Number(value) === (Number(value) | 0)

const isPair = (value: unknown): value is readonly [number, number | null] =>
  Array.isArray(value) && value.length === 2 && isInt32(value[0]) && (value[1] === null || isInt32(value[1]))

/** Decodes untrusted JSON; undefined if it is not a list of pairs. */
export const ofJson = (value: unknown): Int32Array | undefined =>
  Array.isArray(value) && value.every(isPair)
    ? Int32Array.from(value.flatMap(([start, version]) => [start, version ?? unknown]))
    : undefined

/** Decodes the runs of a group from untrusted JSON; undefined if they do not fit its sequences. */
export const ofRows = (
  value: unknown,
  { policyVersions, tokens }: Pick<ScoredGroup, "policyVersions" | "tokens">
): ReadonlyArray<Int32Array> | undefined => {
  const rows = Array.isArray(value) ? value.map(ofJson).filter((row) => row !== undefined) : []
  const fits = (row: Int32Array, i: number) => flaw(row, tokens[i]?.length ?? 0, policyVersions?.[i]) === undefined
  return rows.length > 0 && rows.length === tokens.length && rows.every(fits) ? rows : undefined
}
