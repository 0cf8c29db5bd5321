/** Rules of the reward: that it falls, that it teaches nothing, that one component is had by length. */
import { atFirst, type Finding, percent, type Rule, seriesOf, standing, trainer, window, written } from "./Finding.ts"
import * as Series from "./Series.ts"

/** Means over `window` values: of the last, of those before them, of the first, and of the best there were. */
export interface Course {
  readonly window: number
  readonly now: number
  readonly before: number
  readonly start: number
  /** `step` is the last of them. */
  readonly best: { readonly value: number; readonly step: number }
  /** How far it is below its best, where that is more than chance: else 0. */
  readonly fallen: number
  /** The step at which it fell; null where it did not. */
  readonly fellAt: number | null
}

/** A fall is one of so many standard errors, the best being the best of many. */
const surely = 4
/** A fall is at least this part of all that the run has gone through. */
const noticeable = 0.1
/** A fall of this part of the best, or of all that was gained, is a collapse. */
const collapsed = 0.5

/** How a reward has gone; null without values. Windows are shorter where the values are too few for two of them. */
export const courseOf = ({ steps, values }: ReturnType<typeof Series.finite>): Course | null => {
  if (values.length === 0) return null
  const size = Math.max(1, Math.min(window, Math.floor(values.length / 2)))
  const means = Series.meansOver(values, size)
  const now = means.at(-1)!
  let [best, worst] = [0, 0]
  for (let index = 1; index < means.length; index++) {
    if (means[index]! > means[best]!) best = index
    if (means[index]! < means[worst]!) worst = index
  }
  const below = means[best]! - now
  const chance = Series.errorBetween(values.subarray(best, best + size), values.subarray(-size))
  const isFallen = below > surely * chance && below > noticeable * (means[best]! - means[worst]!)
  const broken = isFallen ? Series.breakOf(values.subarray(best)) : undefined
  return {
    window: size,
    now,
    before: means.at(-1 - size) ?? now,
    start: means[0]!,
    best: { value: means[best]!, step: steps[best + size - 1]! },
    fallen: isFallen ? below : 0,
    fellAt: broken === undefined ? null : steps[best + broken]!
  }
}

/** The trainer's own reward; that of the environments where it has none. */
const rewards = (recorded: Series.Recorded) =>
  recorded.sourcesOf("reward/mean").includes(trainer)
    ? [{ source: trainer, metric: "reward/mean" }]
    : recorded.sourcesOf("train/scores_mean").map((source) => ({ source, metric: "train/scores_mean" }))

const falls = (recorded: Series.Recorded, isCollapse: boolean): ReadonlyArray<Omit<Finding, "rule">> =>
  rewards(recorded).flatMap(({ metric, source }) => {
    const series = seriesOf(recorded, source, metric)
    const course = series.values.length < 2 * window ? null : courseOf(series)
    if (course === null || course.fellAt === null) return []
    const { best, fallen, fellAt, now, start } = course
    if (fallen >= collapsed * Math.max(best.value - start, Math.abs(best.value)) !== isCollapse) return []
    return [
      {
        severity: isCollapse ? ("broken" as const) : ("suspect" as const),
        source,
        metric,
        from: fellAt,
        to: series.steps.at(-1)!,
        says: `Reward fell at step ${fellAt}: ${written(now)} now, ${written(best.value)} at its best at step ${best.step}.`
      }
    ]
  })

export const collapse: Rule = {
  title: "Reward collapsed",
  words: `the mean reward of the last ${window} steps is below the best ${window} by more than chance (4 standard errors), and has lost half of the best, or of all that was gained`,
  judge: (recorded) => falls(recorded, true)
}

export const fall: Rule = {
  title: "Reward below its peak",
  words: `the mean reward of the last ${window} steps is below the best ${window} by more than chance (4 standard errors), by a tenth of its range at least, and by less than a collapse`,
  judge: (recorded) => falls(recorded, false)
}

const nothingToLearn = 0.95

