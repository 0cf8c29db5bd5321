/** The rules of `WireGroup`, for groups that never were JSON. */
import { Result } from "effect"
import type { ScoredGroup } from "../../ScoredGroup.ts"
import { PackedGroupError } from "./PackedFrame.ts"

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

/** The group, or the first rule it breaks. */
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
