/**
 * Describes the outcome of an agent's session and what was recorded of it.
 *
 * A failing agent is data: it threw, timed out, or never called the model. A failing framework is an error of
 * `SessionRun`, so that the item is retried.
 */
import type { Message, RewardComponents, Trajectory } from "@atropos/core"

/** Recorded until the end, however the session ended. */
export interface Recorded {
  /** One per path from a root of a session to a leaf; empty if the model was never called. */
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
  /** The trajectories by session, for rollouts with several. */
  readonly bySession: ReadonlyArray<ReadonlyArray<Trajectory.Trajectory>>
  readonly messages: ReadonlyArray<Message.Message>
  readonly reported: RewardComponents.Rewards | undefined
}

export type FailureKind =
  | "threw" // the agent threw or rejected
  | "timeout" // it timed out
  | "silent" // it ended without an answer of the model
  | "unrewarded" // it ended well, but has no reward

export interface Ended<Result> extends Recorded {
  readonly _tag: "Ended"
  readonly result: Result
}

export interface Failed extends Recorded {
  readonly _tag: "Failed"
  readonly kind: FailureKind
  readonly reason: string
  /** The thrown value, else an error with the reason. */
  readonly error: unknown
}

export type Outcome<Result> = Ended<Result> | Failed

export const failed = (recorded: Recorded, kind: FailureKind, reason: string, error?: unknown): Failed => {
  const { bySession, messages, reported, trajectories } = recorded
  return {
    _tag: "Failed",
    kind,
    reason,
    error: error ?? new Error(reason),
    messages,
    reported,
    trajectories,
    bySession
  }
}

/**
 * The sequence with the most messages, the last one on ties: the agent's main conversation rather than a sub-agent's.
 */
export const main = ({ trajectories }: Pick<Recorded, "trajectories">): Trajectory.Trajectory | undefined =>
  trajectories.reduce<Trajectory.Trajectory | undefined>(
    (longest, one) => (longest !== undefined && longest.messages.length > one.messages.length ? longest : one),
    undefined
  )
