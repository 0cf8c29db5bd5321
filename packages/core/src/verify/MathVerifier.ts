/**
 * Judges mathematical answers under a deadline: no answer can stall the event loop, end the program or be rewarded by breaking the judge.
 *
 * Plain numbers are compared at once, in the calling thread. The rest goes to worker threads, started when first needed and
 * ended when idle. A comparison that passes its deadline, or takes its worker down, is "not equal" and is counted; the worker is
 * replaced. Only a verifier that cannot be started at all is an error: a broken judge must not look like a bad policy.
 */
import { availableParallelism } from "node:os"
import { Worker } from "node:worker_threads"
import { Context, Duration, Effect, Layer, Metric, Option, Pool, Schema } from "effect"
import { defaultRules, type Rules } from "./Compare.ts"
import * as Extract from "./Extract.ts"
import * as MathAnswer from "./MathAnswer.ts"
import type { Question } from "./MathWorker.ts"

/** The worker thread could not be started. */
export class MathVerifierError extends Schema.TaggedError<MathVerifierError>()("MathVerifierError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** What has been compared since the layer was built. */
export interface Counts {
  readonly compared: number
  /** Comparisons that needed a worker. */
  readonly inWorker: number
  /** Comparisons that passed the deadline. */
  readonly timedOut: number
  /** Comparisons that took their worker down. */
  readonly crashed: number
}

export class MathVerifier extends Context.Service<
  MathVerifier,
  {
    /** Whether two answers, as `MathAnswer.extract` gives them, mean the same. */
    readonly equivalent: (gold: string, prediction: string) => Effect.Effect<boolean, MathVerifierError>
    /**
     * Whether a completion's answer is that of the reference (an answer, or a solution with a box or `####`); false for a completion
     * without an answer. Default options: `MathAnswer.accuracyOptions`.
     */
    readonly grade: (
      reference: string,
      completion: string,
      options?: Partial<Extract.Options>
    ) => Effect.Effect<boolean, MathVerifierError>
    readonly counts: Effect.Effect<Counts>
  }
>()("@atropos/core/verify/MathVerifier") {}

export interface Settings extends Rules {
  /** How long one comparison may take in a worker. */
  readonly deadline: Duration.Input
  /** How many worker threads there may be. */
  readonly workers: number
}

const defaultSettings: Settings = {
  ...defaultRules,
  deadline: "2 seconds",
  workers: Math.max(1, Math.min(4, availableParallelism() - 1))
}

const undecided = Metric.counter("atropos.math_verifier.undecided", {
  description: "Comparisons that passed their deadline or took their worker down, and were called not equal"
})

/**
 * The thread's file beside this one. tsc rewrites extensions in import statements only, not in URLs, so the extension is this
 * file's own: `.ts` where sources run under type stripping, `.js` in a build.
 */
const workerUrl = new URL(`./MathWorker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)

/** Enough for any honest comparison; a hostile one that wants more takes only its thread down. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

const startTimeout = Duration.seconds(30)

/** Waits for the next message; fails with what ended the thread instead. */
const nextMessage = (worker: Worker, send?: Question): Effect.Effect<unknown, MathVerifierError> =>
  Effect.callback((resume) => {
    const stop = () => worker.off("message", onMessage).off("error", onError).off("exit", onExit)
    const end = (result: Effect.Effect<unknown, MathVerifierError>) => {
      stop()
      resume(result)
    }
    const onMessage = (message: unknown) => end(Effect.succeed(message))
    const onError = (cause: unknown) =>
      end(Effect.fail(new MathVerifierError({ message: "the verifier's worker thread failed", cause })))
    const onExit = (code: number) =>
      end(Effect.fail(new MathVerifierError({ message: `the verifier's worker thread exited with code ${code}` })))
    worker.on("message", onMessage).on("error", onError).on("exit", onExit)
    // A worker thread, not a window: there is no origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    if (send !== undefined) worker.postMessage(send)
    return Effect.sync(stop)
  })

const start = Effect.acquireRelease(
  Effect.try({
    try: () => new Worker(workerUrl, { resourceLimits }),
    catch: (cause) => new MathVerifierError({ message: `cannot start a worker thread from ${workerUrl.href}`, cause })
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
        orElse: () =>
          Effect.fail(new MathVerifierError({ message: "the verifier's worker thread did not start in time" }))
      })
    )
  )
)

/** The verifier with the given settings over the defaults: 2 seconds a comparison, one thread per core but one, at most four. */
export const layer = (settings: Partial<Settings> = {}): Layer.Layer<MathVerifier> =>
  Layer.effect(
    MathVerifier,
    Effect.gen(function* () {
      const { deadline, workers, ...rules } = { ...defaultSettings, ...settings }
      const pool = yield* Pool.makeWithTTL({ acquire: start, min: 0, max: workers, timeToLive: "1 minute" })
      const counts = { compared: 0, inWorker: 0, timedOut: 0, crashed: 0 }

      const ask = (question: Question) =>
        Pool.use(pool, (worker) =>
          nextMessage(worker, question).pipe(
            Effect.timeoutOption(deadline),
            Effect.tap((answer) => (Option.isNone(answer) ? Pool.invalidate(pool, worker) : Effect.void)),
            Effect.tapError(() => Pool.invalidate(pool, worker)),
            Effect.onInterrupt(() => Pool.invalidate(pool, worker)),
            Effect.result
          )
        )

      const compareInWorker = Effect.fn("MathVerifier.compareInWorker")(function* (question: Question) {
        counts.inWorker += 1
        const answer = yield* ask(question)
        if (answer._tag === "Success" && Option.isSome(answer.success)) return answer.success.value === true
        const reason = answer._tag === "Success" ? "timedOut" : "crashed"
        counts[reason] += 1
        yield* Metric.update(undecided, 1)
        yield* Effect.logDebug("answer not decided", { reason, prediction: question.prediction.slice(0, 200) })
        return false
      })

      const equivalent = (gold: string, prediction: string) =>
        Effect.suspend(() => {
          counts.compared += 1
          const verdict = MathAnswer.decide(gold, prediction, rules)
          return verdict === undefined ? compareInWorker({ gold, prediction, rules }) : Effect.succeed(verdict)
        })

      return MathVerifier.of({
        equivalent,
        grade: (reference, completion, options = Extract.accuracyOptions) =>
          Effect.suspend(() => {
            const answer = Extract.extract(completion, options)
            return answer === undefined
              ? Effect.succeed(false)
              : equivalent(Extract.extractReference(reference), answer)
          }),
        counts: Effect.sync(() => ({ ...counts }))
      })
    })
  )
