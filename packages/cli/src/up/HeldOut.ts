/**
 * Evaluates the held-out items before and after training: results go to the metrics sinks under the environment's own
 * name, and to files if `data_dir_to_save_evals` is set. A failed item is reported, counted and excluded; if all fail,
 * the evaluation fails.
 */
import {
  type Environment,
  MetricsSink,
  SequenceLimit,
  ServerManager,
  TelemetryClient,
  TrainerClient
} from "@atropos/core"
import * as TimeSpan from "@atropos/core/base/TimeSpan"
import * as Comparison from "@atropos/core/evaluation/Comparison"
import * as EvaluationRun from "@atropos/core/rollout/EvaluationRun"
import { Console, Effect, Option, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import * as Heartbeat from "../base/Heartbeat.ts"
import { showSolved, type Solved } from "./Curve.ts"

/**
 * Reports the progress of an evaluation: its first item immediately, then every few seconds, even if no item has
 * finished.
 */
const progress = Effect.fnUntraced(function* ({ name }: Environment.EnvironmentShape, total: number, step: number) {
  const when = step === 0 ? "before the first step" : `after step ${step}`
  const ended: Array<EvaluationRun.EvaluatedItem> = []
  let done = 0
  const report = yield* Heartbeat.make((seconds) => {
    const soFar = ended.length === 0 ? "" : `, ${showSolved(solvedOf({ items: ended }))} so far`
    return Console.error(`${done}/${total} held-out items of ${name} ${when}, ${TimeSpan.format(seconds)}${soFar}`)
  })
  return (item: EvaluationRun.EvaluatedItem | EvaluationRun.FailedItem) =>
    Effect.suspend(() => {
      done++
      if ("trajectories" in item) ended.push(item)
      return done === 1 && total > 1 ? report : Effect.void
    })
})

/** Evaluates all items with the current weights; none if the environment has no evaluation. */
export const ask = Effect.fn("HeldOut.ask")(function* (
  environment: Environment.EnvironmentShape,
  { seqLen, step }: { readonly seqLen: number; readonly step: number }
) {
  const total = yield* Option.match(environment.evaluation, {
    onNone: () => Effect.succeed(0),
    onSome: (items) => Stream.runCount(items)
  })
  const evaluated = yield* Effect.scoped(
    Effect.flatMap(progress(environment, total, step), (onItem) =>
      SequenceLimit.within(seqLen)(EvaluationRun.evaluate(environment, { onItem }))
    )
  )
  if (Option.isNone(evaluated)) return evaluated
  const { failures, items } = evaluated.value
  const [failed] = failures
  if (items.length === 0 && failed !== undefined) {
    return yield* new CommandFailed({
      message: `none of the ${failures.length} held-out items could be evaluated; the first, ${failed.item}: ${failed.reason}`
    })
  }
  const { dataDirToSaveEvals: directory, maxTokenLength } = environment.settings
  if (directory !== null) {
    const { modelName } = yield* ServerManager.ServerManager
    yield* EvaluationRun.save(evaluated.value, { directory, name: environment.name, step, modelName, maxTokenLength })
  }
  return evaluated
})

export const solvedOf = ({ items }: Pick<EvaluationRun.Evaluated, "items">): Solved => {
  const all = items.flatMap(({ trajectories }) => trajectories)
  const sum = (of: (one: (typeof all)[number]) => number) =>
    items.reduce(
      (total, { trajectories }) =>
        total + trajectories.reduce((part, one) => part + of(one), 0) / Math.max(1, trajectories.length),
      0
    )
  if (Comparison.isJudged(all)) return { correct: sum(({ correct }) => Number(correct)), items: items.length }
  return { correct: sum(({ score }) => score), items: items.length, measure: "reward" }
}

/** How the answers were sampled: "greedy", "temperature 0.6"; undefined if that is unknown, or differs. */
export const sampledOf = ({ items }: Pick<EvaluationRun.Evaluated, "items">): string | undefined => {
  const [temperature, ...others] = new Set(
    items.flatMap(({ trajectories }) => trajectories.map(({ trajectory: { sampling } }) => sampling?.temperature))
  )
  if (temperature === undefined || others.length > 0) return undefined
  return temperature === 0 ? "greedy" : `temperature ${temperature}`
}

/**
 * Records evaluations: metrics to the sinks in the context, or the service; samples to the service. The run must be
 * registered by then.
 */
export const recorder = Effect.fn("HeldOut.recorder")(function* (
  { name }: Environment.EnvironmentShape,
  { isResumed }: { readonly isResumed: boolean }
) {
  const client = yield* TrainerClient.TrainerClient
  const telemetry = yield* TelemetryClient.TelemetryClient
  const { modelName } = yield* ServerManager.ServerManager
  const { open } = yield* MetricsSink.orService(telemetry)
  const { figures } = yield* open({
    kind: "environment",
    name,
    // A separate key: during training the files of the plain name belong to the environment's rollouts.
    key: `${name}-held-out`,
    isResumed,
    prefix: "",
    // The group and project its rollouts are recorded with, under the registered name.
    config: {},
    announced: Effect.orElseSucceed(client.wandbInfo, () => ({ group: null, project: null }))
  })
  return (step: number, evaluated: EvaluationRun.Evaluated) =>
    Effect.andThen(
      figures(step, EvaluationRun.metrics(evaluated)),
      EvaluationRun.sendToService(telemetry, () => EvaluationRun.recordOf(evaluated, { name, model: modelName, step }))
    )
})
