/**
 * Answers one question at a time per worker thread under a deadline: for judges that a hostile answer could block or
 * crash.
 *
 * Threads start when needed and end when idle. A question that exceeds its deadline, or crashes its thread, is
 * undecided; the thread is replaced. Only a thread that cannot be started at all is an error: a broken judge must not
 * look like a bad policy. The file posts any message once it is ready, then one answer per question.
 */
import { Duration, Effect, Option, Pool } from "effect"
import * as Thread from "@atropos/core/base/Thread"

export interface Options {
  readonly url: URL
  readonly deadline: Duration.Input
  readonly workers: number
}

export type Outcome<Answer> =
  | { readonly _tag: "Answered"; readonly answer: Answer }
  | { readonly _tag: "Undecided"; readonly reason: "timedOut" | "crashed" }

/** Enough for any honest question; a hostile one that needs more only crashes its thread. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

const startTimeout = Duration.seconds(30)

const start = <Question, Answer>(url: URL) =>
  Effect.tap(Thread.start<Question, Answer>(url, { resourceLimits }), (thread) =>
    Effect.timeoutOrElse(thread.next, {
      duration: startTimeout,
      orElse: () =>
        Effect.fail(
          new Thread.ThreadError({ reason: "notStarted", message: `no thread of ${url.href} was ready in time` })
        )
    })
  )

/** Asks one of the threads; their file takes `Question` and posts `Answer`. */
export const make = Effect.fn("QuestionThreads.make")(function* <Question, Answer>({
  deadline,
  url,
  workers
}: Options) {
  const pool = yield* Pool.makeWithTTL({
    acquire: start<Question, Answer>(url),
    min: 0,
    max: workers,
    timeToLive: "1 minute"
  })
  return (question: Question): Effect.Effect<Outcome<Answer>, Thread.ThreadError> =>
    Pool.use(pool, (thread) =>
      thread.ask(question).pipe(
        Effect.timeoutOption(deadline),
        Effect.tap((answer) => (Option.isNone(answer) ? Pool.invalidate(pool, thread) : Effect.void)),
        Effect.tapError(() => Pool.invalidate(pool, thread)),
        Effect.onInterrupt(() => Pool.invalidate(pool, thread)),
        Effect.result
      )
    ).pipe(
      Effect.map((outcome): Outcome<Answer> => {
        if (outcome._tag === "Failure") return { _tag: "Undecided", reason: "crashed" }
        return Option.isNone(outcome.success)
          ? { _tag: "Undecided", reason: "timedOut" }
          : { _tag: "Answered", answer: outcome.success.value }
      })
    )
})
