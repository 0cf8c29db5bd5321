/** Tracks a run of a service from its metrics, queue and environments, and formats it. */
import type { TrajectoryApi } from "@atropos/core"
import * as Health from "@atropos/core/health/Health"
import * as StepMetrics from "@atropos/trainer/run/StepMetrics"
import * as Terminal from "../base/Terminal.ts"
import { wrap } from "../base/Wrap.ts"
import * as ProgressDisplay from "../train/ProgressDisplay.ts"
import * as ProgressFigures from "../train/ProgressFigures.ts"

/**
 * Reconstructs `StepMetrics` of a trainer's steps from the metrics a service recorded.
 * Defaults for metrics a third-party trainer may not record.
 */
const none = {
  policyVersion: 0,
  updates: 0,
  loss: Number.NaN,
  lr: 0,
  rewardMean: Number.NaN,
  rewardStd: Number.NaN,
  sequences: 0,
  groups: 0,
  constantGroups: 0,
  unusable: 0,
  unknownLogprobs: 0,
  truncatedFraction: 0,
  truncatedMaskedFraction: 0,
  trainedTokens: 0,
  usefulFraction: 0,
  microBatches: 0,
  tokensPerSecond: 0,
  stalenessMean: Number.NaN,
  stalenessMax: 0,
  staleDropped: 0,
  staleMasked: 0,
  versionUnknown: 0,
  stepSeconds: 0,
  waitSeconds: 0,
  prepareSeconds: 0,
  computeSeconds: 0,
  updateSeconds: 0,
  publishSeconds: 0,
  saveSeconds: 0
}

const skippedIn = (values: TrajectoryApi.MetricsRow["values"]): StepMetrics.StepMetrics["skipped"] => {
  if (values[StepMetrics.skippedNames.nonFinite] === 1) return "nonFinite"
  return values[StepMetrics.skippedNames.any] === 1 ? "nothingToTrain" : null
}

/** The step of a trainer's row; undefined for other rows. */
export const stepOf = ({ step, values }: TrajectoryApi.MetricsRow): StepMetrics.StepMetrics | undefined => {
  if (values[StepMetrics.wireNames.rewardMean] === undefined) return undefined
  const metrics = Object.entries(StepMetrics.wireNames).flatMap(([key, name]) => {
    const value = values[name]
    return value === undefined ? [] : [[key, value] as const]
  })
  return { ...none, ...Object.fromEntries(metrics), step, batchId: "", skipped: skippedIn(values) }
}

export interface Poll {
  readonly run: TrajectoryApi.Run
  /** The run's activity, if the service reports it. */
  readonly activity?: TrajectoryApi.RunRow["activity"]
  readonly summary: TrajectoryApi.QueueSummary
  readonly environments: ReadonlyArray<TrajectoryApi.EnvironmentRow>
  /** Rows since the last poll. */
  readonly rows: ReadonlyArray<TrajectoryApi.MetricsRow>
}

export interface State {
  readonly update: (look: Poll) => void
  /** Terminal lines of the given width. */
  readonly lines: (options: { readonly width: number; readonly colour: boolean }) => ReadonlyArray<string>
  readonly line: () => string
}

const window = 10
/** The max length of a sparkline. */
const kept = 1000

const solvedName = "eval/percent_correct"
const componentPrefix = "eval/reward/"

const count = (number: number, noun: string): string =>
  `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`

const boundOf = ({ maxStaleness, startable, underWay }: NonNullable<TrajectoryApi.QueueSummary["bound"]>): string =>
  `${count(underWay, "sequence")} started, ${
    startable > 0 ? `${startable.toLocaleString("en-US")} more may start` : "environments wait for the trainer"
  } (staleness ${maxStaleness})`

const queueOf = ({ summary }: Poll): string =>
  [
    `${count(summary.queuedGroups, "group")} (${count(summary.queuedSequences, "sequence")}) waiting`,
    ...(summary.bufferedGroups > 0 ? [`${summary.bufferedGroups} waiting for a full batch`] : []),
    `${count(summary.leasedBatches, "batch")} with a trainer`,
    ...(summary.formedBatches > 0 ? [`${summary.formedBatches} free`] : []),
    ...(summary.bound == null ? [] : [boundOf(summary.bound)]),
    ...summary.stuck.slice(0, 1).map(({ reason }) => reason)
  ].join(" | ")

