/** The rules of `WireGroup`, for groups that are not from JSON. */
import { Result } from "effect"
import * as RewardComponents from "../../reward/RewardComponents.ts"
import type { ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import * as VersionRuns from "../../trajectory/VersionRuns.ts"
import type { LabelledGroup } from "./LabelledGroup.ts"
import { PackedGroupError } from "./PackedFrame.ts"

/** Detects negative numbers, without a branch per number. */
const hasNegative = (row: Int32Array): boolean => {
  let signs = 0
  for (let t = 0; t < row.length; t++) signs |= row[t]!
  return signs < 0
}

/** True if all numbers are finite: finite times zero is zero, and one NaN makes the sum NaN. */
const isFinite = (row: Float32Array): boolean => {
  let even = 0
  let odd = 0
  const pairs = row.length & ~1
  for (let t = 0; t < pairs; t += 2) {
    even += row[t]! * 0
    odd += row[t + 1]! * 0
  }
  if (pairs < row.length) even += row[pairs]! * 0
  return even + odd === 0
}

const checkTokens = (name: string, rows: ReadonlyArray<Int32Array>): PackedGroupError | undefined => {
  const i = rows.findIndex(hasNegative)
  if (i < 0) return undefined
  const t = rows[i]!.findIndex((id) => id < 0)
  return new PackedGroupError({ field: `${name}.${i}.${t}`, message: `a token id cannot be ${rows[i]![t]}` })
}

const checkFinite = (name: string, rows: ReadonlyArray<Float32Array>): PackedGroupError | undefined => {
  const i = rows.findIndex((row) => !isFinite(row))
  if (i < 0) return undefined
  const row = rows[i]!
  const t = row.findIndex((one: number) => !Number.isFinite(one))
  return new PackedGroupError({ field: `${name}.${i}.${t}`, message: `should be a finite number, not ${row[t]}` })
}

const checkScores = (scores: Float64Array): PackedGroupError | undefined => {
  const i = scores.findIndex((one) => !RewardComponents.isUsable(one))
  return i < 0
    ? undefined
    : new PackedGroupError({
        field: `scores.${i}`,
        message: `should be a finite number, but ${RewardComponents.unusable(scores[i]!)}`
      })
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

const checkWords = (
  name: string,
  rows: ReadonlyArray<Int32Array>,
  tokens: ReadonlyArray<Int32Array>
): PackedGroupError | undefined => {
  const i = rows.findIndex((words, index) => words.length % Math.max(1, (tokens[index]?.length ?? 0) - 1) !== 0)
  return i < 0
    ? undefined
    : new PackedGroupError({
        field: `${name}.${i}`,
        message: `should have equally many words for each token except the last, not ${rows[i]!.length} for ${tokens[i]?.length ?? 0} tokens`
      })
}

const checkKept = (
  rows: ReadonlyArray<ReadonlyArray<Int32Array>>,
  tokens: ReadonlyArray<Int32Array>
): PackedGroupError | undefined => {
  for (const [i, row] of rows.entries()) {
    const t = row.findIndex((ids, at) => ids.length > 0 && (!ids.includes(tokens[i]![at]!) || hasNegative(ids)))
    if (row.length === tokens[i]!.length && t < 0) continue
    const field = `keptTokens.${i}`
    return row.length === tokens[i]!.length
      ? new PackedGroupError({ field: `${field}.${t}`, message: "should be token ids, among them the sequence's" })
      : new PackedGroupError({
          field,
          message: `should have one list per token, ${tokens[i]!.length}, not ${row.length}`
        })
  }
  return undefined
}

const checkVersionRuns = (
  rows: ReadonlyArray<Int32Array>,
  { policyVersions, tokens }: Pick<ScoredGroup, "policyVersions" | "tokens">
): PackedGroupError | undefined => {
  for (const [i, runs] of rows.entries()) {
    const message = VersionRuns.flaw(runs, tokens[i]?.length ?? 0, policyVersions?.[i])
    if (message !== undefined) return new PackedGroupError({ field: `versionRuns.${i}`, message })
  }
  return undefined
}

const isInfinite = (one: number): boolean => Math.abs(one) === Infinity

/** Unlike `checkFinite`, accepts NaN: nothing was sampled there. */
const checkSampled = (name: string, rows: ReadonlyArray<Float32Array>): PackedGroupError | undefined => {
  const i = rows.findIndex((row) => row.some(isInfinite))
  return i < 0
    ? undefined
    : new PackedGroupError({
        field: `${name}.${i}.${rows[i]!.findIndex(isInfinite)}`,
        message: `should be a finite number, not ${rows[i]!.find(isInfinite)}`
      })
}

const checkRewards = ({ rewards, tokens }: ScoredGroup): PackedGroupError | undefined => {
  if (rewards === undefined) return undefined
  const count = checkCount("rewards", rewards.length, tokens.length)
  if (count !== undefined) return count
  const i = rewards.findIndex((one) => !RewardComponents.isRewards(one))
  return i < 0
    ? undefined
    : new PackedGroupError({
        field: `rewards.${i}`,
        message: RewardComponents.faultOf(rewards[i]) ?? "components should be finite numbers within float32 (3.4e38)"
      })
}

/** The group, or the first rule it violates. */
export const check = (group: ScoredGroup): Result.Result<ScoredGroup, PackedGroupError> =>
  Result.flatMap(checked(group, checkSampled), () => {
    const error = checkRewards(group)
    return error === undefined ? Result.succeed(group) : Result.fail(error)
  })

/** A group in the wire's form, or the first rule it violates. */
export const checkLabelled = (group: LabelledGroup): Result.Result<LabelledGroup, PackedGroupError> =>
  checked(group, checkFinite)

const checked = <Group extends ScoredGroup | LabelledGroup>(
  group: Group,
  checkLogprobs: (name: string, rows: ReadonlyArray<Float32Array>) => PackedGroupError | undefined
): Result.Result<Group, PackedGroupError> => {
  const { advantages, distillLogprobs, distillTokenIds, inferenceLogprobs, masks, refLogprobs, scores, tokens } = group
  const { keptTokens, routedExperts, versionRuns } = group
  const sequences = tokens.length
  const counted = {
    masks,
    scores,
    advantages,
    refLogprobs,
    inferenceLogprobs,
    distillTokenIds,
    distillLogprobs,
    routedExperts,
    versionRuns,
    keptTokens
  }
  const error =
    Object.entries(counted)
      .map(([name, rows]) => rows && checkCount(name, rows.length, sequences))
      .find((found) => found !== undefined) ??
    (group.overrides && checkCount("overrides", group.overrides.length, sequences)) ??
    (group.policyVersions && checkCount("policyVersions", group.policyVersions.length, sequences)) ??
    (group.solved && checkCount("solved", group.solved.length, sequences)) ??
    (group.timings && checkCount("timings", group.timings.length, sequences)) ??
    checkTokens("tokens", tokens) ??
    checkLengths("masks", masks, tokens) ??
    checkScores(scores) ??
    (advantages && checkFinite("advantages", advantages)) ??
    (refLogprobs && (checkLengths("refLogprobs", refLogprobs, tokens) ?? checkFinite("refLogprobs", refLogprobs))) ??
    (inferenceLogprobs &&
      (checkLengths("inferenceLogprobs", inferenceLogprobs, tokens) ??
        checkLogprobs("inferenceLogprobs", inferenceLogprobs))) ??
    (distillTokenIds && checkTokens("distillTokenIds", distillTokenIds.flat())) ??
    (distillLogprobs && checkFinite("distillLogprobs", distillLogprobs.flat())) ??
    (routedExperts && checkWords("routedExperts", routedExperts, tokens)) ??
    (versionRuns && checkVersionRuns(versionRuns, group)) ??
    (keptTokens && checkKept(keptTokens, tokens))
  return error === undefined ? Result.succeed(group) : Result.fail(error)
}
