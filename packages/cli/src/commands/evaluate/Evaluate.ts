/**
 * `atropos evaluate`: evaluates a standard suite (`--suite`) or an environment (`--env`), with per-sample results. With
 * `--from FILE`: summarises the rewards in recorded sessions and other saved groups. The subcommands `diff` and
 * `suites` are in separate files.
 */
import type { MetricsSettings } from "@atropos/core"
import { Console, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import packageJson from "../../../package.json" with { type: "json" }
import { CommandFailed, UsageError } from "../../base/Failure.ts"
import * as Metrics from "../../config/Metrics.ts"
import * as RunSettings from "../../config/RunSettings.ts"
import * as Services from "../../config/Services.ts"
import * as Suites from "../../config/Suites.ts"
import * as Words from "../../config/Words.ts"
import * as Evaluate from "../../evaluate/Evaluate.ts"
import * as SavedScores from "../../evaluate/SavedScores.ts"
import type * as SuiteResults from "../../evaluate/SuiteResults.ts"
import * as ToService from "../../evaluate/ToService.ts"
import * as SuiteTable from "../../evaluate/SuiteTable.ts"
import * as Summary from "../../job/Summary.ts"
import * as Table from "../../base/Table.ts"
import * as EnvironmentCommand from "../EnvironmentCommand.ts"
import * as EvaluateDiff from "./EvaluateDiff.ts"
import * as EvaluationTarget from "./EvaluationTarget.ts"
import * as EvaluateSuites from "./EvaluateSuites.ts"
import type { MakeCommand } from "../CliCommand.ts"

const name: string = "evaluate"

const from = Flag.String("from").pipe(
  Flag.withDescription(
    "instead of evaluating an environment: summarize the rewards in a file of recorded sessions or saved groups; repeat for several"
  ),
  Flag.withMetavar("file.jsonl"),
  Flag.atLeast(0)
)

const figureRow = (metric: string, { highest, lowest, mean, stderr }: SavedScores.Figure) => [
  metric,
  mean.toFixed(4),
  stderr?.toFixed(4) ?? "",
  `${lowest} to ${highest}`
]

/** Prints a summary of the files, and writes it as JSON if requested. */
const ofFiles = Effect.fn("evaluate.ofFiles")(function* (files: ReadonlyArray<string>, out: Option.Option<string>) {
  const fs = yield* FileSystem.FileSystem
  const found = yield* SavedScores.read(files)
  if (found.sessions + found.unscored === 0) {
    return yield* new CommandFailed({ message: `${files.join(", ")}: no sessions or groups` })
  }
  if (Option.isSome(out)) {
    yield* fs
      .writeFileString(out.value, `${JSON.stringify({ from: files, ...found }, null, 2)}\n`)
      .pipe(
        Effect.mapError((cause) => new CommandFailed({ message: `cannot write ${out.value}: ${cause.message}`, cause }))
      )
  }
  if (found.score !== undefined) {
    const rows = Object.entries(found.rewards).map(([component, figure]) => figureRow(`component ${component}`, figure))
    yield* Console.log(
      Table.columns(["metric", "mean", "± stderr", "range of means"], [figureRow("score", found.score), ...rows])
    )
    yield* Console.log("")
  }
  yield* Console.log(
    Summary.print([
      ["with a score", `${found.sessions} (${found.sequences} sequences)`],
      ...(found.unscored > 0 ? [["without a reward", `${found.unscored}, not in the means`] as const] : []),
      ...(Option.isSome(out) ? [["results", out.value] as const] : [])
    ])
  )
})

const makeOfFiles: MakeCommand = (words) =>
  Effect.succeed({
    command: Command.make(
      name,
      {
        from,
        out: Flag.String("out").pipe(
          Flag.withDescription("write the metrics to this file, as JSON"),
          Flag.withMetavar("file.json"),
          Flag.optional
        ),
        env: Flag.String("env").pipe(Flag.withHidden, Flag.optional)
      },
      (flags) =>
        Words.argValue(words, "env") === undefined
          ? ofFiles(flags.from, flags.out)
          : Effect.fail(
              new UsageError({
                message:
                  "--from and --env cannot be combined: recorded sessions have no items to score; their reported rewards are used"
              })
            )
    ).pipe(
      Command.withExamples([
        {
          command: "atropos evaluate --from sessions.jsonl --from sessions.unscored.jsonl",
          description: "reported rewards of production traffic"
        }
      ])
    )
  })

const resume = Flag.Boolean("resume").pipe(
  Flag.withDescription("resume an interrupted evaluation; --no-resume starts over [default: true]"),
  Flag.withDefault(true)
)

/** Settings for serving and training that evaluations ignore. */
const ignored: ReadonlyArray<string> = [
  ...EnvironmentCommand.ofServing,
  ...[
    "total_steps",
    "data_path_to_save_groups",
    "ensure_scores_are_not_same",
    "include_messages",
    "max_num_workers",
    "max_num_workers_per_node",
    "min_items_sent_before_logging",
    "num_rollouts_per_group_for_logging",
    "num_rollouts_to_keep"
  ].map((name) => `env.${name}`)
]

/** Runs the evaluation and prints the location of the results. */
const evaluate = Effect.fn("evaluate.run")(function* (
  settings: RunSettings.RunSettings,
  resume: boolean,
  metrics: MetricsSettings.MetricsSettings,
  target: Option.Option<ToService.Target>,
  suite?: SuiteResults.Told
) {
  const name = settings.selected.environment.environmentName
  const folder = settings.common.dataDirToSaveEvals ?? `data/${name}-evaluation`
  // Like the original, `evaluate` starts a Weights & Biases run only if requested explicitly.
  const sinks = Metrics.layerAlone(metrics, { folder, useWandb: { value: false, isGiven: false } })
  const result = yield* Evaluate.run({
    folder,
    resume,
    ...(suite && { suite }),
    config: {
      openai: [settings.servers].flat().map(RunSettings.withoutKey),
      slurm: settings.manager.slurm,
      testing: settings.manager.testing
    }
  }).pipe(Effect.provide(sinks))
  for (const note of result.notes) yield* Console.error(note)
  if (result.suite === undefined) {
    const rows = Object.entries(result.metrics).flatMap(([metric, value]) => {
      if (metric.endsWith("_stderr")) return []
      const stderr = result.metrics[`${metric}_stderr`]
      const arrow = /correct|acc|pass@/.test(metric) ? "↑" : ""
      const text = Number.isInteger(value) ? String(value) : value.toFixed(4)
      return [[metric.replace("eval/", "").replaceAll("_", " "), arrow, text, stderr?.toFixed(4) ?? ""]]
    })
    yield* Console.log(Table.columns(["metric", "", "value", "± stderr"], rows))
  } else yield* Console.log(SuiteTable.print(result.suite))
  yield* Console.log("")
  yield* Console.log(
    Summary.print([
      ["results", `${result.folder} (${result.files.join(", ")})`],
      ...(result.before > 0 ? [["earlier", `${result.before} items`] as const] : []),
      ...Summary.failures(result),
      ...(result.failures > 0 ? [["to retry", "run the same command again"] as const] : []),
      ...Summary.figures(result.tally, result.passing)
    ])
  )
  if (result.noSignal !== undefined) yield* Console.error(result.noSignal)
  if (Option.isNone(target)) return
  const address = yield* ToService.send(target.value, {
    name,
    model: result.modelName,
    seconds: result.tally.millis / 1000,
    figures: result.bounded,
    file: result.samples
  })
  yield* Console.log(`samples: ${address}`)
})

const ownFolder = (environment: string) => ({ data_dir_to_save_evals: `data/${environment}-evaluation` })

const makeOfEnvironment = EnvironmentCommand.make({
  name,
  own: {
    resume,
    ...EvaluationTarget.flags,
    from,
    suite: Flag.String("suite").pipe(
      Flag.withDescription(
        "instead of an environment: a standard benchmark by name (atropos evaluate suites), or your own YAML file; --help-all lists its flags"
      ),
      Flag.withMetavar("name|file"),
      Flag.optional
    )
  },
  ownBooleans: ["resume"],
  examples: [
    {
      command: "atropos evaluate --suite mmlu --openai.base_url http://localhost:9001/v1 --openai.model_name my-model",
      description: "MMLU by category, to data/mmlu-evaluation; `atropos evaluate suites` lists all"
    },
    {
      command: "atropos evaluate diff data/before data/after",
      description: "compare two evaluations by item: fixed, regressed, and significance"
    },
    {
      command: "atropos evaluate --env gsm8k --openai.base_url http://localhost:9001/v1 --openai.model_name my-model",
      description: "results to data/gsm8k-evaluation: samples.jsonl, metrics.json, evaluate_config.yaml"
    },
    { command: "atropos evaluate --from sessions.jsonl", description: "the rewards of recorded sessions" }
  ],
  ignored,
  mode: ownFolder,
  metricsMode: { file: false },
  handle: (settings, { resume, ...flags }, metrics) =>
    evaluate(settings, resume, metrics, EvaluationTarget.of(flags)).pipe(
      Services.provide(settings, "evaluation"),
      Metrics.traced(metrics, "atropos-evaluate")
    )
})

const makeOfSuite =
  (word: string): MakeCommand =>
  (words) =>
    Effect.gen(function* () {
      for (const other of ["env", "from"]) {
        if (Words.argValue(words, other) === undefined) continue
        return yield* new UsageError({
          message: `--suite and --${other} cannot be combined: a suite defines its items`
        })
      }
      const { suite } = yield* Suites.choose(word)
      const suiteInfo = { suite, version: packageJson.version }
      return yield* EnvironmentCommand.make({
        name,
        own: {
          resume,
          ...EvaluationTarget.flags,
          suite: Flag.String("suite").pipe(Flag.withDescription("the evaluation"), Flag.withMetavar("name|file"))
        },
        ownBooleans: ["resume"],
        examples: [
          {
            command: `atropos evaluate --suite ${word} --data rows.jsonl --limit 100 --openai.base_url http://localhost:9001/v1`,
            description: "100 rows of a local file"
          }
        ],
        ignored,
        mode: ownFolder,
        metricsMode: { file: false },
        named: () => Effect.succeed({ word, selected: Suites.asChosen(suite) }),
        aliases: { data: "data", limit: "limit", samples: "samples", shots: "shots" },
        handle: (settings, { resume, ...flags }, metrics) =>
          evaluate(settings, resume, metrics, EvaluationTarget.of(flags), suiteInfo).pipe(
            Services.provide(settings, "evaluation"),
            Metrics.traced(metrics, "atropos-evaluate")
          )
      })(words)
    })

const wordAfter = (words: ReadonlyArray<string>): string | undefined => words[words.indexOf(name) + 1]

export const make: MakeCommand = (words) => {
  const after = wordAfter(words)
  if (after === "diff") return Effect.succeed({ command: EvaluateDiff.command, booleans: new Set(["json"]) })
  if (after === "suites") return Effect.succeed({ command: EvaluateSuites.command, booleans: new Set(["json"]) })
  const suite = Words.argValue(words, "suite")
  if (suite !== undefined) return makeOfSuite(suite)(words)
  return Words.argValue(words, "from") === undefined ? makeOfEnvironment(words) : makeOfFiles(words)
}