const environmentOf = ({ connected, name, report }: TrajectoryApi.EnvironmentRow): string => {
  if (!connected) return `${name} gone`
  if (report === null) return name
  const failed = report.failures > 0 ? `, ${report.failures} failed` : ""
  return `${name} ${Math.round(report.itemsPerMinute)} items/min${failed}`
}

const listed = (name: string, texts: ReadonlyMap<string, string>) =>
  texts.size === 0 ? [] : [[name, [...texts.values()].join(" | ")] as const]

export const make = (): State => {
  const { recorded: reported, see } = Health.recorder()
  const recorded: Health.Recorded = { ...reported, activity: () => last?.activity }
  let rewards: ReadonlyArray<number> = []
  let recent: ReadonlyArray<StepMetrics.StepMetrics> = []
  const solved = new Map<string, string>()
  const measured = new Map<string, string>()
  let last: Poll | undefined

  /** The latest evaluation of a source: the share solved, otherwise the first component or the score. */
  const seeEvaluation = (source: string, step: number, values: { readonly [name: string]: number }): void => {
    const share = values[solvedName]
    if (share !== undefined) return void solved.set(source, `${source} ${(100 * share).toFixed(1)}% (step ${step})`)
    const component = Object.keys(values).find((name) => name.startsWith(componentPrefix))
    const value = values[component ?? "eval/mean_score"]
    const what = component === undefined ? "reward" : component.slice(componentPrefix.length)
    if (value !== undefined) measured.set(source, `${source} mean ${what} ${value.toFixed(3)} (step ${step})`)
  }

  const more = (look: Poll): ReadonlyArray<readonly [name: string, text: string]> => [
    ["queue", queueOf(look)],
    ...(look.environments.length === 0 ? [] : [["envs", look.environments.map(environmentOf).join(" | ")] as const]),
    ...listed("solved", solved),
    ...listed("eval", measured)
  ]

  return {
    update: (look) => {
      last = look
      for (const row of look.rows) {
        see(row.source, row.step, row.values)
        seeEvaluation(row.source, row.step, row.values)
        const step = row.source === "trainer" ? stepOf(row) : undefined
        if (step === undefined) continue
        rewards = [...rewards.slice(1 - kept), step.rewardMean]
        recent = [...recent.slice(1 - window), step]
      }
    },
    lines: ({ colour, width }) => {
      if (last === undefined) return []
      const { run } = last
      const lines = ProgressDisplay.render(
        {
          done: recent.at(-1)?.step ?? run.currentStep,
          total: run.numSteps,
          rewards: rewards.filter(Number.isFinite),
          recent,
          findings: Health.cards(Health.judge(recorded)).map(ProgressDisplay.findingOf),
          isInDoubt: Health.isInDoubt(recorded, "trainer"),
          standing: ProgressDisplay.standingOf(last.activity),
          idleSeconds: last.activity?.idleSeconds
        },
        { width, colour }
      )
      const added = more(last).flatMap(([name, text]) =>
        wrap(
          `${name.padEnd(ProgressDisplay.indent)}${Terminal.escape(text).replaceAll("\n", " ")}`,
          width,
          ProgressDisplay.indent
        )
      )
      return [...lines, ...added]
    },
    line: () => {
      if (last === undefined) return ""
      const { run } = last
      const step = `step ${recent.at(-1)?.step ?? run.currentStep}/${run.numSteps}`
      const figures =
        recent.length === 0 ? [] : [ProgressFigures.detailOf(recent, Health.isInDoubt(recorded, "trainer"))]
      const standing = ProgressDisplay.standingOf(last.activity)
      const findings = Health.cards(Health.judge(recorded)).map((card) => `health ${Health.cardInWords(card)}`)
      return [
        step,
        ...(standing === undefined ? [] : [standing]),
        ...figures,
        ...findings,
        ...more(last).map(([name, text]) => `${name} ${text}`)
      ]
        .join("  ")
        .replaceAll("\n", " ")
    }
  }
}
