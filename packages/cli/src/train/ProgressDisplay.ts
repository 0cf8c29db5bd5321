/**
 * Shows a run on a terminal: progress, rewards, policy metrics, speed, time breakdown of a step, and health, in a few
 * lines below other output.
 *
 * Metrics are means over the last ten steps. Health uses the rules of the viewer and of `stop_on`. No line is wider
 * than the terminal.
 */
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"
import * as TimeSpan from "@atropos/core/base/TimeSpan"
import * as Health from "@atropos/core/health/Health"
import { Clock, Effect, Schedule } from "effect"
import * as Progress from "../base/Progress.ts"
import * as Sparkline from "../base/Sparkline.ts"
import * as Terminal from "../base/Terminal.ts"
import { wrap } from "../base/Wrap.ts"
import * as Summary from "../job/Summary.ts"
import * as ProgressFigures from "./ProgressFigures.ts"

export interface State {
  readonly done: number
  readonly total: number
  /** One per step of this process. */
  readonly rewards: ReadonlyArray<number>
  readonly recent: ReadonlyArray<StepMetrics>
  /** Health findings, most severe first. */
  readonly findings: ReadonlyArray<Finding>
  readonly isInDoubt?: boolean
  /** State other than running: `stalled`. */
  readonly standing?: string | undefined
  /** Seconds without progress. */
  readonly idleSeconds?: number | undefined
}

export interface Finding {
  readonly text: string
  readonly isBroken: boolean
}

export const findingOf = (card: Health.Card): Finding => ({
  text: Health.cardInWords(card),
  isBroken: card.cause.severity === "broken"
})

const window = 10

const percent = (share: number): string => `${Math.round(100 * share)}%`

const sum = (steps: ReadonlyArray<StepMetrics>, of: (metrics: StepMetrics) => number): number =>
  steps.reduce((total, metrics) => total + of(metrics), 0)

/** Time breakdown of the steps, largest first; parts below 1% are omitted. */
const timeOf = (steps: ReadonlyArray<StepMetrics>): string => {
  const whole = sum(steps, ({ stepSeconds }) => stepSeconds)
  if (whole <= 0) return ""
  const parts: ReadonlyArray<readonly [string, number]> = [
    ["sampling", sum(steps, ({ waitSeconds }) => waitSeconds)],
    ["training", sum(steps, (one) => one.prepareSeconds + one.computeSeconds + one.updateSeconds)],
    ["sync", sum(steps, ({ publishSeconds }) => publishSeconds)],
    ["saving", sum(steps, ({ saveSeconds }) => saveSeconds)]
  ]
  return parts
    .filter(([, seconds]) => seconds / whole >= 0.01)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, seconds]) => `${name} ${percent(seconds / whole)}`)
    .join(" | ")
}

/** Omits the reward, which has its own line. */
const policyOf = (steps: ReadonlyArray<StepMetrics>, isInDoubt: boolean): string =>
  ProgressFigures.detailOf(steps, isInDoubt)
    .split(" | ")
    .filter((figure) => !figure.startsWith("reward "))
    .join(" | ")

const bar = (share: number, width: number): string => {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width)
  return "█".repeat(full) + "░".repeat(width - full)
}

const colours = { red: 31, green: 32, yellow: 33, cyan: 36 }

/** A text in a colour, where there are any. */
const painter =
  (isColoured: boolean) =>
  (colour: keyof typeof colours, text: string): string =>
    isColoured && text !== "" ? `\u001b[${colours[colour]}m${text}\u001b[39m` : text

/** More findings are counted. */
const maxFindings = 3

/** Width of the line labels. */
export const indent = 8

/** The lines, wrapped to at most `width` columns. */
export const render = (
  { done, findings, idleSeconds, isInDoubt = false, recent, rewards, standing, total }: State,
  { colour, width }: { readonly width: number; readonly colour: boolean }
): ReadonlyArray<string> => {
  const seconds = sum(recent, ({ stepSeconds }) => stepSeconds)
  const each = recent.length === 0 ? undefined : seconds / recent.length
  const time = each === undefined || done >= total ? "" : `, ${Summary.time(1000 * each * (total - done))} left`
  // A run that does not move has no time left to show.
  const left = standing === undefined ? time : `, ${standing}`
  const reward = rewards.slice(-window)
  const mean = reward.reduce((all, one) => all + one, 0) / reward.length
  const value = reward.length === 0 ? "" : mean.toFixed(3)
  const cut = (text: string): string => (text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text)
  const rows = (text: string): ReadonlyArray<string> => wrap(text, width, indent)
  const paint = painter(colour)
  const head = cut(
    `step    ${done}/${total} ${bar(total > 0 ? done / total : 0, width < 60 ? 8 : 24)} ${percent(total > 0 ? done / total : 0)}${left}`
  )
  const curve = cut(`reward  ${value} ${Sparkline.of(rewards, Math.min(48, Math.max(4, width - 16)))}`)
  const waited = idleSeconds === undefined ? "" : ` for ${TimeSpan.format(idleSeconds)}`
  const speed =
    each === undefined
      ? done < total
        ? `waiting for the first batch of rollouts${waited}`
        : ""
      : `${each.toFixed(each < 10 ? 2 : 0)} s a step | ${timeOf(recent)}`
  return [
    head.replace(/[█▇▆▅▄▃▂▁]+/, (part) => paint("cyan", part)),
    curve.replace(/[█▇▆▅▄▃▂▁]+/, (part) => paint("cyan", part)),
    ...rows(`policy  ${policyOf(recent, isInDoubt)}`),
    ...rows(`time    ${speed}`),
    ...healthOf(findings, rows, paint)
  ]
}

