/**
 * Converts a finished session to lines of files.
 *
 * A conversation with a reward is a saved group (`SavedGroup`): its sequences, each with the conversation's score, the
 * sum of its components. A conversation without a reward has no score unless the caller provides one; otherwise it
 * becomes a line for each of its chats (`{ "messages": […] }`), as in fine-tuning data sets. Anything unsound is
 * excluded, with its reason.
 */
import { Effect, Result } from "effect"
import * as Judgement from "../definition/ToScoredGroup.ts"
import * as RewardComponents from "../reward/RewardComponents.ts"
import type { Judged } from "../reward/Score.ts"
import type { Session } from "./session/Session.ts"
import * as TotalReward from "./session/TotalReward.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"
import * as SavedGroup from "../service/SavedGroup.ts"

/** The lines of each conversation; without any there were no requests, or nothing was sound. */
export interface Recorded {
  readonly scored: ReadonlyArray<string>
  readonly unscored: ReadonlyArray<ReadonlyArray<string>>
  /** Why conversations were excluded. */
  readonly leftOut: ReadonlyArray<string>
}

type Finished = Pick<Session, "id" | "conversations" | "tokenizer">

export const of = Effect.fn("Recorded.of")(function* (
  session: Finished,
  /** Score for a conversation that reports none. */
  unrewarded: number | undefined
): Effect.fn.Return<Recorded> {
  const conversations = yield* Effect.result(session.conversations)
  if (Result.isFailure(conversations)) return { scored: [], unscored: [], leftOut: [conversations.failure.message] }
  const scored: Array<string> = []
  const unscored: Array<ReadonlyArray<string>> = []
  const leftOut: Array<string> = []
  for (const { recording, rewards: reported } of conversations.success) {
    const trajectories = recording.sequences.map(({ trajectory }) => trajectory)
    if (trajectories.length === 0) {
      leftOut.push(...recording.leftOut.slice(0, 1).map(({ message }) => message))
      continue
    }
    const rewards = TotalReward.of(reported)
    const score = rewards === undefined ? unrewarded : RewardComponents.weighted(rewards)
    if (score === undefined) {
      unscored.push(trajectories.map(({ messages }) => JSON.stringify({ messages, session: session.id })))
    } else {
      scored.push(lineOf(session, trajectories, { score, ...(rewards !== undefined && { rewards }) }))
    }
  }
  return { scored, unscored, leftOut }
})

const lineOf = (session: Finished, trajectories: ReadonlyArray<Trajectory>, judged: Judged): string =>
  SavedGroup.encode(
    Judgement.toScoredGroup(
      {
        trajectories,
        groupOverrides: { session: session.id, ...(session.tokenizer && { tokenizer: session.tokenizer }) }
      },
      trajectories.map(() => judged),
      {
        origin: {
          startedAt: Math.min(...trajectories.flatMap(({ turns = [] }) => turns.map(({ asked: request }) => request)))
        }
      }
    )
  )
