/** Reports on standard error that a long operation is running, after every five seconds without a report. */
import * as TimeSpan from "@atropos/core/base/TimeSpan"
import { Clock, Console, Effect, Fiber } from "effect"

const everyMillis = 5000
/** After ten minutes it reports once a minute, to keep logs short. */
const longMillis = 600_000
const everyMinute = 60_000

type Report = (seconds: number) => Effect.Effect<void>

const beats = Effect.fnUntraced(function* (report: Report) {
  const started = yield* Clock.currentTimeMillis
  let reportedAt = started
  const now = Effect.gen(function* () {
    reportedAt = yield* Clock.currentTimeMillis
    yield* report(Math.round((reportedAt - started) / 1000))
  })
  const beat = Effect.gen(function* () {
    const pause = reportedAt - started < longMillis ? everyMillis : everyMinute
    const silent = (yield* Clock.currentTimeMillis) - reportedAt
    yield* silent < pause ? Effect.sleep(pause - silent) : now
  })
  return { now, beating: Effect.forever(beat) }
})

/** Reports until the scope closes; `report` gets the elapsed seconds. Running the result reports immediately. */
export const make = (report: Report) =>
  Effect.flatMap(beats(report), ({ beating, now }) => Effect.as(Effect.forkScoped(beating), now))

/** `what` names the operation: "loading the model". A function is called at each report; undefined reports nothing. */
export const during =
  (what: string | (() => string | undefined)) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.gen(function* () {
      const { beating } = yield* beats((seconds) => {
        const now = typeof what === "string" ? what : what()
        return now === undefined ? Effect.void : Console.error(`${now}: ${TimeSpan.format(seconds)} so far`)
      })
      // Interruptible, because what ends a run is not.
      const fiber = yield* Effect.forkChild(Effect.interruptible(beating))
      return yield* Effect.ensuring(effect, Fiber.interrupt(fiber))
    })

/** Reports until `run` calls `onStarted`, for what then runs until it is stopped. */
export const untilStarted = <A, E, R>(
  what: string,
  run: (onStarted: () => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let starting: string | undefined = what
    return during(() => starting)(run(() => (starting = undefined)))
  })

/** Reports while an interrupted operation ends, for example saves a checkpoint. */
export const whileStopping = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    return yield* Effect.onInterrupt(Fiber.join(fiber), () => during("stopping")(Fiber.interrupt(fiber)))
  })
