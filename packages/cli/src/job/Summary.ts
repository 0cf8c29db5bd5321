/** Summarises a finished run as name and value pairs. */
import type { Evaluation, Rollout } from "@atropos/core"
import { time } from "../base/Duration.ts"
import * as Table from "../base/Table.ts"
import type { JobResult } from "./Job.ts"
import * as Tally from "./Tally.ts"

export { time }

type Pair = readonly [name: string, value: string]

const percent = (rate: number): string => `${(100 * rate).toFixed(1)}%`

const count = (value: number): string => value.toLocaleString("en-US")

/** `62.5% (95% interval 48.1% to 75.0%)` */
export const rate = ({ interval, value }: Evaluation.Share): string =>
  `${percent(value)} (95% interval ${percent(interval.lower)} to ${percent(interval.upper)})`

/** A component may have the name of the score, which is the weighted sum of all. */
const meanOf = (component: string): string => (component === "score" ? "mean reward/score" : `mean ${component}`)

/** Scores, pass rate, pass@k, tokens and time of a run; `passing` describes which answers pass, if known. */
export const figures = (tally: Tally.Tally, passing?: string): ReadonlyArray<Pair> => {
  const score = Tally.meanScore(tally)
  const passed = Tally.passRate(tally)
  const seconds = tally.millis / 1000
  return [
    ...(score
      ? [
          [
            "mean score",
            `${score.value.toFixed(4)}${score.stderr === undefined ? "" : ` ± ${score.stderr.toFixed(4)}`}`
          ] as const
        ]
      : []),
    ...(tally.outside[0] === 0
      ? []
      : [
          ["out of range", `${tally.outside.map(count).join(" of ")} scores: correct the score or scoreRange`] as const
        ]),
    ...Tally.meanRewards(tally).map(([component, mean]): Pair => [meanOf(component), mean.toFixed(4)]),
    ...(passed ? [["pass rate", `${rate(passed)}${passing === undefined ? "" : `: ${passing}`}`] as const] : []),
    ...Tally.passAtK(tally).flatMap(([k, estimate]) => (k === 1 ? [] : [[`pass@${k}`, rate(estimate)] as const])),
    ["tokens", `${count(tally.trainedTokens)} generated, ${count(tally.tokens)} in total`],
    ["time", `${time(tally.millis)}${seconds > 0 ? ` (${(tally.items / seconds).toFixed(1)} items/s)` : ""}`]
  ]
}

/** `3 (identical_scores 2, unscorable 1)` */
export const dropped = ({ dropped }: Tally.Tally): string => {
  const all = Object.entries(dropped).sort(([, a], [, b]) => b - a)
  const total = all.reduce((sum, [, one]) => sum + one, 0)
  return total === 0 ? "0" : `${count(total)} (${all.map(([reason, one]) => `${reason} ${count(one)}`).join(", ")})`
}

/** Number of items that failed in this run, with the reasons. */
export const failures = ({ failures, reasons }: JobResult): ReadonlyArray<Pair> =>
  failures === 0 ? [] : [["failed", `${count(failures)}: ${reasons.join("; ")}`]]

const countsOf = (counts: { readonly [name: string]: number | undefined }): string =>
  Object.entries(counts)
    .flatMap(([name, one]) => (one ? [`${name} ${count(one)}`] : []))
    .join(", ") || "none"

export const ofServing = (summary: Rollout.Summary): ReadonlyArray<Pair> => [
  ["environment", summary.environment],
  ["step", String(summary.step)],
  [
    "groups sent",
    `${count(summary.groupsSent)}${summary.duplicates > 0 ? `, ${summary.duplicates} of them before` : ""}`
  ],
  ["dropped", countsOf(summary.dropped)],
  ["items", countsOf(summary.items)],
  ["evaluations", String(summary.evaluations)]
]

export const print = (pairs: ReadonlyArray<Pair>): string => Table.pairs(pairs)
