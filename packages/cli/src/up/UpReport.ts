/** What `up` says at its end: what the run came to, and the lines that use what was trained. */
import { Docs } from "@atropos/core"
import { Console, Effect } from "effect"
import * as CommandLine from "../base/CommandLine.ts"
import * as UserFile from "../config/UserFile.ts"
import * as Summary from "../job/Summary.ts"
import * as Table from "../base/Table.ts"
import * as Curve from "./Curve.ts"
import type { UpResult } from "./Up.ts"

/** A line for each environment that has held-out items. */
const solvedOf = ({ after, before }: UpResult): ReadonlyArray<readonly [string, string]> =>
  after.map((last, index) => {
    const first = before.find(({ environment }) => environment === last.environment)
    const was = first === undefined ? "" : `${Curve.showSolved(first)} before, `
    const whose = after.length === 1 ? "" : `${last.environment}: `
    const what = last.measure === undefined ? "held-out items solved" : `held-out mean ${last.measure}`
    const isNew = index === 0 || after[index - 1]!.measure !== last.measure
    return [isNew ? what : "", `${whose}${was}${Curve.showSolved(last)} after`]
  })

/** Prints it. */
export const print = Effect.fn("UpReport.print")(function* (result: UpResult) {
  const { after, curve, run, seconds, trained } = result
  // Of the others `evaluate` would only say that there is nothing to evaluate.
  const evaluated = trained.configs.filter(({ environment }) => after.some((one) => one.environment === environment))
  const words = trained.configs.map(({ word }) => word)
  const isOwn = words.some(UserFile.isPath)
  const { rewards, sequences, tokens } = curve
  const best = Curve.best(rewards)
  const window = Curve.windowOf(rewards)
  // The viewer's figure of the same name is the same; all that this process did has its own.
  const took = Summary.time(curve.seconds * 1000)
  const inAll = Summary.time(seconds * 1000)
  const steps =
    run.done === 0
      ? `${trained.step} steps in ${took}; ${inAll} with start and evaluations`
      : `${trained.step} steps in ${took}; ${trained.step - run.done} of them in this session, in ${inAll} with start and evaluations`
  yield* Console.log("")
  yield* Console.log(
    Summary.print([
      ["run", `${run.name}, ${steps}`],
      ...(rewards.length < trained.step
        ? [["", `the figures below cover the last ${rewards.length} steps; there are none for earlier ones`] as const]
        : []),
      [
        "mean reward",
        `${Curve.early(rewards).toFixed(3)} at the start, ${Curve.recent(rewards).toFixed(3)} at the end; best ${best.value.toFixed(3)} at step ${trained.step - rewards.length + best.step}${window === 1 ? "" : ` (means of ${window} steps)`}`
      ],
      ["", Curve.sparkline(rewards)],
      ...solvedOf(result),
      ["trained on", `${sequences.toLocaleString("en-US")} sequences, ${tokens.toLocaleString("en-US")} tokens`],
      ["checkpoints and metrics", run.folder]
    ])
  )
  yield* Console.log(
    [
      "",
      "next:",
      Table.pairs([
        ...(trained.policy === undefined
          ? []
          : [[CommandLine.of(`policy ${trained.policy}`), "serve the trained model over the OpenAI API"] as const]),
        ...(trained.policy === undefined ? [] : evaluated).map(
          ({ config, word }) =>
            [
              CommandLine.of(`evaluate --env ${word} --config ${config}`),
              "evaluate that policy on held-out items (in another shell)"
            ] as const
        ),
        [CommandLine.of("api"), "browse its curves and rollouts, at /ui"],
        ...(words.includes("sort-letters")
          ? [[CommandLine.of("up --env addition"), "train on a harder task"] as const]
          : []),
        ...(isOwn
          ? [[Docs.path("reward-does-not-rise.md"), "what to change if the reward does not rise"] as const]
          : [[CommandLine.of("envs"), "list the environments"] as const]),
        [Docs.path("training.md"), "use your own model and a GPU"],
        ...(isOwn ? [] : [[Docs.path("writing-an-environment.md"), "write your own environment"] as const])
      ]).replace(/^/gm, "  ")
    ].join("\n")
  )
})
