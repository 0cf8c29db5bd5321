/**
 * Evaluates an environment into a folder: `samples.jsonl` (one line per completion, written as they finish), and at the
 * end `metrics.json` in the original's shape with intervals, and `evaluate_config.yaml` without API keys.
 *
 * An unfinished run, or one with failed items, is resumed and its failures retried; after a finished one the next goes
 * to `samples_1.jsonl` and `metrics_1.json`, since the model behind a name may have changed. Rates are means over items
 * with their standard error; items that failed or have no score are excluded and counted.
 */
import { Environment, MetricsSink, RewardComponents, ServerManager, Trace, Trajectory } from "@atropos/core"
import * as GroupFilter from "@atropos/core/rollout/submit/GroupFilter"
import { Effect, FileSystem, Option, Path, Stream } from "effect"
import { createHash } from "node:crypto"
import * as Destination from "../job/Destination.ts"
import * as Job from "../job/Job.ts"
import * as NoSignal from "../job/NoSignal.ts"
import * as ResumableFile from "../job/ResumableFile.ts"
import * as Tally from "../job/Tally.ts"
import * as Progress from "../base/Progress.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as Process from "../process/Process.ts"
import type * as SuiteFigures from "./SuiteFigures.ts"
import * as SuiteResults from "./SuiteResults.ts"

export interface Evaluated extends Job.JobResult {
  readonly folder: string
  readonly samples: string
  readonly modelName: string
  readonly files: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
  /** Items finished by earlier runs that this one resumed. */
  readonly before: number
  readonly metrics: { readonly [name: string]: number }
  /** The metrics including the bounds of their intervals. */
  readonly bounded: { readonly [name: string]: number }
  /** Only for suites. */
  readonly suite?: SuiteFigures.Figures
  /** Describes which answers are correct; absent if the environment does not state it. */
  readonly passing?: string
  /** Why all items have the same score, with likely causes, if they have. */
  readonly noSignal?: string
}

const sampleOf = (
  index: number,
  { id, label }: Pick<Environment.EvaluationWork, "id" | "label">,
  { correct, rewards, sample, score, trajectory }: Environment.EvaluatedTrajectory
) =>
  JSON.stringify({
    item: index,
    label,
    id,
    ...sample,
    score,
    ...(rewards && { rewards }),
    ...(correct !== undefined && { correct }),
    completion: trajectory.completion,
    finish_reason: trajectory.finishReason,
    tokens: trajectory.tokens.length,
    messages: trajectory.messages
  })

/** Metrics under the names used for evaluations during training. */
export const metrics = (tally: Tally.Tally, failed: number): { readonly [name: string]: number } => {
  const rate = Tally.passRate(tally)
  const score = Tally.meanScore(tally)
  return {
    ...(rate && { "eval/percent_correct": rate.value }),
    ...(rate?.stderr !== undefined && { "eval/percent_correct_stderr": rate.stderr }),
    ...(score && { "eval/mean_score": score.value }),
    ...(score?.stderr !== undefined && { "eval/mean_score_stderr": score.stderr }),
    ...Object.fromEntries(Tally.meanRewards(tally).map(([component, mean]) => [`eval/reward/${component}`, mean])),
    ...Object.fromEntries(
      Tally.passAtK(tally).flatMap(([k, { value }]) => (k === 1 ? [] : [[`eval/pass@${k}`, value] as const]))
    ),
    "eval/items": tally.items,
    "eval/failed_items": failed,
    "eval/seconds": tally.millis / 1000
  }
}

const intervals = (tally: Tally.Tally): { readonly [name: string]: readonly [number, number] } => {
  const named = [
    ["eval/percent_correct", Tally.passRate(tally)],
    ["eval/mean_score", Tally.meanScore(tally)],
    ...Tally.passAtK(tally).flatMap(([k, estimate]) => (k === 1 ? [] : [[`eval/pass@${k}`, estimate] as const]))
  ] as const
  return Object.fromEntries(
    named.flatMap(([name, estimate]) =>
      estimate?.interval === undefined ? [] : [[name, [estimate.interval.lower, estimate.interval.upper] as const]]
    )
  )
}

