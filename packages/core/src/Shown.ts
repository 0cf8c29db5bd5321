/**
 * What pages show of a training group beside its scores, under the names that samples of evaluations have: the answers
 * expected (`group_overrides.gold`) and each answer as it was read (`overrides[i].parsed`, null where none could be).
 * No trainer reads them. Pure.
 */
import type { Overrides } from "./ScoredGroup.ts"

type Sample = { readonly [name: string]: unknown } | undefined

/** Answers of an item, and characters of each, that go along; a whole program or document stays where it is. */
const maxGold = 4
const longest = 2000

const textsOf = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : []).filter((one) => typeof one === "string")

/** An environment's own words of what is expected, else its claims; undefined if neither says it in short. */
export const expectedOf = (sample: Sample, claimed: ReadonlyArray<string> = []): Overrides | undefined => {
  const own = textsOf(sample?.["gold"])
  const gold = (own.length > 0 ? own : claimed).filter(({ length }) => length <= longest).slice(0, maxGold)
  return gold.length === 0 ? undefined : { gold }
}

/** The answer as the score read it. */
export const answerOf = (sample: Sample): Overrides => {
  const parsed = sample?.["parsed"]
  if (parsed === null) return { parsed }
  return typeof parsed === "string" ? { parsed: parsed.length > longest ? `${parsed.slice(0, longest)}…` : parsed } : {}
}
