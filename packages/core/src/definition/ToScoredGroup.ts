/** Converts judged trajectories into the group that is sent, with scores, advantages and overrides. */
import type { RolloutGroup } from "./Definition.ts"
import type { Rewards } from "../reward/RewardComponents.ts"
import * as Sampling from "../trajectory/Sampling.ts"
import type { Judged } from "../reward/Score.ts"
import type { Overrides, ScoredGroup } from "../trajectory/ScoredGroup.ts"
import * as Timings from "../trajectory/Timings.ts"
import { isTooShort } from "../trajectory/Trajectory.ts"

/** Marks a rollout that reached its token limit. */
const cutOff: Overrides = { finish_reason: "length" }

/** Marks a rollout that is too short to train on. */
const leftAlone: Overrides = { set_advantage_to_zero: true }

/**
 * The wire form of a group: lists that no trajectory has are absent, logprobs are present only if all have them.
 * Rollouts with fewer trained tokens than `minTrainedTokens` keep their scores but are not trained on. With an origin,
 * the timings of turns are included.
 */
export const toScoredGroup = (
  group: RolloutGroup,
  details: ReadonlyArray<Judged>,
  {
    itemId,
    minTrainedTokens = 0,
    isSolved,
    gold,
    origin
  }: {
    readonly minTrainedTokens?: number
    readonly itemId?: string
    readonly origin?: Timings.Origin
    /** Correct answers to display; the environment's own (`sample.gold`) take precedence. */
    readonly gold?: ReadonlyArray<string>
    readonly isSolved?: (score: number, rewards?: Rewards) => boolean
  } = {}
): ScoredGroup => {
  const { scores: _scores, trajectories, ...rest } = group
  const own = { ...rest.groupOverrides, ...rest.generationParams }
  // The environment's own overrides take precedence.
  const switches = (sampling: Sampling.Sampling) =>
    Object.fromEntries(Object.entries(Sampling.toSwitches(sampling)).map(([name, value]) => [name, own[name] ?? value]))
  const sampling = trajectories[0]?.sampling
  const isAlike = trajectories.every((one) => Sampling.areEqual(one.sampling, sampling))
  const overrides = trajectories.map(({ finishReason, mask, sampling, tokens }, index) => {
    const all = {
      ...(!isAlike && sampling !== undefined && switches(sampling)),
      ...(finishReason === "length" && cutOff),
      ...answerOf(details[index]!.sample),
      ...details[index]!.overrides,
      ...(isTooShort({ tokens, mask }, minTrainedTokens) && leftAlone)
    }
    return Object.keys(all).length === 0 ? undefined : all
  })
  const timings = origin === undefined ? [] : trajectories.map((one) => Timings.since(one, origin))
  const logprobs = trajectories.flatMap(({ logprobs }) => (logprobs === undefined ? [] : [logprobs]))
  const expected = expectedOf(details[0]?.sample, gold)
  return {
    ...rest,
    ...(expected !== undefined && { groupOverrides: { ...expected, ...rest.groupOverrides } }),
    ...(isAlike &&
      sampling !== undefined && {
        generationParams: { ...rest.generationParams, ...switches(sampling) }
      }),
    tokens: trajectories.map(({ tokens }) => tokens),
    masks: trajectories.map(({ mask }) => mask),
    scores: Float64Array.from(details, ({ score }) => score),
    messages: trajectories.map(({ messages }) => messages),
    ...(logprobs.length === trajectories.length && { inferenceLogprobs: logprobs }),
    ...(details.some(({ advantages }) => advantages !== undefined) && {
      advantages: trajectories.map(({ tokens }, index) => {
        const { advantages, score } = details[index]!
        return advantages === undefined ? new Float32Array(tokens.length).fill(score) : Float32Array.from(advantages)
      })
    }),
    ...(details.some(({ rewards }) => rewards !== undefined) && {
      rewards: details.map(({ rewards }) => rewards ?? {})
    }),
    ...(overrides.some((one) => one !== undefined) && { overrides: overrides.map((one) => one ?? {}) }),
    ...(trajectories.some(({ policyVersion }) => policyVersion !== undefined) && {
      policyVersions: trajectories.map(({ policyVersion }) => policyVersion ?? null)
    }),
    ...(trajectories.some(({ versionRuns }) => versionRuns !== undefined) && {
      versionRuns: trajectories.map(({ versionRuns }) => versionRuns ?? new Int32Array())
    }),
    ...(isSolved !== undefined && { solved: details.map(({ rewards, score }) => isSolved(score, rewards)) }),
    ...(timings.some((one) => one !== null) && { timings }),
    ...(trajectories.some(({ routedExperts }) => routedExperts !== undefined) && {
      routedExperts: trajectories.map(({ routedExperts }) => routedExperts ?? new Int32Array())
    }),
    ...(trajectories.some(({ keptTokens }) => keptTokens !== undefined) && {
      keptTokens: trajectories.map(({ keptTokens, tokens }) => keptTokens ?? Array.from(tokens, () => new Int32Array()))
    }),
    ...(itemId !== undefined && { itemId })
  }
}

/*
 * Pages show more of a training group than its scores, under the names that evaluation samples use: expected answers
 * (`group_overrides.gold`) and each parsed answer (`overrides[i].parsed`, null if it could not be parsed). Trainers
 * ignore them.
 */

type Sample = { readonly [name: string]: unknown } | undefined

/** Max answers per item, and max characters of each; longer ones, such as programs or documents, are not sent. */
const maxGold = 4
const longest = 2000

const textsOf = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : []).filter((one) => typeof one === "string")

/** The expected answers stated by the environment, else by its claims; undefined if neither has short ones. */
const expectedOf = (sample: Sample, claimed: ReadonlyArray<string> = []): Overrides | undefined => {
  const own = textsOf(sample?.["gold"])
  const gold = (own.length > 0 ? own : claimed).filter(({ length }) => length <= longest).slice(0, maxGold)
  return gold.length === 0 ? undefined : { gold }
}

/** The answer as parsed by the score function. */
const answerOf = (sample: Sample): Overrides => {
  const parsed = sample?.["parsed"]
  if (parsed === null) return { parsed }
  return typeof parsed === "string" ? { parsed: parsed.length > longest ? `${parsed.slice(0, longest)}…` : parsed } : {}
}
