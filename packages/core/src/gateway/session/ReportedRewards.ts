/** The rewards reported for a session, and the conversations that they are for. */
import { Effect } from "effect"
import type { TrackedSession } from "../../inference/wire/Inference.ts"
import type { ReportedReward, Session } from "./Session.ts"

export interface ReportedRewards {
  /** `turns`: the answers whose conversation alone has the reward; none if it is the session's. */
  readonly add: (reward: ReportedReward, turns: ReadonlyArray<number>) => void
  readonly all: () => ReadonlyArray<ReportedReward>
  readonly conversations: (tracked: Pick<TrackedSession, "branches" | "recording">) => Session["conversations"]
}

export const make = (): ReportedRewards => {
  const rewards: Array<ReportedReward> = []
  const answers: Array<ReadonlySet<number>> = []
  return {
    add: (reward, turns) => {
      rewards.push(reward)
      answers.push(new Set(turns))
    },
    all: () => rewards.slice(),
    conversations: (tracked) =>
      Effect.suspend(() => {
        const rated = new Set(answers.flatMap((turns) => [...turns]))
        return rated.size === 0
          ? Effect.map(tracked.recording, (recording) => [{ recording, rewards: rewards.slice() }])
          : Effect.map(tracked.branches(rated), (branches) =>
              branches.map(({ rated: own, recording }) => ({
                recording,
                rewards: rewards.filter(
                  (_, at) => answers[at]!.size === 0 || own.some((turn) => answers[at]!.has(turn))
                )
              }))
            )
      })
  }
}
