/**
 * Rolls out items of the environment into groups that passed the filters, with the drops and their reasons, without a
 * service.
 */
import { Environment, ScoreAdvantage, ScoredGroup, ServerManager, Tokenizer } from "@atropos/core"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as GroupFilter from "@atropos/core/rollout/submit/GroupFilter"
import { Effect, Option, Result } from "effect"
import * as Tally from "../job/Tally.ts"

export interface Rolled {
  readonly groups: ReadonlyArray<ScoredGroup.ScoredGroup>
  readonly tally: Tally.Tally
  /** True if it gave any groups, including dropped ones. */
  readonly counts: boolean
  /** Describes why its first dropped group was dropped. */
  readonly whyDropped?: string
}

const tallyOf = (
  group: ScoredGroup.ScoredGroup,
  kept: boolean,
  {
    isOutside,
    solved
  }: Pick<Environment.EnvironmentShape, "solved"> & { readonly isOutside: (score: number) => boolean }
): Tally.Tally => {
  // A rollout may consist of several sequences that share its score.
  const { place_G } = ScoreAdvantage.rollouts(group.scores, ScoreAdvantage.sessionsOf(group))
  const first = place_G.flatMap((place, index) => (place_G.indexOf(place) === index ? [index] : []))
  const cut = new Set(place_G.filter((_, index) => group.overrides?.[index]?.["finish_reason"] === "length"))
  const rollouts = first.map((index) => ({
    score: group.scores[index]!,
    rewards: group.rewards?.[index],
    isTruncated: cut.has(place_G[index]!)
  }))
  return {
    ...Tally.ofGroup({
      scores: rollouts.map(({ score }) => score),
      isOutside,
      ...(Option.isSome(solved) && {
        passes: rollouts.filter(({ rewards, score }) => solved.value.isCorrect(score, rewards)).length
      }),
      truncated: rollouts.filter(({ isTruncated }) => isTruncated).length,
      ...(group.rewards && { rewards: rollouts.map(({ rewards }) => rewards ?? {}) }),
      trainedTokens: GroupFilter.completionLengths(group).reduce((sum, length) => sum + length, 0),
      tokens: ScoredGroup.tokenCount(group)
    }),
    kept: kept ? 1 : 0
  }
}

const droppedFor = (reason: string): Tally.Tally => ({ ...Tally.empty, dropped: { [reason]: 1 } })

/** Creates the rollout function of the environment in the context. */
export const make = Effect.gen(function* () {
  const { claims, settings, solved } = yield* Environment.Environment
  const isOutside = Environment.outsideClaims({ claims, settings })
  const tokenizer = yield* Effect.serviceOption(Tokenizer.Tokenizer)
  const servers = yield* ServerManager.ServerManager
  const filterOptions: GroupFilter.FilterOptions = {
    groupSize: settings.groupSize,
    ensureScoresAreNotSame: settings.ensureScoresAreNotSame,
    minTrainedTokens: settings.minTrainedTokens,
    includeMessages: settings.includeMessages,
    // No run has announced a limit: as in the original, long sequences are kept here.
    maxTokenLength: 0,
    ...(Option.isSome(tokenizer) && { decode: (tokens: Int32Array) => tokenizer.value.decode(tokens) }),
    tokenizer: servers.tokenizer && TokenizerIdentity.of(servers.tokenizer)
  }
  let isTold = false
  /**
   * Logs the reason of the first group that cannot be judged: if all rows of a source are like that, nothing else
   * would.
   */
  const logSkipped = (item: string, error: Environment.Unscorable | undefined): Effect.Effect<void> => {
    if (isTold || error === undefined) return Effect.void
    isTold = true
    return Effect.logWarning("group skipped; others are only counted", { item, reason: error.message })
  }
  return ({ label, rollOut }: Environment.Work): Effect.Effect<Rolled, Environment.EnvironmentError> =>
    rollOut.pipe(
      Effect.tap(({ unscorable }) => logSkipped(label, unscorable[0])),
      Effect.tapErrorTag("Unscorable", (error) => logSkipped(label, error)),
      Effect.map(({ groups, requeued, unscorable }) => {
        const kept: Array<ScoredGroup.ScoredGroup> = []
        let whyDropped = unscorable[0]?.message
        let tally: Tally.Tally = {
          ...Tally.empty,
          dropped: {
            ...(requeued.length > 0 && { requeued: requeued.length }),
            ...(unscorable.length > 0 && { unscorable: unscorable.length })
          }
        }
        for (const group of groups) {
          const result = GroupFilter.filter(group, filterOptions)
          tally = Tally.add(tally, tallyOf(group, Result.isSuccess(result), { solved, isOutside }))
          if (Result.isSuccess(result)) kept.push(result.success)
          else {
            tally = Tally.add(tally, droppedFor(result.failure))
            whyDropped ??= GroupFilter.reasons[result.failure]
          }
        }
        return { groups: kept, tally, counts: groups.length > 0, ...(whyDropped !== undefined && { whyDropped }) }
      }),
      Effect.catchTag("Unscorable", ({ message }) =>
        Effect.succeed({ groups: [], tally: droppedFor("unscorable"), counts: false, whyDropped: message })
      )
    )
})
