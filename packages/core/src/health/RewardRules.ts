/** Rules for the reward: it falls, carries no signal, or a component is earned by length. */
import { courseOf } from "./Course.ts"
import { atFirst, type Findings, percent, type Rule, seriesOf, standing, trainer, window, written } from "./Finding.ts"
import * as Learned from "./Learned.ts"
import * as Series from "./Series.ts"

/** A fall by this share of the best, or of all that was gained, is a collapse. */
const collapsed = 0.5

/** The trainer's own reward; the environments' if it has none. */
const rewards = (recorded: Series.Recorded) =>
  recorded.sourcesOf("reward/mean").includes(trainer)
    ? [{ source: trainer, metric: "reward/mean" }]
    : recorded.sourcesOf("train/scores_mean").map((source) => ({ source, metric: "train/scores_mean" }))

const falls = (recorded: Series.Recorded, isCollapse: boolean): Findings =>
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
        message: `Reward fell at step ${fellAt}: ${written(now)} now, best ${written(best.value)} at step ${best.step}.`
      }
    ]
  })

export const collapse: Rule = {
  title: "Reward collapsed",
  words: `the mean reward of the last ${window} steps is significantly below the best ${window} (4 standard errors), by at least half of the best or of the whole gain`,
  judge: (recorded) => falls(recorded, true)
}

export const fall: Rule = {
  title: "Reward below peak",
  words: `the mean reward of the last ${window} steps is significantly below the best ${window} (4 standard errors), by at least 10% of its range, and by less than a collapse`,
  judge: (recorded) => falls(recorded, false)
}

const nothingToLearn = 0.95

const identical = (recorded: Series.Recorded): Findings =>
  recorded.sourcesOf("train/percent_identical").flatMap((source) => {
    const metric = "train/percent_identical"
    const found = standing(
      seriesOf(recorded, source, metric),
      (share) => share >= nothingToLearn,
      () => Learned.solvedUntil(recorded, source)
    )
    if (found === undefined) return []
    return [
      {
        severity: "broken" as const,
        source,
        metric,
        from: found.from,
        to: found.to,
        message: `${percent(found.now)} of the groups of ${source} have identical scores since step ${found.from}: they carry no learning signal.${Learned.inWords(recorded, source)}`
      }
    ]
  })

/** True if an environment has reported groups since a step: they are produced, and dropped for equal scores. */
const isAtWork = (recorded: Series.Recorded, source: string, since: number): boolean =>
  (seriesOf(recorded, source, "train/percent_identical").steps.at(-1) ?? since) > since

/** Environments that no longer send anything, although they still record. */
const silent = (recorded: Series.Recorded): Findings =>
  recorded.sourcesOf("train/items_sent_to_api").flatMap((source) => {
    const metric = "train/items_sent_to_api"
    const { steps, values } = seriesOf(recorded, source, metric)
    const last = values.findLastIndex((sent) => sent > 0)
    const others = recorded
      .sourcesOf(metric)
      .some((other) => other !== source && seriesOf(recorded, other, metric).values.subarray(-window).some(Boolean))
    if (!others || values.length - 1 - last < window) return []
    const since = last === -1 ? steps[0]! : steps[last]!
    if (isAtWork(recorded, source, since) && Learned.isSolved(recorded, source)) return []
    return [
      {
        severity: "broken" as const,
        source,
        metric,
        from: since,
        to: steps.at(-1)!,
        message:
          last === -1
            ? `${source} has sent no groups, while other environments have.`
            : `${source} has sent no groups since step ${since}, while other environments have.`
      }
    ]
  })

export const stuck: Rule = {
  title: "Environment stuck",
  words: `95% of an environment's groups in its last ${window} rows have identical scores, or it sent none while other environments did; and fewer than ${percent(Learned.mostly)} of its answers are solved`,
  judge: (recorded) => [...identical(recorded), ...silent(recorded)]
}

const alikeFrom = 0.8

export const zeroVariance: Rule = {
  title: "No learning signal",
  words: `over the last ${window} steps, 80% of the groups in batches have identical scores, and fewer than ${percent(Learned.mostly)} of the answers are solved`,
  judge: (recorded) => {
    const shares = Series.sharesOf(
      recorded.points(trainer, "batch/zero_variance_groups"),
      recorded.points(trainer, "batch/groups")
    )
    const found = standing(
      shares,
      (share) => share >= alikeFrom,
      () => Learned.solvedUntil(recorded, trainer)
    )
    if (found === undefined) return []
    return [
      {
        severity: "suspect",
        source: trainer,
        metric: "batch/zero_variance_groups",
        from: found.from,
        to: found.to,
        message: `${percent(found.now)} of the groups in batches have identical scores since step ${found.from}.${Learned.inWords(recorded, trainer)}`
      }
    ]
  }
}

/** Min length ratio and correlation with length, and max correlation of another component. */
const longer = 1.5
const tied = 0.7
const untied = 0.3

export const lengthHacking: Rule = {
  title: "Length hacking",
  words: `completions are ${longer} times as long as at first, one reward component correlates with their length from step to step (${tied} or more), and another does not (${untied} or less)`,
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
            message: `“${component}” of ${source} correlates with completion length (${tie.toFixed(2)}), which went from ${written(start)} to ${written(grown.now)} tokens; other components do not.`
          }
        ]
      })
    })
}
