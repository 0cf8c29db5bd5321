/**
 * Which groups to list: the form's values, the address's parameters and the service's query are three writings of it.
 *
 * Parameters that make no sense (`step_from=x`) count as not given; a lower bound above the upper is told by
 * `problemOf`.
 */
import type { RolloutQuery } from "../../source/Wire.ts"

export interface Filter {
  readonly environment: string | null
  readonly stepFrom: number | null
  readonly stepTo: number | null
  /** Bounds of the mean score. */
  readonly scoreFrom: number | null
  readonly scoreTo: number | null
  readonly text: string
}

export const none: Filter = {
  environment: null,
  stepFrom: null,
  stepTo: null,
  scoreFrom: null,
  scoreTo: null,
  text: ""
}

/** The service takes no longer search. */
export const longestText = 1000

export const fromSearch = (search: URLSearchParams): Filter => ({
  environment: search.get("environment") || null,
  stepFrom: whole(number(search.get("step_from"))),
  stepTo: whole(number(search.get("step_to"))),
  scoreFrom: number(search.get("score_from")),
  scoreTo: number(search.get("score_to")),
  text: (search.get("text") ?? "").slice(0, longestText)
})

/** The address's parameters; null where there is nothing to say. */
export const toSearch = (filter: Filter): { readonly [name: string]: string | number | null } => ({
  environment: filter.environment,
  step_from: filter.stepFrom,
  step_to: filter.stepTo,
  score_from: filter.scoreFrom,
  score_to: filter.scoreTo,
  text: filter.text === "" ? null : filter.text
})

export const toQuery = (filter: Filter): RolloutQuery => ({
  ...(filter.environment !== null && { environment: filter.environment }),
  ...(filter.stepFrom !== null && { step_from: filter.stepFrom }),
  ...(filter.stepTo !== null && { step_to: filter.stepTo }),
  ...(filter.scoreFrom !== null && { score_from: filter.scoreFrom }),
  ...(filter.scoreTo !== null && { score_to: filter.scoreTo }),
  ...(filter.text.trim() !== "" && { text: filter.text.trim() })
})

/** How many kinds of filter are in force. */
export const active = (filter: Filter): number =>
  [
    filter.environment !== null,
    filter.stepFrom !== null || filter.stepTo !== null,
    filter.scoreFrom !== null || filter.scoreTo !== null,
    filter.text.trim() !== ""
  ].filter(Boolean).length

/** What is wrong with it; null where it can be asked for. */
export const problemOf = ({ scoreFrom, scoreTo, stepFrom, stepTo }: Filter): string | null => {
  if (stepFrom !== null && stepTo !== null && stepFrom > stepTo) return `Steps run from ${stepFrom} down to ${stepTo}.`
  if (scoreFrom !== null && scoreTo !== null && scoreFrom > scoreTo)
    return `Scores run from ${scoreFrom} down to ${scoreTo}.`
  return null
}

/** What somebody typed as a number; null where it is none. */
export const number = (text: string | null): number | null => {
  if (text === null || text.trim() === "") return null
  const value = Number(text)
  return Number.isFinite(value) ? value : null
}

const whole = (value: number | null): number | null => (value === null ? null : Math.trunc(value))
