/**
 * Records metrics and rollouts of `process` to the sinks in the context, if any: every `min_items_sent_before_logging`
 * groups, with the number of groups as the step, under the names used with a service (without a prefix: there is one
 * source).
 */
import { type Environment, MetricsSink, type ScoredGroup, Tokenizer } from "@atropos/core"
import * as RolloutMetrics from "@atropos/core/rollout/RolloutMetrics"
import * as RolloutTable from "@atropos/core/rollout/RolloutTable"
import { Effect, Exit, Option, type Scope } from "effect"

export interface ProcessMetrics {
  /** Adds the groups of an item, all of which were kept. */
  readonly rolled: (groups: ReadonlyArray<ScoredGroup.ScoredGroup>) => Effect.Effect<void>
}

const none: ProcessMetrics = { rolled: () => Effect.void }

export const make = Effect.fn("ProcessMetrics.make")(function* (
  environment: Environment.EnvironmentShape,
  { before, modelName }: { readonly modelName: string; readonly before: number }
): Effect.fn.Return<ProcessMetrics, never, Scope.Scope> {
  const { encodedSettings, name, settings } = environment
  const sinks = yield* Effect.serviceOption(MetricsSink.MetricsSink)
  if (Option.isNone(sinks)) return none
  const recorder = yield* sinks.value.open({
    kind: "environment",
    name,
    key: settings.wandbName ?? name,
    isResumed: before > 0,
    prefix: "",
    config: { ...encodedSettings, model_name: modelName },
    announced: Effect.succeed({ group: null, project: null })
  })
  const tokenizer = yield* Effect.serviceOption(Tokenizer.Tokenizer)
  const metrics = RolloutMetrics.make(name, environment)
  const table = RolloutTable.of(settings, recorder, tokenizer)
  const every = Math.max(1, settings.minItemsSentBeforeLogging)
  let groups = before
  let unrecorded = 0
  const record = Effect.gen(function* () {
    if (unrecorded === 0) return
    unrecorded = 0
    // Nothing was sent to an API.
    const { "train/items_sent_to_api": _, ...figures } = metrics.take()
    yield* recorder.figures(groups, figures)
    const rows = yield* table.take
    if (Option.isSome(rows)) yield* recorder.table(groups, rows.value)
  })
  yield* Effect.addFinalizer((exit) => Effect.andThen(record, recorder.finish(Exit.asVoid(exit))))
  return {
    rolled: (kept) =>
      Effect.suspend(() => {
        for (const group of kept) {
          metrics.rolledOut(group, settings)
          metrics.kept(group)
          table.add(group)
        }
        groups += kept.length
        unrecorded += kept.length
        return unrecorded >= every ? record : Effect.void
      })
  }
})
