/**
 * Worker threads that answer one question at a time under a deadline: for judges that a hostile answer could stall or
 * take down.
 *
 * Threads start when first needed and end when idle. A question that passes its deadline, or takes its thread down, is
 * undecided; the thread is replaced. Only a thread that cannot be started at all is an error: a broken judge must not
 * look like a bad policy. The file posts any message once it is ready, then one answer per question.
 */
import { Worker } from "node:worker_threads"
import { Duration, Effect, Option, Pool, Schema } from "effect"

/** A thread could not be started, or ended while it was asked. */
export class ThreadError extends Schema.TaggedError<ThreadError>()("ThreadError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Options {
  /** The thread's file. */
  readonly url: URL
  /** How long one question may take. */
  readonly deadline: Duration.Input
  /** How many threads there may be. */
  readonly workers: number
}

export type Outcome<Answer> =
  | { readonly _tag: "Answered"; readonly answer: Answer }
  | { readonly _tag: "Undecided"; readonly reason: "timedOut" | "crashed" }

/** Enough for any honest question; a hostile one that wants more takes only its thread down. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

const startTimeout = Duration.seconds(30)

/**
 * A file beside the module that names it. tsc rewrites extensions in import statements only, not in URLs, so the
 * extension is the module's own: `.ts` where sources run under type stripping, `.js` in a build.
 */
export const fileBeside = (moduleUrl: string, name: string): URL =>
  new URL(`./${name}${moduleUrl.endsWith(".ts") ? ".ts" : ".js"}`, moduleUrl)

/** Waits for the next message; fails with what ended the thread instead. */
const nextMessage = (worker: Worker, send?: { readonly question: unknown }): Effect.Effect<unknown, ThreadError> =>
  Effect.callback((resume) => {
    const stop = () => worker.off("message", onMessage).off("error", onError).off("exit", onExit)
    const end = (result: Effect.Effect<unknown, ThreadError>) => {
      stop()
      resume(result)
    }
    const onMessage = (message: unknown) => end(Effect.succeed(message))
    const onError = (cause: unknown) =>
      end(Effect.fail(new ThreadError({ message: "the worker thread failed", cause })))
    const onExit = (code: number) =>
      end(Effect.fail(new ThreadError({ message: `the worker thread exited with code ${code}` })))
    worker.on("message", onMessage).on("error", onError).on("exit", onExit)
    // A worker thread, not a window: there is no origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    if (send !== undefined) worker.postMessage(send.question)
    return Effect.sync(stop)
  })

const start = (url: URL) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => new Worker(url, { resourceLimits }),
      catch: (cause) => new ThreadError({ message: `cannot start a worker thread from ${url.href}`, cause })
    }),
    (worker) =>
      Effect.promise(() => {
        // Errors after the last question have nobody else to hear them, and would end the process.
        worker.on("error", () => undefined)
        return worker.terminate()
      })
  ).pipe(
    Effect.tap((worker) =>
      nextMessage(worker).pipe(
        Effect.timeoutOrElse({
          duration: startTimeout,
          orElse: () => Effect.fail(new ThreadError({ message: `no worker thread of ${url.href} was ready in time` }))
        })
      )
    )
  )

/** Asks one of the threads; `Question` is what their file takes, `Answer` what it posts. */
// Said by the caller once, so that no question of another kind is sent.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export const make = Effect.fn("QuestionThreads.make")(function* <Question, Answer>({
  deadline,
  url,
  workers
}: Options) {
  const pool = yield* Pool.makeWithTTL({ acquire: start(url), min: 0, max: workers, timeToLive: "1 minute" })
  return (question: Question): Effect.Effect<Outcome<Answer>, ThreadError> =>
    Pool.use(pool, (worker) =>
      nextMessage(worker, { question }).pipe(
        Effect.timeoutOption(deadline),
        Effect.tap((answer) => (Option.isNone(answer) ? Pool.invalidate(pool, worker) : Effect.void)),
        Effect.tapError(() => Pool.invalidate(pool, worker)),
        Effect.onInterrupt(() => Pool.invalidate(pool, worker)),
        Effect.result
      )
    ).pipe(
      Effect.map((outcome): Outcome<Answer> => {
        if (outcome._tag === "Failure") return { _tag: "Undecided", reason: "crashed" }
        return Option.isNone(outcome.success)
          ? { _tag: "Undecided", reason: "timedOut" }
          : // The file's word.
            { _tag: "Answered", answer: outcome.success.value as Answer }
      })
    )
})
