/**
 * The held-out items, asked before and after training: what they came to goes where other figures go, under the
 * environment's own name, and into files where `data_dir_to_save_evals` is set.
 *
 * An item that fails is told, counted and left out; where none is left, that is a failure.
 */
import {
  type Environment,
  MetricsSink,
  SequenceLimit,
  ServerManager,
  TelemetryClient,
  TrainerClient
} from "@atropos/core"
import * as Comparison from "@atropos/core/evaluation/Comparison"
import * as EvaluationRun from "@atropos/core/rollout/EvaluationRun"
import { Console, Effect, Option, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import * as Heartbeat from "../base/Heartbeat.ts"
import { showSolved, type Solved } from "./Curve.ts"

/** Reports how far an evaluation is: its first item at once, then every few seconds, even if no item has ended. */
const progress = Effect.fnUntraced(function* ({ name }: Environment.EnvironmentShape, total: number, step: number) {
  const when = step === 0 ? "before the first step" : `after step ${step}`
  const ended: Array<EvaluationRun.EvaluatedItem> = []
  let done = 0
  const report = yield* Heartbeat.make((seconds) => {
    const soFar = ended.length === 0 ? "" : `, ${showSolved(solvedOf({ items: ended }))} so far`
    return Console.error(`${done}/${total} held-out items of ${name} ${when}, ${seconds} s${soFar}`)
  })
  return (item: EvaluationRun.EvaluatedItem | EvaluationRun.FailedItem) =>
    Effect.suspend(() => {
      done++
      if ("trajectories" in item) ended.push(item)
      return done === 1 && total > 1 ? report : Effect.void
    })
})

/** Asks them all with the present weights; none where the environment has no evaluation. */
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
  const [component] = Object.keys(all[0]?.rewards ?? {})
  return {
    correct: sum(({ rewards, score }) => (component === undefined ? score : (rewards?.[component] ?? 0))),
    items: items.length,
    measure: component ?? "reward"
  }
}

/**
 * Records evaluations: figures with the sinks of the context, or the service; samples with the service. The run has to
 * be registered by then.
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
    // Of its own: while it trains, the environment's rollouts have the files of the name alone.
    key: `${name}-held-out`,
    isResumed,
    prefix: "",
    // Those that its rollouts are recorded with, under the name that they are registered by.
    config: {},
    announced: Effect.orElseSucceed(client.wandbInfo, () => ({ group: null, project: null }))
  })
  return (step: number, evaluated: EvaluationRun.Evaluated) =>
    Effect.andThen(
      figures(step, EvaluationRun.metrics(evaluated)),
      EvaluationRun.tell(telemetry, () => EvaluationRun.recordOf(evaluated, { name, model: modelName, step }))
    )
})
