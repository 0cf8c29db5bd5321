/**
 * Times the parts of a step, in seconds and as spans `Trainer.<part>`: each begins where the one before it ended, so
 * that together they are all of the step, however long the machine did something else in between.
 */
import { Trace } from "@atropos/core"
import { Clock, Context, Effect } from "effect"

/** Is called with the name of each part as it begins. */
export const OnPart = Context.Reference<(part: string) => void>("@atropos/trainer/run/StepClock/OnPart", {
  defaultValue: () => () => {}
})

export interface StepClock {
  /** Seconds since the part before it ended, with the result. */
  readonly part: <A, E, R>(
    name: string,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<readonly [seconds: number, A], E, R>
  /** When the last part ended, nanoseconds since the epoch. */
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
