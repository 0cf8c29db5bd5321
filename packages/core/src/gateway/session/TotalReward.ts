/**
 * The total reward of a session: for each component the last report about the whole session, plus all reports about
 * single answers. Undefined without any report.
 */
import type { Rewards } from "../../reward/RewardComponents.ts"
import type { ReportedReward } from "./Session.ts"

export const of = (reported: ReadonlyArray<ReportedReward>): Rewards | undefined => {
  if (reported.length === 0) return undefined
  const ofSession = new Map<string, number>()
  const ofTurns = new Map<string, number>()
  for (const { rewards, turn } of reported) {
    for (const [component, value] of Object.entries(rewards)) {
      if (turn === undefined) ofSession.set(component, value)
      else ofTurns.set(component, (ofTurns.get(component) ?? 0) + value)
    }
  }
  for (const [component, value] of ofTurns) ofSession.set(component, (ofSession.get(component) ?? 0) + value)
  return Object.fromEntries(ofSession)
}
