/** `atropos process --env …`: writes rollouts to a JSONL file and an HTML page, without a service or a trainer. */
import { Console, Effect } from "effect"
import { Flag } from "effect/cli"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as Summary from "../job/Summary.ts"
import * as Process from "../process/Process.ts"
import * as EnvironmentCommand from "./EnvironmentCommand.ts"
import { Tokenizer } from "@atropos/core"
import * as FaultLog from "../base/FaultLog.ts"

/** `groups.jsonl` has its page in `groups.html`, as in the original. */
const pageOf = (file: string): string => `${file.replace(/\.[^./\\]*$/, "")}.html`

/**
 * Writes the page; returns a line with its path and content, or undefined on failure, which is reported but does not
 * fail the run: the groups are saved.
 */
const writePage = Effect.fn("Process.writePage")(function* (file: string, title: string) {
  const StaticPage = yield* Effect.promise(() => import("../view/StaticPage.ts"))
  const faults = FaultLog.make()
  return yield* StaticPage.write({
    title,
    files: [file],
    out: pageOf(file),
    tokenizer: yield* Effect.serviceOption(Tokenizer.Tokenizer),
    onFault: faults.report,
    onNote: Console.error
  }).pipe(
    Effect.map(StaticPage.summary),
    Effect.catch(({ message }) => Effect.as(Console.error(`HTML page could not be written: ${message}`), undefined))
  )
})

const defaultPath = (environment: string): string => `data/${environment || "groups"}.jsonl`

const testedGroups = 20

export const make = EnvironmentCommand.make({
  name: "process",
  own: {
    resume: Flag.Boolean("resume").pipe(
      Flag.withDescription("continue an unfinished file; --no-resume starts a new one [default: true]"),
      Flag.withDefault(true)
    ),
    html: Flag.Boolean("html").pipe(
      Flag.withDescription("also write the groups as an HTML page next to the file; --no-html: do not [default: true]"),
      Flag.withDefault(true)
    )
  },
  ownBooleans: ["resume", "html"],
  examples: [
    {
      command:
        "atropos process --env arithmetic-stories --env.total_steps 100 --openai.base_url http://localhost:9001/v1",
      description: "write 100 groups to data/arithmetic-stories.jsonl; run again with more steps to continue"
    },
    {
      command: "atropos process --env ./my-env.ts --config my.yaml --env.data_path_to_save_groups out.jsonl",
      description: "your own environment, with settings from a file"
    }
  ],
  ignored: [...EnvironmentCommand.ofServing, "env.max_eval_workers", "env.data_dir_to_save_evals"],
  mode: (environment, isTesting) => ({
    // A quick preview rather than a full run.
    ...(isTesting && { total_steps: testedGroups }),
    ensure_scores_are_not_same: false,
    include_messages: true,
    data_path_to_save_groups: defaultPath(environment)
  }),
  metricsMode: { file: false },
  handle: (settings, { html, resume }, metrics) =>
    Effect.gen(function* () {
      if (settings.common.totalSteps < 1) {
        return yield* new UsageError({
          message: `env.total_steps: process needs a number of groups greater than 0, got ${settings.common.totalSteps}`
        })
      }
      const path = settings.common.dataPathToSaveGroups ?? defaultPath(settings.selected.environment.environmentName)
      const result = yield* Process.run({ path, resume }).pipe(
        Effect.provide(
          Metrics.layerAlone(metrics, {
            folder: `${path.replace(/\.[^./\\]*$/, "")}-metrics`,
            useWandb: { value: settings.common.useWandb, isGiven: "use_wandb" in settings.input }
          })
        )
      )
      const { before, destination, nothing, repairedBytes, tally } = result
      for (const note of destination.notes) yield* Console.error(note)
      if (repairedBytes > 0) {
        yield* Console.error(
          `${destination.path}: ${repairedBytes} bytes after the checkpoint were removed; their items will be rolled out again`
        )
      }
      const { environmentName } = settings.selected.environment
      const page = html && tally.kept > 0 ? yield* writePage(destination.path, environmentName) : undefined
      yield* Console.log(
        Summary.print([
          ["file", nothing === undefined ? destination.path : "none: nothing to write"],
          ...(page === undefined ? [] : [["page", page] as const]),
          ["groups", `${tally.kept} kept${before > 0 ? `, ${before} items from an earlier run` : ""}`],
          ["dropped", Summary.dropped(tally)],
          ...Summary.failures(result),
          ...Summary.figures(tally, result.passing)
        ])
      )
      if (nothing !== undefined) return yield* new CommandFailed({ message: nothing })
      if (result.noSignal !== undefined) yield* Console.error(result.noSignal)
      if (before > 0 && before === tally.items) {
        yield* Console.error(
          "the file is already complete: raise --env.total_steps to continue, or use --no-resume to start a new file"
        )
      }
    }).pipe(Services.provide(settings), Metrics.traced(metrics, "atropos-process"))
})
