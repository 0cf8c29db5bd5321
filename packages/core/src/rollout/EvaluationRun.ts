/**
 * Evaluates an environment on its held-out items and saves the results.
 *
 * An item that fails is logged, counted and excluded from the rates; the others continue, unless the environment
 * reports that none can succeed. Results of a step are written to a new folder, never over earlier ones: `metrics.json`
 * in the original's format (atroposlib/envs/base.py, `evaluate_log`) and `samples.jsonl`, one line per completion.
 */
import * as ItemTime from "../definition/ItemTime.ts"
import { Cause, Clock, Effect, FileSystem, Option, Path, type PlatformError, Schema, Stream } from "effect"
import { EnvironmentError, type EnvironmentShape, type EvaluatedTrajectory, isUnusable } from "../Environment.ts"
import * as Evaluation from "../evaluation/Statistics.ts"
import * as Reason from "../base/Reason.ts"
import * as Uuid from "../base/Uuid.ts"
import type { EvaluationRecord } from "../service/EvaluationRecord.ts"
import type { TelemetryClientShape } from "../service/TelemetryClient.ts"
import * as RewardComponents from "../reward/RewardComponents.ts"

export interface EvaluatedItem {
  readonly item: string
  /** Stable: always the same for the same item. */
  readonly id: string
  readonly trajectories: ReadonlyArray<EvaluatedTrajectory>
}

export interface FailedItem {
  readonly item: string
  readonly reason: string
}

export interface Evaluated {
  readonly items: ReadonlyArray<EvaluatedItem>
  readonly failures: ReadonlyArray<FailedItem>
  readonly seconds: number
}

