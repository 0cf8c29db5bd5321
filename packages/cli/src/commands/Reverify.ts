/**
 * `atropos reverify FILE --env NAME`: re-scores stored rollouts with the current environment and reports the changes.
 * Exits with 1 if a score changed or a rollout could not be scored; with `--write`, which saves the changes, only in
 * the latter case.
 */
import { ServerSettings, Settings } from "@atropos/core"
import { Console, Effect, Option } from "effect"
import { Argument, Flag } from "effect/cli"
import { pathToFileURL } from "node:url"
import * as FaultLog from "../base/FaultLog.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as Services from "../config/Services.ts"
import * as Summary from "../job/Summary.ts"
import * as Page from "../reverify/Page.ts"
import * as Items from "../reverify/Items.ts"
import * as Report from "../reverify/Report.ts"
import * as Reverify from "../reverify/Reverify.ts"
import * as Browser from "../view/Browser.ts"
import * as EnvironmentCommand from "./EnvironmentCommand.ts"

const positive = (name: string, value: number): Effect.Effect<void, UsageError> =>
  value > 0 ? Effect.void : Effect.fail(new UsageError({ message: `--${name} ${value}: expected a number above 0` }))

export const make = EnvironmentCommand.make({
  name: "reverify",
  own: {
    file: Argument.String("file.jsonl").pipe(
      Argument.withDescription("saved groups, or the samples of an evaluation (samples.jsonl)")
    ),
    write: Flag.String("write").pipe(
      Flag.withDescription("write the file with the new scores, otherwise unchanged"),
      Flag.withMetavar("file.jsonl"),
      Flag.optional
    ),
    page: Flag.String("page").pipe(
      Flag.withDescription("write an HTML page of the viewer: old and new scores, largest changes first"),
      Flag.withMetavar("file.html"),
      Flag.optional
    ),
    open: Flag.Boolean("open").pipe(Flag.withDescription("open that page in a browser"), Flag.withDefault(false)),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("print a line of JSON per rollout that changed or could not be scored, and a summary"),
      Flag.withDefault(false)
    ),
    show: Flag.Int("show").pipe(
      Flag.withDescription("max changes to print; others are counted only [default: 20]"),
      Flag.withDefault(20)
    ),
    items: Flag.Int("items").pipe(
      Flag.withDescription("max items of the environment to search for those of the file [default: 100000]"),
      Flag.withDefault(100_000)
    ),
    workers: Flag.Int("workers").pipe(
      Flag.withDescription("groups to score concurrently [default: 8]"),
      Flag.withDefault(8)
    )
  },
  ownBooleans: ["json", "open"],
  examples: [
    {
      command: "atropos reverify data/groups.jsonl --env gsm8k",
      description: "re-score last week's rollouts with the current grader"
    },
    {
      command: "atropos reverify groups.jsonl --env ./my-env.ts --write corrected.jsonl",
      description: "a file with the new scores, for training or data sets"
    },
    {
      command: "atropos reverify groups.jsonl --env gsm8k --page again.html --open",
      description: "the same in the viewer: every rollout with its old and new score"
    }
  ],
  // No policy is sampled, nothing is submitted or measured.
  unlisted: [
    "openai.",
    "metrics.",
    ...Object.keys(ServerSettings.managerFields).map(Settings.wireName),
    ...Array.from(EnvironmentCommand.everyEnvironments).filter(
      (flag) => !["env.reward_weights", "env.worker_timeout", "env.max_token_length"].includes(flag)
    )
  ],
  handle: (settings, { file, items, json, open, page, show, workers, write }) =>
    Effect.gen(function* () {
      yield* positive("items", items)
      yield* positive("workers", workers)
      if (open && Option.isNone(page)) {
        return yield* new UsageError({ message: "--open needs --page file.html, the page to open" })
      }
      const listener = Items.promptCapture()
      const faults = FaultLog.make()
      const report = Report.make({ json, show })
      const savedPage = Page.make()
      const result = yield* Reverify.run(
        {
          file,
          write,
          items,
          workers,
          onOutcome: (outcome) =>
            Effect.andThen(
              Effect.sync(() => savedPage.take(outcome)),
              report.take(outcome)
            ),
          onFault: faults.report
        },
        listener
      ).pipe(Services.provide(settings, listener.script), Effect.ensuring(faults.end))
      const { changed, same, unscored } = report.counts()
      if (json)
        yield* Console.log(JSON.stringify({ ...report.figures(), items: result.items, by_question: result.byQuestion }))
      else yield* Console.log(`\n${Summary.print(report.pairs(result))}`)
      if (result.withoutTokens > 0) {
        yield* Console.error(`${result.withoutTokens} of them have no tokens, so length-based scores see none`)
      }
      if (changed + same + unscored === 0) {
        return yield* new CommandFailed({ message: `${file} has no groups to score` })
      }
      if (Option.isSome(page)) {
        const { environment } = result
        const summary = yield* savedPage.write({ file, out: page.value, environment, same })
        yield* json ? Console.error(summary) : Console.log(`page: ${summary}`)
        if (open) yield* Browser.open(pathToFileURL(page.value).href)
      }
      if (Option.isSome(write) && !json) yield* Console.log(`written: ${write.value}`)
      if (unscored > 0) {
        return yield* new CommandFailed({
          message: `${unscored} of ${changed + same + unscored} could not be scored${Option.isSome(write) ? "; these are unchanged" : ""}`
        })
      }
      if (changed > 0 && Option.isNone(write)) {
        return yield* new CommandFailed({ message: `${changed} of ${changed + same} changed` })
      }
    })
})
