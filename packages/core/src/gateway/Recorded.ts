/**
 * Converts a finished session to a line of a file.
 *
 * A session with a reward is a saved group (`SavedGroup`): its sequences, each with the session's score, the sum of its
 * components. A session without a reward has no score unless the caller provides one; otherwise it becomes a line with
 * its chats (`{ "messages": […] }`), as in fine-tuning data sets. Anything unsound is excluded, with its reason.
 */
import { Effect, Result } from "effect"
import * as Judgement from "../definition/ToScoredGroup.ts"
import * as RewardComponents from "../reward/RewardComponents.ts"
import type { Session } from "./session/Session.ts"
import * as TotalReward from "./session/TotalReward.ts"
import * as SavedGroup from "../service/SavedGroup.ts"

export type Recorded =
  | { readonly _tag: "Scored"; readonly lines: ReadonlyArray<string> }
  | { readonly _tag: "Unscored"; readonly lines: ReadonlyArray<string> }
  /** There were no requests. */
  | { readonly _tag: "Silent" }
  | { readonly _tag: "LeftOut"; readonly reason: string }

export const of = Effect.fn("Recorded.of")(function* (
  session: Pick<Session, "id" | "recording" | "rewards" | "tokenizer">,
  /** Score for a session that reports none. */
  unrewarded: number | undefined
): Effect.fn.Return<Recorded> {
  const recording = yield* Effect.result(session.recording)
  if (Result.isFailure(recording)) return { _tag: "LeftOut", reason: recording.failure.message }
  const { leftOut, sequences } = recording.success
  const trajectories = sequences.map(({ trajectory }) => trajectory)
  const [unsound] = leftOut
  if (trajectories.length === 0) {
    return unsound === undefined ? { _tag: "Silent" } : { _tag: "LeftOut", reason: unsound.message }
  }
  const rewards = TotalReward.of(yield* session.rewards)
  const score = rewards === undefined ? unrewarded : RewardComponents.weighted(rewards)
  if (score === undefined) {
    return {
      _tag: "Unscored",
      lines: trajectories.map(({ messages }) => JSON.stringify({ messages, session: session.id }))
    }
  }
  const judged = { score, ...(rewards !== undefined && { rewards }) }
  const group = Judgement.toScoredGroup(
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
  return { _tag: "Scored", lines: [SavedGroup.encode(group)] }
})