export class EvaluationFileError extends Schema.TaggedError<EvaluationFileError>()("EvaluationFileError", {
  path: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}

/** Failures that are logged each; a model whose prompts are too long fails at hundreds. */
const shownFailures = 5

/**
 * Evaluates all held-out items, at most `max_eval_workers` concurrently; undefined if the environment has no
 * evaluation.
 */
export const evaluate = Effect.fn("EvaluationRun.evaluate")(function* (
  environment: Pick<EnvironmentShape, "name" | "evaluation" | "settings">,
  options: { readonly onItem?: (item: EvaluatedItem | FailedItem) => Effect.Effect<void> } = {}
) {
  if (Option.isNone(environment.evaluation)) return Option.none<Evaluated>()
  const { maxEvalWorkers, workerTimeout } = environment.settings
  const { onItem = () => Effect.void } = options
  let failed = 0
  const late = (cause: Cause.TimeoutError) =>
    new EnvironmentError({ environment: environment.name, message: cause.message, cause })
  const started = yield* Clock.currentTimeMillis
  const results = yield* environment.evaluation.value.pipe(
    Stream.mapEffect(
      ({ evaluate, id, label }) => {
        return evaluate.pipe(
          ItemTime.within(workerTimeout, `took longer than ${workerTimeout} seconds`),
          Effect.mapError((error) => (Cause.isTimeoutError(error) ? late(error) : error)),
          Effect.map((trajectories): EvaluatedItem | FailedItem => ({ item: label, id, trajectories })),
          Effect.catchCause((cause) => {
            const error = Cause.squash(cause)
            if (isUnusable(error)) return Effect.fail(error)
            const failure: EvaluatedItem | FailedItem = { item: label, reason: Reason.ofCause(cause) }
            const log = failed++ < shownFailures ? Effect.logWarning : Effect.logDebug
            return Effect.as(log("evaluation of an item failed", failure), failure)
          }),
          Effect.tap(onItem)
        )
      },
      { concurrency: maxEvalWorkers }
    ),
    Stream.runCollect
  )
  if (failed > shownFailures) {
    yield* Effect.logWarning("evaluations of items failed in total", { failed, items: results.length })
  }
  const evaluated: Evaluated = {
    items: results.filter((result) => "trajectories" in result),
    failures: results.filter((result) => "reason" in result),
    seconds: ((yield* Clock.currentTimeMillis) - started) / 1000
  }
  return Option.some(evaluated)
}) satisfies (...args: never) => Effect.Effect<Option.Option<Evaluated>, EnvironmentError>

/**
 * The metrics of an evaluation: mean scores, and rates if the environment defines what is correct. Rates are means over
 * items of the share of correct completions, with the standard error over items; `eval/pass@k` (k = 2, 4, … up to the
 * samples every item has) is the unbiased estimate. `_ci_low` and `_ci_high` contain the true value with 95%
 * confidence: Wilson's interval for both (`Evaluation.share`) and for scores that all lie between 0 and 1, Student's
 * for other scores. Errors and intervals of scores need two items.
 */
export const metrics = ({ failures, items, seconds }: Evaluated): { readonly [name: string]: number } => {
  const rolledOut = items.filter(({ trajectories }) => trajectories.length > 0)
  const scores = rolledOut.map(({ trajectories }) => Evaluation.mean(trajectories.map(({ score }) => score)))
  const figures: Record<string, number> = {
    "eval/items": items.length,
    "eval/failed_items": failures.length,
    "eval/seconds": seconds
  }
  if (rolledOut.length === 0) return figures
  const temperature = temperatureOf(rolledOut)
  if (temperature !== undefined) figures["eval/temperature"] = temperature
  const estimate = (name: string, value: number, interval: Evaluation.Interval | undefined): void => {
    figures[name] = value
    if (interval === undefined) return
    figures[`${name}_ci_low`] = interval.lower
    figures[`${name}_ci_high`] = interval.upper
  }
  const trialsOf = (k: number) =>
    rolledOut.reduce((sum, { trajectories }) => sum + Math.floor(trajectories.length / k), 0)
  estimate("eval/mean_score", Evaluation.mean(scores), Evaluation.scoreInterval(scores, trialsOf(1)))
  if (scores.length > 1) figures["eval/mean_score_stderr"] = Evaluation.standardError(scores)
  for (const [component, { count, sum }] of RewardComponents.totals(allRewards(rolledOut))) {
    figures[`eval/reward/${component}`] = sum / count
  }
  if (rolledOut.some(({ trajectories }) => trajectories.some(({ correct }) => correct === undefined))) return figures
  const rates = rolledOut.map(({ trajectories }) =>
    Evaluation.mean(trajectories.map(({ correct }) => (correct ? 1 : 0)))
  )
  const correct = Evaluation.share(Evaluation.sharesOf(rates, trialsOf(1)))
  estimate("eval/percent_correct", correct.value, correct.interval)
  if (correct.stderr !== undefined) figures["eval/percent_correct_stderr"] = correct.stderr
  const samples = Math.min(...rolledOut.map(({ trajectories }) => trajectories.length))
  for (let k = 2; k <= samples; k *= 2) {
    const passed = rolledOut.map(({ trajectories }) =>
      Evaluation.passAtK(trajectories.length, trajectories.filter(({ correct }) => correct).length, k)
    )
    const { interval, value } = Evaluation.share(Evaluation.sharesOf(passed, trialsOf(k)))
    estimate(`eval/pass@${k}`, value, interval)
  }
  return figures
}

/** The temperature of all completions, if it is the same and reported by the server. */
const temperatureOf = (items: ReadonlyArray<EvaluatedItem>): number | undefined => {
  const all = new Set(
    items.flatMap(({ trajectories }) => trajectories.map(({ trajectory }) => trajectory.sampling?.temperature))
  )
  return all.size === 1 ? [...all][0] : undefined
}

export const recordOf = (
  evaluated: Evaluated,
  of: Pick<EvaluationRecord, "name" | "model" | "step">
): EvaluationRecord => ({
  ...of,
  key: Uuid.v4(),
  seconds: evaluated.seconds,
  figures: metrics(evaluated),
  samples: evaluated.items.flatMap((item) => item.trajectories.map((one) => sample(item, one)))
})

/**
 * Sends the record to the service, if it stores evaluations. Failures are only logged: metrics go through their sinks,
 * which wait for the service, and samples are in files if requested.
 */
export const sendToService = (
  { telemetry }: TelemetryClientShape,
  record: () => EvaluationRecord
): Effect.Effect<void> =>
  telemetry.pipe(
    Effect.flatMap(
      Option.match({ onNone: () => Effect.void, onSome: ({ recordEvaluation }) => recordEvaluation(record()) })
    ),
    Effect.catch(({ message }) =>
      Effect.logWarning("evaluation samples could not be sent to the service", { reason: message })
    )
  )

const allRewards = (items: ReadonlyArray<EvaluatedItem>): ReadonlyArray<RewardComponents.Rewards> =>
  items.flatMap(({ trajectories }) => trajectories.flatMap(({ rewards }) => (rewards === undefined ? [] : [rewards])))

export interface EvaluationFiles {
  readonly directory: string
  /** The environment's name, also the task's in `metrics.json` (`<name>_eval`). */
  readonly name: string
  readonly step: number
  readonly modelName: string
  readonly maxTokenLength: number
}

/**
 * Writes the results of a step to `<directory>/<name>/step-<step>`, or `…_1`, `…_2` if that exists; returns the folder.
 */
export const save = Effect.fn("EvaluationRun.save")(
  function* (evaluated: Evaluated, options: EvaluationFiles) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const parent = path.join(options.directory, options.name)
    yield* fs.makeDirectory(parent, { recursive: true })
    // Creating the folder claims its name: two instances of one environment may finish simultaneously.
    const claim = (number: number): Effect.Effect<string, PlatformError.PlatformError> => {
      const folder = path.join(parent, `step-${options.step}${number === 0 ? "" : `_${number}`}`)
      return fs.makeDirectory(folder).pipe(
        Effect.as(folder),
        Effect.catchIf(
          ({ reason }) => reason._tag === "AlreadyExists",
          () => claim(number + 1)
        )
      )
    }
    const folder = yield* claim(0)
    yield* write(folder, evaluated, options)
    return folder
  },
  (effect, _, { directory }) =>
    Effect.mapError(
      effect,
      (cause) =>
        new EvaluationFileError({
          path: directory,
          message: `cannot write evaluation results below ${directory}: ${cause.message}`,
          cause
        })
    )
)

