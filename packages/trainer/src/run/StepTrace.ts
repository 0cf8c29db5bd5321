/**
 * Traces a step: `Trainer.step` starts at the end of the previous step, contains `Trainer.wait` for its batch and the
 * parts of the step, and links to the batch's rollouts. The trace of each rollout gets `Trainer.group`, from the claim
 * to the end of the step, linked to the step.
 */
import { type Batch, Trace } from "@atropos/core"
import { Effect, Exit } from "effect"
import type { StepMetrics } from "./StepMetrics.ts"

/** Nanoseconds since the epoch. */
export interface Times {
  readonly batch: Batch.Batch
  /** End of the previous step. */
  readonly since: bigint
  readonly arrival: bigint
  readonly end: () => bigint
}

export const around = <E, R>(
  { arrival, batch, end: endOf, since }: Times,
  step: Effect.Effect<StepMetrics, E, R>
): Effect.Effect<StepMetrics, E, R> =>
  Effect.gen(function* () {
    const producers = batch.groups.flatMap(({ traceparent }) => Trace.parse(traceparent) ?? [])
    const root = yield* Trace.begin({
      name: Trace.roots.step,
      startTime: since,
      links: producers,
      attributes: { "batch.id": batch.id, "batch.step": batch.step, "batch.groups": batch.groups.length }
    })
    if (root === undefined) return yield* step
    const waiting = yield* Trace.begin({ name: "Trainer.wait", startTime: since, parent: root })
    waiting?.end(arrival, Exit.void)
    const claimed = batch.claimedAt === undefined ? arrival : BigInt(batch.claimedAt) * 1_000_000n
    const consumers = yield* Effect.forEach(producers, (parent) =>
      Trace.begin({
        name: "Trainer.group",
        startTime: claimed,
        parent,
        kind: "consumer",
        links: [root],
        attributes: { "batch.id": batch.id, "batch.step": batch.step }
      })
    )
    return yield* Effect.withParentSpan(step, root).pipe(
      Effect.tap((metrics) =>
        Effect.sync(() => {
          root.attribute("batch.sequences", metrics.sequences)
          root.attribute("trainer.step", metrics.step)
          root.attribute("trainer.tokens", metrics.trainedTokens)
          root.attribute("trainer.skipped", metrics.skipped ?? "no")
        })
      ),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          const end = endOf()
          for (const span of consumers) span?.end(end, exit)
          root.end(end, exit)
        })
      )
    )
  })
