/**
 * Times the parts of a step, in seconds and as spans `Trainer.<part>`. Each part begins where the previous one ended,
 * so that the parts add up to the whole step.
 */
import { Trace } from "@atropos/core"
import { Clock, Context, Effect } from "effect"

/** Is called with the name of each part as it begins. */
export const OnPart = Context.Reference<(part: string) => void>("@atropos/trainer/run/StepClock/OnPart", {
  defaultValue: () => () => {}
})

export interface StepClock {
  /** Runs an effect as a part; returns the seconds since the previous part ended, with the result. */
  readonly part: <A, E, R>(
    name: string,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<readonly [seconds: number, A], E, R>
  /** End of the last part, nanoseconds since the epoch. */
  readonly end: () => bigint
}

/** The first part begins at `start`. */
export const make = (start: bigint): StepClock => {
  let last = start
  return {
    part: Effect.fnUntraced(function* (name, effect) {
      const began = last
      const onPart = yield* OnPart
      onPart(name)
      const step = yield* Trace.current
      const span = step && (yield* Trace.begin({ name: `Trainer.${name}`, startTime: began, parent: step }))
      const result = yield* (span === undefined ? effect : Effect.withParentSpan(effect, span)).pipe(
        Effect.onExit((exit) =>
          Effect.map(Clock.currentTimeNanos, (now) => {
            last = now
            span?.end(now, exit)
          })
        )
      )
      return [Number(last - began) / 1e9, result] as const
    }),
    end: () => last
  }
}
