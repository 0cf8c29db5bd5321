/** The rule for environments whose items fail, with the reason of the last failure if known. */
import { type Finding, percent, type Rule, seriesOf, standing, window } from "./Finding.ts"
import * as Series from "./Series.ts"

const some = 0.2
const half = 0.5
/** Min rows to judge at the beginning of a run. */
const fewest = 3

/** Since when at least a fifth has failed. */
const found = (series: ReturnType<typeof Series.finite>): ReturnType<typeof standing> => {
  const isMet = (share: number): boolean => share >= some
  const { steps, values } = series
  if (values.length >= window) return standing(series, isMet)
  const now = Series.mean(values)
  const first = values.findIndex(isMet)
  return values.length < fewest || !isMet(now) ? undefined : { from: steps[first]!, to: steps.at(-1)!, now }
}

export const failures: Rule = {
  title: "Items failing",
  words: `over the last ${window} rows of an environment (at least ${fewest} at the start), ${percent(some)} of its rollouts failed, crashed or timed out; an error from ${percent(half)} on`,
  judge: (recorded) =>
    recorded.sourcesOf("train/failed_fraction").flatMap((source): ReadonlyArray<Omit<Finding, "rule">> => {
      const metric = "train/failed_fraction"
      const share = found(seriesOf(recorded, source, metric))
      if (share === undefined) return []
      const last = recorded.activity?.()?.errors.find(({ environment }) => environment === source)
      return [
        {
          severity: share.now >= half ? "broken" : "suspect",
          source,
          metric,
          from: share.from,
          to: share.to,
          says: `${percent(share.now)} of the rollouts of ${source} fail since step ${share.from}${last === undefined ? "" : `; last error: ${last.message}`}.`
        }
      ]
    })
}
