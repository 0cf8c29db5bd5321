/** Prints the final report of `up`: the results of the run, and commands to use the trained policy. */
import { Docs } from "@atropos/core"
import { Console, Effect } from "effect"
import * as CommandLine from "../base/CommandLine.ts"
import * as UserFile from "../config/UserFile.ts"
import * as Summary from "../job/Summary.ts"
import * as HealthLines from "../train/HealthLines.ts"
import * as Table from "../base/Table.ts"
import * as Curve from "./Curve.ts"
import type { UpResult } from "./Up.ts"

/** A line for each environment with held-out items. */
const solvedOf = ({ after, before, isInDoubt }: UpResult): ReadonlyArray<readonly [string, string]> =>
  after.map((last, index) => {
    const first = before.find(({ environment }) => environment === last.environment)
    const was = first === undefined ? "" : `${Curve.showSolved(first)} before, `
    const whose = after.length === 1 ? "" : `${last.environment}: `
    const solved = isInDoubt ? "held-out items scored as solved" : "held-out items solved"
    const what = last.measure === undefined ? solved : `held-out mean ${last.measure}`
    const isNew = index === 0 || after[index - 1]!.measure !== last.measure
    return [isNew ? what : "", `${whose}${was}${Curve.showSolved(last)} after`]
  })

export interface Ran {
  /** The command that starts a policy server with the result, if any. */
  readonly policy: string | undefined
  readonly words: ReadonlyArray<string>
  /** Environments with held-out items, and the files with their settings. */
  readonly evaluated: ReadonlyArray<{ readonly config: string; readonly word: string }>
  readonly isSupervised: boolean
  readonly hasFindings: boolean
  readonly hasLearned: boolean
}

/** Suggested commands that apply to this run, with their purpose. */
export const next = ({
  evaluated,
  hasFindings,
  hasLearned,
  isSupervised,
  policy,
  words
}: Ran): ReadonlyArray<readonly [line: string, what: string]> => {
  const isOwn = words.some(UserFile.isPath)
  return [
    ...(policy === undefined
      ? []
      : [[CommandLine.of(`policy ${policy}`), "serve the trained model over the OpenAI API"] as const]),
    ...(policy === undefined || !isSupervised
      ? []
      : [[CommandLine.of(`merge merged ${policy}`), "write one model, to train it further with rewards"] as const]),
    ...(policy === undefined ? [] : evaluated).map(
      ({ config, word }) =>
        [
          CommandLine.of(`evaluate --env ${word} --config ${config}`),
          "evaluate that policy on held-out items (in another shell)"
        ] as const
    ),
    [CommandLine.of("api"), "browse its curves and rollouts, at /ui"],
    ...(words.includes("sort-letters") && !hasFindings && hasLearned
      ? [[CommandLine.of("up --env addition"), "train on a harder task"] as const]
      : []),
    ...(hasFindings ? [[Docs.path("troubleshooting.md"), "what the findings mean, and what to do"] as const] : []),
    ...(isOwn
      ? [[Docs.path("reward-does-not-rise.md"), "what to change if the reward does not rise"] as const]
      : [[CommandLine.of("envs"), "list the environments"] as const]),
    [Docs.path("training.md"), "use your own model and a GPU"],
    ...(isOwn ? [] : [[Docs.path("writing-an-environment.md"), "write your own environment"] as const])
  ]
}

/** The loss of supervised steps, whose rewards are those of the data; otherwise the reward. */
export const figureOf = (
  { losses, rewards }: Pick<Curve.Curve, "losses" | "rewards">,
  step: number
): ReadonlyArray<readonly [string, string]> => {
  const known = losses.flatMap((loss) => loss ?? [])
  const isSupervised = known.length > 0
  const values = isSupervised ? known : rewards
  const window = Curve.windowOf(values)
  const means = window === 1 ? "" : ` (means of ${window} steps)`
  const best = Curve.best(rewards)
  const top = isSupervised ? "" : `; best ${best.value.toFixed(3)} at step ${step - rewards.length + best.step}`
  return [
    [isSupervised ? "loss" : "mean reward", `${Curve.startAndEnd(values)}${top}${means}`],
    ["", Curve.sparkline(values)]
  ]
}

export const print = Effect.fn("UpReport.print")(function* (result: UpResult) {
  const { after, cards, curve, run, seconds, trained } = result
  // `evaluate` has nothing to evaluate for the others.
  const evaluated = trained.configs.filter(({ environment }) => after.some((one) => one.environment === environment))
  const words = trained.configs.map(({ word }) => word)
  const { losses, rewards, sequences, tokens } = curve
  // Matches the viewer's metric of the same name; the total time of this process is separate.
  const took = Summary.time(curve.seconds * 1000)
  const inAll = Summary.time(seconds * 1000)
  const steps =
    run.done === 0
      ? `${trained.step} steps in ${took}; ${inAll} including start and evaluations`
      : `${trained.step} steps in ${took}; ${trained.step - run.done} of them in this session, in ${inAll} including start and evaluations`
  yield* Console.log("")
  yield* Console.log(
    Summary.print([
      ["run", `${run.name}, ${steps}`],
      ...(rewards.length < trained.step
        ? [["", `the figures below cover only the last ${rewards.length} steps`] as const]
        : []),
      ...figureOf(curve, trained.step),
      ...solvedOf(result),
      ...HealthLines.of(cards),
      ["trained on", `${sequences.toLocaleString("en-US")} sequences, ${tokens.toLocaleString("en-US")} tokens`],
      ["checkpoints and metrics", run.folder]
    ])
  )
  yield* Console.log(
    [
      "",
      "next:",
      Table.pairs(
        next({
          policy: trained.policy,
          words,
          evaluated,
          isSupervised: losses.some((loss) => loss !== undefined),
          hasFindings: cards.length > 0,
          hasLearned: Curve.recent(rewards) > Curve.early(rewards)
        })
      ).replace(/^/gm, "  ")
    ].join("\n")
  )
})