const bounds = (tally: Tally.Tally): { readonly [name: string]: number } =>
  Object.fromEntries(
    Object.entries(intervals(tally)).flatMap(([name, [lower, upper]]) => [
      [`${name}_ci_low`, lower],
      [`${name}_ci_high`, upper]
    ])
  )

export interface EvaluateOptions {
  readonly folder: string
  readonly resume: boolean
  /** Content of `evaluate_config.yaml` in addition to the environment's settings; contains no API keys. */
  readonly config: { readonly [name: string]: unknown }
  /** The suite the environment was created from, if any. */
  readonly suite?: SuiteResults.Told
}

export const run = Effect.fn("Evaluate.run")(function* ({ config, folder: target, resume, suite }: EvaluateOptions) {
  const environment = yield* Environment.Environment
  const servers = yield* ServerManager.ServerManager
  const path = yield* Path.Path
  const { settings } = environment
  if (Option.isNone(environment.evaluation)) {
    return yield* new UsageError({
      message: `the environment ${environment.name} has no evaluation: ${
        "test_items" in environment.encodedSettings
          ? "give it held-out items: heldOut in its file, or --env.test_items FILE (with ten rows or more, a tenth is held out automatically)"
          : "add evaluation: { items, collectTrajectories } to its definition"
      }`
    })
  }
  const items = environment.evaluation.value
  const ids = createHash("sha256")
  const total = yield* items.pipe(
    Stream.tap(({ id }) => Effect.sync(() => void ids.update(`${id}\n`))),
    Stream.runCount,
    Effect.mapError(unreadable)
  )
  const made = {
    ...(yield* Process.madeBy(environment, servers.modelName)),
    "digest of held-out items": ids.digest("hex").slice(0, 16),
    ...(suite !== undefined && { suite: SuiteResults.fingerprint(suite) })
  }
  const destination = yield* Destination.find(path.join(target, "samples.jsonl"), made, { resume })
  const file = yield* ResumableFile.open(destination.path, made, destination.checkpoint)
  const before = Option.match(destination.checkpoint, { onNone: () => 0, onSome: ({ tally }) => tally.items })
  const progress = yield* Progress.make({ unit: "items", total, done: before })

  const isOutside = Environment.outsideClaims(environment)
  const roll = ({ evaluate, id, label }: Environment.EvaluationWork, index: number) =>
    evaluate.pipe(
      Effect.map((results): Job.ItemResult => {
        if (results.length === 0)
          return unscored("no_rollouts", "the evaluation's collectTrajectories returned no trajectories")
        if (!results.every(({ score }) => RewardComponents.isUsable(score)))
          return unscored("not_finite", GroupFilter.reasons.not_finite)
        return {
          lines: results.map((one) => sampleOf(index, { id, label }, one)),
          tally: Tally.ofGroup({
            scores: results.map(({ score }) => score),
            isOutside,
            ...(Option.isSome(environment.solved) && { passes: results.filter(({ correct }) => correct).length }),
            rewards: results.flatMap(({ rewards }) => (rewards === undefined ? [] : [rewards])),
            truncated: results.filter(({ trajectory }) => trajectory.finishReason === "length").length,
            unparsed: unparsedOf(results),
            trainedTokens: results.reduce((sum, { trajectory }) => sum + Trajectory.trainedTokens(trajectory), 0),
            tokens: results.reduce((sum, { trajectory }) => sum + trajectory.tokens.length, 0)
          }),
          counts: true
        }
      }),
      Effect.catchTag("Unscorable", ({ message }) => Effect.succeed(unscored("unscorable", message)))
    )
  const result = yield* Job.run({
    items: (cursor) => Stream.drop(items, cursor),
    label: ({ label }) => label,
    roll,
    workers: settings.maxEvalWorkers,
    timeoutSeconds: settings.workerTimeout,
    target: undefined,
    file,
    from: destination.checkpoint,
    onProgress: (tally) => progress.update(tally.items, detail(tally)),
    isFruitful: ({ scores: [scored] }) => scored > 0
  }).pipe(Effect.withSpan(Trace.roots.evaluation, { root: true, attributes: { "environment.name": environment.name } }))
  if (result.nothing !== undefined) return yield* new CommandFailed({ message: result.nothing })
  const folder = path.dirname(destination.path)
  const figures = metrics(result.tally, result.failures)
  const stem = path.basename(destination.path, ".jsonl").replace(/^samples/, "")
  const suiteReport =
    suite &&
    (yield* SuiteResults.write(suite, { samples: destination.path, environment, modelName: servers.modelName, result }))
  const written = yield* writeResults(folder, stem, {
    config: { ...(suite && { suite: suite.suite }), env: environment.encodedSettings, ...config },
    metrics: {
      config_general: {
        model_name: servers.modelName,
        total_evaluation_time_seconds: String(result.tally.millis / 1000),
        generation_parameters: { max_new_tokens: settings.maxTokenLength }
      },
      results: { [`atropos|${environment.name}_eval|0`]: figures, all: figures },
      intervals_95: intervals(result.tally),
      ...(suiteReport && { suite: suiteReport.figures })
    }
  })
  if (result.failures === 0) yield* file.finish
  const noSignal = NoSignal.ofItems(result.tally, destination.path, environment.encodedSettings)
  const bounded = { ...figures, ...bounds(result.tally) }
  yield* record(environment, servers.modelName, bounded)
  return {
    ...result,
    folder,
    samples: destination.path,
    modelName: servers.modelName,
    files: [path.basename(destination.path), ...written, ...(suiteReport === undefined ? [] : [suiteReport.log])],
    notes: destination.notes,
    before,
    metrics: figures,
    bounded,
    ...(suiteReport && { suite: suiteReport.figures }),
    ...(Option.isSome(environment.solved) && { passing: environment.solved.value.meaning }),
    ...(noSignal !== undefined && { noSignal })
  } satisfies Evaluated
}, Effect.scoped)