const healthOf = (
  findings: ReadonlyArray<Finding>,
  rows: (text: string) => ReadonlyArray<string>,
  paint: ReturnType<typeof painter>
): ReadonlyArray<string> => {
  if (findings.length === 0) return rows("health  ok").map((row) => row.replace("ok", paint("green", "ok")))
  const shown = findings.slice(0, maxFindings)
  const more = findings.length - shown.length
  return [
    ...shown.flatMap(({ isBroken, text }, at) =>
      rows(`${at === 0 ? "health  " : " ".repeat(indent)}${Terminal.escape(text).replaceAll("\n", " ")}`).map((row) =>
        paint(isBroken ? "red" : "yellow", row)
      )
    ),
    ...(more > 0 ? rows(`${" ".repeat(indent)}and ${more} more on the run's page`) : [])
  ]
}

const everyMillis = 250
/** Refresh interval without steps, so that a stall is noticed. */
const lookEvery = "10 seconds"

export interface Steps {
  readonly step: (metrics: StepMetrics) => Effect.Effect<void>
}

/** Returns true on a terminal that can show the board. */
export const isShown: Effect.Effect<boolean> = Effect.gen(function* () {
  return (yield* Progress.Presenter) === "bar" && (yield* Terminal.Footer).columns !== undefined
})

/** Live state of a run, in addition to its steps. */
export interface Watched {
  readonly cards: () => ReadonlyArray<Health.Card>
  readonly isInDoubt: () => boolean
  readonly activity: () => Health.Activity.Activity | undefined
}

/** Describes the state of a run; undefined while it runs. */
export const standingOf = (activity: Health.Activity.Activity | undefined): string | undefined =>
  activity === undefined || activity.state === "running" || activity.state === "starting"
    ? undefined
    : activity.state === "done"
      ? "done"
      : `${activity.state} for ${TimeSpan.format(activity.idleSeconds)}`

/** Shows the board on a terminal, occasional lines elsewhere, until the scope closes. */
export const make = Effect.fn("ProgressDisplay.make")(function* (
  options: Pick<State, "done" | "total">,
  { activity, cards, isInDoubt }: Watched
) {
  const footer = yield* Terminal.Footer
  const { columns } = footer
  if (!(yield* isShown) || columns === undefined) {
    const progress = yield* Progress.make({ unit: "steps", ...options })
    const metricLines = ProgressFigures.make(isInDoubt)
    return {
      step: (metrics) => {
        metricLines.add(metrics)
        return progress.update(metrics.step, metricLines.detail)
      }
    } satisfies Steps
  }
  const rewards: Array<number> = []
  let recent: ReadonlyArray<StepMetrics> = []
  let { done } = options
  const colour = Terminal.hasColours()
  const lines = () =>
    render(
      {
        done,
        total: options.total,
        rewards,
        recent,
        findings: cards().map(findingOf),
        isInDoubt: isInDoubt(),
        standing: standingOf(activity()),
        idleSeconds: activity()?.idleSeconds
      },
      { width: Math.max(20, columns() - 1), colour }
    )
  let shownAt = Number.NEGATIVE_INFINITY
  let isOver = false
  const leave = (): void => {
    if (!isOver) footer.leave(lines())
    isOver = true
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => footer.show(lines())),
    // The last state remains visible.
    () => Effect.sync(leave)
  )
  yield* Effect.sync(() => {
    if (!isOver) footer.show(lines())
  }).pipe(Effect.repeat(Schedule.spaced(lookEvery)), Effect.forkScoped)
  return {
    step: Effect.fnUntraced(function* (metrics) {
      rewards.push(metrics.rewardMean)
      recent = [...recent.slice(1 - window), metrics]
      done = metrics.step
      const now = yield* Clock.currentTimeMillis
      // Later output is printed below it.
      if (done >= options.total) return leave()
      if (now - shownAt < everyMillis) return
      shownAt = now
      footer.show(lines())
    })
  } satisfies Steps
})
