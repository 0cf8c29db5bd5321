/** Periodic work (every second) while an environment runs: saves its state and updates its gauges. */
import { Effect } from "effect"
import type { Outbox } from "./Outbox.ts"
import type { Session } from "./Session.ts"
import type { Load } from "./submit/Reports.ts"

export interface Heartbeat {
  /** Saves the state if it has changed; never fails. */
  readonly save: Effect.Effect<void>
  readonly publish: Effect.Effect<void>
  readonly run: Effect.Effect<never>
}

const interval = "1 second"

export const make = (
  { metrics, progress }: Session,
  { checkDuplicates }: Pick<Outbox, "checkDuplicates">,
  load: Load,
  step: () => number
): Heartbeat => {
  const save = progress.saver(step)
  const publish = Effect.suspend(() => metrics.publish({ running: load.running(), unsent: load.unsent() }))
  return {
    save,
    publish,
    run: Effect.gen(function* () {
      for (;;) {
        yield* Effect.sleep(interval)
        yield* save
        yield* publish
        yield* checkDuplicates
      }
    })
  }
}
