/**
 * Collects what pages show for a training group in addition to scores, under the names that evaluation samples use:
 * expected answers (`group_overrides.gold`) and each parsed answer (`overrides[i].parsed`, null if it could not be
 * parsed). Trainers ignore them. Pure.
 */
import type { Overrides } from "./trajectory/ScoredGroup.ts"

type Sample = { readonly [name: string]: unknown } | undefined

/** Max answers per item, and max characters of each; longer ones, such as programs or documents, are not sent. */
const maxGold = 4
const longest = 2000

const textsOf = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : []).filter((one) => typeof one === "string")

/** The expected answers stated by the environment, else by its claims; undefined if neither has short ones. */
export const expectedOf = (sample: Sample, claimed: ReadonlyArray<string> = []): Overrides | undefined => {
  const own = textsOf(sample?.["gold"])
  const gold = (own.length > 0 ? own : claimed).filter(({ length }) => length <= longest).slice(0, maxGold)
  return gold.length === 0 ? undefined : { gold }
}

/** The answer as parsed by the score function. */
export const answerOf = (sample: Sample): Overrides => {
  const parsed = sample?.["parsed"]
  if (parsed === null) return { parsed }
  return typeof parsed === "string" ? { parsed: parsed.length > longest ? `${parsed.slice(0, longest)}…` : parsed } : {}
}
