/**
 * Explains a run whose scores carry no learning signal, because all of a group are equal, with the likely causes and
 * the settings to change. Small models often get 0 for every answer: truncated, without a required think block, or not
 * in the form that the prompt asks for.
 */
import type { Rollout } from "@atropos/core"
import * as Tally from "./Tally.ts"

/** Min share of answers that explains the scores. */
const mostly = 0.5

type Settings = { readonly [name: string]: unknown }

interface Answers {
  readonly settings: Settings
  /** Number of answers with the property, and of those for which it is known. */
  readonly truncated: Tally.Share
  readonly unparsed?: Tally.Share
  /** Where to read them. */
  readonly file: string
}

const percent = ([some, all]: Tally.Share): string => `${Math.round((100 * some) / all)}%`

const isMost = ([some, all]: Tally.Share): boolean => all > 0 && some / all >= mostly

const causes = ({ file, settings, truncated, unparsed = [0, 0] }: Answers, isSampled: boolean): string => {
  const known = [
    ...(isMost(truncated)
      ? [
          `${percent(truncated)} of the answers were truncated: raise --env.max_token_length (${String(settings["max_token_length"])}), if the server's context has room`
        ]
      : []),
    ...(settings["thinking"] === true
      ? [
          "env.thinking is on: an answer without exactly one closed think block is wrong, and small models write none: --env.thinking false"
        ]
      : []),
    ...(isMost(unparsed)
      ? [
          `no answer could be parsed in ${percent(unparsed)}: the model does not write the form that the prompt asks for`
        ]
      : []),
    ...(isSampled && settings["temperature"] === 0
      ? ["env.temperature is 0: all answers to an item are the same: --env.temperature 1"]
      : [])
  ]
  const read = `read the answers (${file}): if they have the expected form, choose easier items or a larger model`
  return [...known, read].map((cause) => `\n  - ${cause}`).join("")
}

/** For `process`: undefined if the scores of any group differ, or no group has several. */
export const ofGroups = (tally: Tally.Tally, file: string, settings: Settings): string | undefined => {
  const [same, groups] = tally.identical
  if (groups === 0 || same < groups) return undefined
  const all = `all scores within each of the ${groups} groups are equal (mean ${meanOf(tally)}): no learning signal`
  return Tally.passRate(tally)?.value === 1
    ? `${all}. Every answer is right: choose harder items`
    : `${all}. Likely causes:${causes({ ...tally, file, settings }, true)}`
}

/** For `evaluate`: undefined if the scores of items differ, or all are right. */
export const ofItems = (tally: Tally.Tally, file: string, settings: Settings): string | undefined => {
  const score = Tally.meanScore(tally)
  const isSame = score?.stderr !== undefined && score.stderr <= 1e-9 * Math.abs(score.value)
  if (!isSame || Tally.passRate(tally)?.value === 1) return undefined
  const all = `all ${tally.scores[0]} items have the same score (${meanOf(tally)})`
  return `${all}. Likely causes:${causes({ ...tally, file, settings }, false)}`
}

/** For `serve`: undefined if it sent any group, or dropped none for equal scores. */
export const ofServing = (summary: Rollout.Summary, settings: Settings): string | undefined => {
  const { answers, dropped, duplicates, groupsSent } = summary
  const same = dropped.identical_scores ?? 0
  if (groupsSent + duplicates > 0 || same === 0) return undefined
  const file = "atropos process with the same flags writes them"
  return `no group was sent: all scores within each of ${same} groups are equal. Likely causes:${causes(
    { file, settings, truncated: [answers.truncated, answers.total] },
    true
  )}`
}

const meanOf = (tally: Tally.Tally): string => (Tally.meanScore(tally)?.value ?? 0).toFixed(4)
