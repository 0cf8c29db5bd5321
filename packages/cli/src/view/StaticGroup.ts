/**
 * Converts a group for a saved page (`PackedPage`): display-only numbers are rounded to three digits, and the trainer's
 * logprobs become differences from the sampler's.
 */
import type * as PackedPage from "@atropos/api/rollout/PackedPage"
import * as GroupFigures from "@atropos/api/rollout/GroupFigures"
import * as RolloutText from "@atropos/api/rollout/RolloutText"
import * as Payloads from "@atropos/api/store/Payloads"
import {
  Labels,
  RewardComponents,
  type SavedGroup,
  ScoredGroup,
  Timings,
  type TrainedLogprobs,
  TrajectoryApi,
  VersionRuns
} from "@atropos/core"
import { Schema } from "effect"

/** Three digits are more than a colour shows. */
const rounded = (rows: ReadonlyArray<Float32Array> | undefined) =>
  rows?.map((row) => Array.from(row, (value) => Number(value.toPrecision(3))))

const plain = (rows: ReadonlyArray<Int32Array>) => rows.map((row) => Array.from(row))

/** Marks "not recorded" among differences, in nats. */
const unrecorded = 1000

/** (G) trainer's minus sampler's logprobs: rounding each separately would lose their difference. */
const differencesOf = (
  { inferenceLogprobs = [] }: ScoredGroup.ScoredGroup,
  { rows }: TrainedLogprobs.TrainedLogprobs
): ReadonlyArray<Float32Array> =>
  rows.map((row, i) => {
    if (row === null) return new Float32Array()
    const differences = new Float32Array(row.from + row.logprobs.length).fill(unrecorded)
    for (const [t, logprob] of row.logprobs.entries()) {
      const difference = logprob - (inferenceLogprobs[i]?.[row.from + t] ?? Number.NaN)
      if (!Number.isNaN(difference)) differences[row.from + t] = difference
    }
    return differences
  })

/** A group for the page; missing fields are omitted. */
export const groupOf = (
  { group, trained }: Pick<SavedGroup.Saved, "group" | "trained">,
  { decimals, masks, texts, tokens }: PackedPage.Writer
) => ({
  tokens: tokens(group.tokens),
  masks: masks(
    group.masks.map((mask, i) => Labels.ofMask(group.tokens[i]!, mask)),
    group.tokens
  ),
  scores: Array.from(group.scores),
  advantages: group.advantages && decimals(group.advantages),
  ref_logprobs: group.refLogprobs && decimals(group.refLogprobs),
  messages: texts(group.messages),
  generation_params: group.generationParams,
  inference_logprobs: group.inferenceLogprobs && decimals(group.inferenceLogprobs.map(Labels.ofLogprobs)),
  overrides: RewardComponents.toOverrides(group.overrides, group.rewards),
  group_overrides: group.groupOverrides,
  images: texts(group.images),
  env_id: group.envId,
  distill_token_ids: group.distillTokenIds?.map(plain),
  distill_logprobs: group.distillLogprobs?.map(rounded),
  policy_versions: group.policyVersions,
  version_runs: group.versionRuns?.map(VersionRuns.toJson),
  timings: group.timings?.map(Timings.toJson),
  trainer_differences: trained && decimals(differencesOf(group, trained)),
  trainer_version: trained?.policyVersion
})

const encodeFigures = Schema.encodeSync(TrajectoryApi.GroupFigures)

/** The list row of a group. */
export const rowOf = (id: string, group: ScoredGroup.ScoredGroup, createdAt: number) => ({
  id,
  environment: null,
  env_id: group.envId ?? null,
  step: null,
  state: "consumed",
  created_at: createdAt,
  sequences: ScoredGroup.size(group),
  tokens: ScoredGroup.tokenCount(group),
  scores: Array.from(group.scores),
  policy_step: Payloads.policyStep(group.policyVersions),
  preview: RolloutText.ofMessages(group.messages, group.masks).preview,
  figures: encodeFigures(GroupFigures.ofScoredGroup(group))
})

export type Row = ReturnType<typeof rowOf>