const identical = (recorded: Series.Recorded): ReadonlyArray<Omit<Finding, "rule">> =>
  recorded.sourcesOf("train/percent_identical").flatMap((source) => {
    const metric = "train/percent_identical"
    const found = standing(seriesOf(recorded, source, metric), (share) => share >= nothingToLearn)
    if (found === undefined) return []
    const scores = seriesOf(recorded, source, "train/scores_mean").values.subarray(-window)
    const level = scores.length === 0 ? "" : ` Their mean score is ${written(Series.mean(scores))}.`
    return [
      {
        severity: "broken" as const,
        source,
        metric,
        from: found.from,
        to: found.to,
        says: `${percent(found.now)} of the groups of ${source} have identical scores since step ${found.from}: nothing is learned from them.${level}`
      }
    ]
  })

/** Environments that no longer send anything, though they record. */
const silent = (recorded: Series.Recorded): ReadonlyArray<Omit<Finding, "rule">> =>
  recorded.sourcesOf("train/items_sent_to_api").flatMap((source) => {
    const metric = "train/items_sent_to_api"
    const { steps, values } = seriesOf(recorded, source, metric)
    const last = values.findLastIndex((sent) => sent > 0)
    const others = recorded
      .sourcesOf(metric)
      .some((other) => other !== source && seriesOf(recorded, other, metric).values.subarray(-window).some(Boolean))
    if (!others || values.length - 1 - last < window) return []
    const since = last === -1 ? steps[0]! : steps[last]!
    return [
      {
        severity: "broken" as const,
        source,
        metric,
        from: since,
        to: steps.at(-1)!,
        says:
          last === -1
            ? `${source} has sent no group at all, while others have.`
            : `${source} has sent no group since step ${since}, while others have.`
      }
    ]
  })

export const stuck: Rule = {
  title: "Environment stuck",
  words: `of the groups that an environment rolled out in its last ${window} rows, 95% have identical scores; or it has sent none in them while others have`,
  judge: (recorded) => [...identical(recorded), ...silent(recorded)]
}

const alikeFrom = 0.8

export const zeroVariance: Rule = {
  title: "Batches with nothing to learn from",
  words: `over the last ${window} steps, 80% of the groups in batches have identical scores`,
  judge: (recorded) => {
    const all = recorded.points(trainer, "batch/groups")
    const [flat, groups] = Series.together(recorded.points(trainer, "batch/zero_variance_groups"), all)
    const steps = Float64Array.from({ length: flat.length }, (_, at) => all.steps[all.steps.length - flat.length + at]!)
    const values = flat.map((count, at) => (groups[at]! > 0 ? count / groups[at]! : 0))
    const found = standing({ steps, values }, (share) => share >= alikeFrom)
    if (found === undefined) return []
    return [
      {
        severity: "suspect",
        source: trainer,
        metric: "batch/zero_variance_groups",
        from: found.from,
        to: found.to,
        says: `${percent(found.now)} of the groups in batches have identical scores since step ${found.from}.`
      }
    ]
  }
}

/** By this much longer, so closely tied to length, and another one so little. */
const longer = 1.5
const tied = 0.7
const untied = 0.3

export const lengthHacking: Rule = {
  title: "Reward had by length",
  words: `completions have become ${longer} times as long, a component of the reward has risen with their length from step to step (correlation ${tied} or more), and another one has not (${untied} or less)`,
  judge: (recorded) =>
    recorded.sourcesOf("train/completion_lengths").flatMap((source) => {
      const lengths = seriesOf(recorded, source, "train/completion_lengths")
      const start = atFirst(lengths)
      if (start === undefined) return []
      const ties = recorded
        .names()
        .filter((name) => name.startsWith("reward/") && recorded.sourcesOf(name).includes(source))
        .map((metric) => ({
          metric,
          tie: Series.correlation(...Series.together(recorded.points(source, metric), lengths))
        }))
      const grown = standing(lengths, (length) => length >= longer * start)
      const isOneFree = ties.some(({ tie }) => tie !== undefined && tie <= untied)
      if (grown === undefined || !isOneFree) return []
      return ties.flatMap(({ metric, tie }) => {
        const series = seriesOf(recorded, source, metric)
        const first = atFirst(series)
        const last = Series.mean(series.values.subarray(-window))
        if (tie === undefined || tie < tied || first === undefined || last <= first) return []
        const component = metric.slice("reward/".length)
        return [
          {
            severity: "suspect" as const,
            source,
            metric,
            component,
            from: grown.from,
            to: grown.to,
            says: `“${component}” of ${source} rises with the length of completions (correlation ${tie.toFixed(2)}), which went from ${written(start)} to ${written(grown.now)} tokens; other components do not.`
          }
        ]
      })
    })
}