/** Records to the metrics sinks in the context, if any. */
const record = Effect.fnUntraced(function* (
  { encodedSettings, name, settings }: Environment.EnvironmentShape,
  modelName: string,
  figures: { readonly [name: string]: number }
) {
  const sinks = yield* Effect.serviceOption(MetricsSink.MetricsSink)
  if (Option.isNone(sinks)) return
  const recorder = yield* sinks.value.open({
    kind: "environment",
    name,
    key: settings.wandbName ?? name,
    isResumed: false,
    prefix: "",
    config: { ...encodedSettings, model_name: modelName },
    announced: Effect.succeed({ group: null, project: null })
  })
  yield* recorder.figures(0, figures)
})

/** Answers that could not be parsed, of those whose details state it. */
const unparsedOf = (results: ReadonlyArray<Environment.EvaluatedTrajectory>): Tally.Share => {
  const parsed = results.flatMap(({ sample }) =>
    sample === undefined || !("parsed" in sample) ? [] : [sample["parsed"]]
  )
  return [parsed.filter((one) => one === null).length, parsed.length]
}

/** The result of an item without a score: no sample is counted. */
const unscored = (reason: string, whyDropped: string): Job.ItemResult => ({
  lines: [],
  tally: { ...Tally.empty, dropped: { [reason]: 1 } },
  counts: true,
  whyDropped
})

const detail = (tally: Tally.Tally): string => {
  const rate = Tally.passRate(tally)
  if (rate !== undefined) return `${(100 * rate.value).toFixed(1)}% correct`
  const score = Tally.meanScore(tally)
  return score === undefined ? "" : `mean score ${score.value.toFixed(3)}`
}

const unreadable = (error: Environment.EnvironmentError) =>
  new CommandFailed({ message: `the evaluation items cannot be read: ${error.message}`, cause: error })

interface Results {
  readonly config: { readonly [name: string]: unknown }
  readonly metrics: unknown
}

const writeResults = Effect.fnUntraced(function* (folder: string, suffix: string, { config, metrics }: Results) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { stringify } = yield* Effect.promise(() => import("yaml"))
  const [figures, settings] = [`metrics${suffix}.json`, `evaluate_config${suffix}.yaml`] as const
  yield* fs.writeFileString(path.join(folder, figures), `${JSON.stringify(metrics, null, 2)}\n`).pipe(
    Effect.andThen(fs.writeFileString(path.join(folder, settings), stringify(config))),
    Effect.mapError(
      (cause) => new CommandFailed({ message: `cannot write the results to ${folder}: ${cause.message}`, cause })
    )
  )
  return [figures, settings]
})
