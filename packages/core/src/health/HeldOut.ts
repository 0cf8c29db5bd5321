/** Compares held-out items with the scores of training: shares solved, at the same steps. Pure. */
import { percent, seriesOf, trainer, window } from "./Finding.ts"
import * as Series from "./Series.ts"

const metric = "eval/percent_correct"
/** Greedy answers to held-out items are rarely this much worse than sampled ones in training. */
const above = 0.3
/** Sampled answers are often worse than greedy ones, but not by this much. */
const below = 0.1
const few = 0.2

export const words = `at the latest evaluation, the solved share of training answers over the ${window} steps before exceeds that of held-out items by ${percent(above)} (by half of that beyond the 95% CI); or it is below 10% of it, with ${percent(few)} of the held-out items solved at the lower end of the CI`

export interface Disagreement {
  readonly source: string
  readonly metric: string
  readonly step: number
  readonly trained: number
  readonly held: number
}

/** The evaluation source of an environment: its name, or the one it registered with. */
const evaluationsOf = (recorded: Series.Recorded, source: string): string | undefined => {
  const evaluated = recorded.sourcesOf(metric)
  const own = evaluated.find((one) => one === source) ?? evaluated.find((one) => source === `${one}_0`)
  return own ?? (source === trainer && evaluated.length === 1 ? evaluated[0] : undefined)
}

const latest = (
  recorded: Series.Recorded,
  source: string
): { readonly step: number; readonly held: number } | undefined => {
  const { steps, values } = seriesOf(recorded, source, metric)
  const [step, held] = [steps.at(-1), values.at(-1)]
  return step === undefined || held === undefined ? undefined : { step, held }
}

/** ` (held-out 62% at step 40)`; empty if there was no held-out evaluation since the start. */
export const inWords = (recorded: Series.Recorded, source: string): string => {
  const evaluated = evaluationsOf(recorded, source)
  const found = evaluated === undefined ? undefined : latest(recorded, evaluated)
  return found === undefined || found.step === 0
    ? ""
    : ` (held-out items: ${percent(found.held)} solved at step ${found.step})`
}

const solvedBefore = (recorded: Series.Recorded, source: string, step: number): number | undefined => {
  const { steps, values } = seriesOf(
    recorded,
    source,
    source === trainer ? "reward/solved_fraction" : "train/solved_fraction"
  )
  const near = values.filter((_, at) => steps[at]! > step - window && steps[at]! <= step)
  return near.length < window / 2 ? undefined : Series.mean(near)
}

/** Environments whose training and held-out items disagree at the latest evaluation. */
export const disagreements = (recorded: Series.Recorded): ReadonlyArray<Disagreement> => {
  const environments = recorded.sourcesOf("train/solved_fraction")
  return (environments.length > 0 ? environments : [trainer]).flatMap((source) => {
    const evaluated = evaluationsOf(recorded, source)
    const found = evaluated === undefined ? undefined : latest(recorded, evaluated)
    const trained = found && solvedBefore(recorded, source, found.step)
    if (evaluated === undefined || found === undefined || trained === undefined) return []
    const bound = (name: string): number => seriesOf(recorded, evaluated, name).values.at(-1) ?? found.held
    const isAbove = trained - found.held > above && trained - bound(`${metric}_ci_high`) > above / 2
    const isBelow = trained < below * found.held && bound(`${metric}_ci_low`) > few
    return isAbove || isBelow
      ? [{ source, metric: "train/solved_fraction", step: found.step, trained, held: found.held }]
      : []
  })
}
