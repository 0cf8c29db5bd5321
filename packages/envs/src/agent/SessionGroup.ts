/**
 * Combines the sessions of one item into a group to be compared with each other.
 *
 * A session may be several sequences: sub-agents, branches, a rewritten history. Each has the session's score, and
 * `overrides[i].session` identifies its session, so that the trainer compares sessions: one with many paths weighs no
 * more in the group's mean and deviation, and all its paths have the advantage of their session. Every sampled token is
 * trained once in any case, since a shared prefix is trained in only one of the paths.
 */
import { type Environment, RewardComponents, type Trajectory } from "@atropos/core"

/** A score with components next to it that do not affect it. */
export interface Total {
  readonly _tag: "Total"
  readonly score: number
  readonly rewards: RewardComponents.Rewards
}

/** The reward of a session: a number, components that are weighted by `reward_weights`, or both. */
export type Judged = number | RewardComponents.Rewards | Total

const isTotal = (judged: Judged): judged is Total =>
  typeof judged === "object" && Object.hasOwn(judged, "_tag") && judged["_tag"] === "Total"

/** Describes why a value is not a valid judgement; undefined if it is. */
export const faultOf = (value: unknown): string | undefined => {
  if (typeof value === "number") return RewardComponents.isUsable(value) ? undefined : RewardComponents.unusable(value)
  const fault = RewardComponents.faultOfScore(value)
  if (fault !== undefined) return `is not a reward: ${fault}`
  const unusable = Object.entries(value as RewardComponents.Rewards).find(([, one]) => !RewardComponents.isUsable(one))
  return unusable && `has the component ${JSON.stringify(unusable[0])}, which ${RewardComponents.unusable(unusable[1])}`
}

/** A seat of a rollout: the reward of one of its sessions, and its comparison group. */
export interface Part {
  /** Sessions of the same name form a group. */
  readonly group: string
  /** Index of its session. */
  readonly session: number
  readonly judged: Judged
}

export interface JudgedSession {
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
  readonly judged: Judged
  /** Shown on pages next to the score: the expected result and the given one. */
  readonly sample?: Environment.ScoreDetails["sample"]
  /** Why the run's last turn stopped, if it reported that; `timeout` if its time was over. */
  readonly stopReason?: string
}

export const score = (
  judged: Judged,
  overrides: { readonly session?: number; readonly stop_reason?: string } = {},
  sample?: JudgedSession["sample"]
): Environment.Score => ({
  ...(typeof judged === "number"
    ? { score: judged }
    : isTotal(judged)
      ? { score: judged.score, rewards: judged.rewards }
      : { rewards: judged }),
  ...(Object.keys(overrides).length > 0 && { overrides }),
  ...(sample !== undefined && { sample })
})

/** The group; states its own number of sequences if that is not the usual one. */
export const make = (sessions: ReadonlyArray<JudgedSession>, groupSize: number): Environment.RolloutGroup => {
  const hasPaths = sessions.some(({ trajectories }) => trajectories.length > 1)
  const trajectories = sessions.flatMap(({ trajectories }) => trajectories)
  return {
    trajectories,
    ...(trajectories.length !== groupSize && { groupOverrides: { group_size: trajectories.length } }),
    scores: sessions.flatMap(({ judged, sample, stopReason, trajectories }, session) => {
      const overrides = { ...(hasPaths && { session }), ...(stopReason !== undefined && { stop_reason: stopReason }) }
      return trajectories.map(() => score(judged, overrides, sample))
    })
  }
}