const write = Effect.fnUntraced(function* (folder: string, evaluated: Evaluated, options: EvaluationFiles) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const figures = metrics(evaluated)
  const report = {
    config_general: {
      model_name: options.modelName,
      total_evaluation_time_seconds: String(evaluated.seconds),
      generation_parameters: { max_new_tokens: options.maxTokenLength },
      step: options.step
    },
    results: { [`atropos|${options.name}_eval|0`]: figures, all: figures },
    failures: evaluated.failures
  }
  yield* fs.writeFileString(path.join(folder, "metrics.json"), `${JSON.stringify(report, null, 2)}\n`)
  yield* Stream.fromIterable(evaluated.items).pipe(
    Stream.map((item) => item.trajectories.map((one) => `${JSON.stringify(sample(item, one))}\n`).join("")),
    Stream.encodeText,
    Stream.run(fs.sink(path.join(folder, "samples.jsonl")))
  )
})

const sample = (
  { id, item }: Pick<EvaluatedItem, "id" | "item">,
  { correct, rewards, sample, score, trajectory }: EvaluatedTrajectory
): object => ({
  item,
  id,
  ...sample,
  score,
  ...(rewards && { rewards }),
  ...(correct !== undefined && { correct }),
  finish_reason: trajectory.finishReason,
  tokens: trajectory.tokens.length,
  messages: trajectory.messages
})
