/**
 * The sessions of one item as a group to be compared with each other.
 *
 * A session may be several sequences: sub-agents, branches, a history that was rewritten. Each has the session's score,
 * and `overrides[i].session` says which session it belongs to, so that the trainer compares sessions: one with many
 * paths does not weigh more in the group's mean and deviation, and all its paths have the advantage of their session.
 * Every sampled token is trained once in any case, since a shared beginning is trained in one of the paths alone.
 */
import { type Environment, RewardComponents, type Trajectory } from "@atropos/core"

/** A number with components beside it, which are no part of it. */
export interface Total {
  readonly _tag: "Total"
  readonly score: number
  readonly rewards: RewardComponents.Rewards
}

/** What a session was worth: a number, components that are weighed by `reward_weights`, or both. */
export type Judged = number | RewardComponents.Rewards | Total

const isTotal = (judged: Judged): judged is Total =>
  typeof judged === "object" && Object.hasOwn(judged, "_tag") && judged["_tag"] === "Total"

/** What is wrong with a value as a judgement, in words; undefined: nothing. */
export const faultOf = (value: unknown): string | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `is ${value}`
  const fault = RewardComponents.faultOfScore(value)
  if (fault !== undefined) return `is no reward: ${fault}`
  return RewardComponents.isRewards(value) ? undefined : "has a component that is not finite"
}

/** A seat of a rollout: what one of its sessions was worth, and with which it is compared. */
export interface Part {
  /** Those of one name are a group. */
  readonly group: string
  /** The number of its session. */
  readonly session: number
  readonly judged: Judged
}

/** A session that was judged. */
export interface JudgedSession {
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
  readonly judged: Judged
  /** What pages show beside the score: what was expected and what was given. */
  readonly sample?: Environment.ScoreDetails["sample"]
}

/** As environments give scores. */
export const score = (
  judged: Judged,
  overrides?: { readonly session: number },
  sample?: JudgedSession["sample"]
): Environment.Score => ({
  ...(typeof judged === "number"
    ? { score: judged }
    : isTotal(judged)
      ? { score: judged.score, rewards: judged.rewards }
      : { rewards: judged }),
  ...(overrides !== undefined && { overrides }),
  ...(sample !== undefined && { sample })
})

/** The group; one that has not the usual number of sequences says its own. */
export const make = (sessions: ReadonlyArray<JudgedSession>, groupSize: number): Environment.RolloutGroup => {
  const hasPaths = sessions.some(({ trajectories }) => trajectories.length > 1)
  const trajectories = sessions.flatMap(({ trajectories }) => trajectories)
  return {
    trajectories,
    ...(trajectories.length !== groupSize && { groupOverrides: { group_size: trajectories.length } }),
    scores: sessions.flatMap(({ judged, sample, trajectories }, session) =>
      trajectories.map(() => score(judged, hasPaths ? { session } : undefined, sample))
    )
  }
}
