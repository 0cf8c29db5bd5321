/**
 * Judges mathematical answers under a deadline: no answer can block the event loop, end the program or be rewarded by
 * breaking the judge.
 *
 * Plain numbers are compared immediately, in the calling thread; the rest in worker threads, started when needed and
 * ended when idle. A comparison that exceeds its deadline, or crashes its worker, is "not equal" and counted; the
 * worker is replaced. Only a verifier that cannot be started at all is an error: a broken judge must not look like a
 * bad policy.
 */
import { availableParallelism } from "node:os"
import { Context, type Duration, Effect, Layer, Metric, Schema } from "effect"
import { defaultRules, type Rules } from "./math/Compare.ts"
import * as Extract from "./text/Extract.ts"
import * as MathAnswer from "./math/MathAnswer.ts"
import type { Question } from "./MathWorker.ts"
import * as Thread from "@atropos/core/base/Thread"
import * as QuestionThreads from "./QuestionThreads.ts"

export class MathVerifierError extends Schema.TaggedError<MathVerifierError>()("MathVerifierError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Statistics since the layer was built. */
export interface Counts {
  readonly compared: number
  /** Comparisons that needed a worker. */
  readonly inWorker: number
  /** Comparisons that exceeded the deadline. */
  readonly timedOut: number
  /** Comparisons that crashed their worker. */
  readonly crashed: number
}

export class MathVerifier extends Context.Service<
  MathVerifier,
  {
    /** True if two answers, as returned by `MathAnswer.extract`, are equivalent. */
    readonly equivalent: (gold: string, prediction: string) => Effect.Effect<boolean, MathVerifierError>
    /**
     * True if a completion's answer equals that of the reference (an answer, or a solution with a box or `####`); false
     * for a completion without an answer. Default options: `MathAnswer.accuracyOptions`.
     */
    readonly grade: (
      reference: string,
      completion: string,
      options?: Partial<Extract.Options>
    ) => Effect.Effect<boolean, MathVerifierError>
    /** Similarity of a formula to a reference, 0 to 100 (`EditDistance`); 0 if undecided within the deadline. */
    readonly nearness: (gold: string, prediction: string) => Effect.Effect<number, MathVerifierError>
    readonly counts: Effect.Effect<Counts>
  }
>()("@atropos/envs/verify/MathVerifier") {}

export interface Settings extends Rules {
  /** Deadline of one comparison in a worker. */
  readonly deadline: Duration.Input
  readonly workers: number
}

const defaultSettings: Settings = {
  ...defaultRules,
  deadline: "2 seconds",
  workers: Math.max(1, Math.min(4, availableParallelism() - 1))
}

const undecided = Metric.counter("atropos.math_verifier.undecided.total", {
  description: "Comparisons that passed their deadline or took their worker down, and were called not equal"
})

/**
 * The verifier with the given settings over the defaults: 2 seconds per comparison, one thread per core except one, at
 * most four.
 */
export const layer = (settings: Partial<Settings> = {}): Layer.Layer<MathVerifier> =>
  Layer.effect(
    MathVerifier,
    Effect.gen(function* () {
      const { deadline, workers, ...rules } = { ...defaultSettings, ...settings }
      const ask = yield* QuestionThreads.make<Question, boolean | number>({
        url: Thread.fileBeside(import.meta.url, "MathWorker"),
        deadline,
        workers
      })
      const counts = { compared: 0, inWorker: 0, timedOut: 0, crashed: 0 }

      const askWorker = Effect.fn("MathVerifier.askWorker")(function* (question: Question) {
        counts.inWorker += 1
        const outcome = yield* ask(question).pipe(
          Effect.mapError(({ cause, message }) => new MathVerifierError({ message, cause }))
        )
        if (outcome._tag === "Answered") return outcome.answer
        counts[outcome.reason] += 1
        yield* Metric.update(undecided, 1)
        yield* Effect.logDebug("answer not decided", {
          reason: outcome.reason,
          prediction: question.prediction.slice(0, 200)
        })
        return undefined
      })
      const compareInWorker = (question: Question) => Effect.map(askWorker(question), (answer) => answer === true)

      const equivalent = (gold: string, prediction: string) =>
        Effect.suspend(() => {
          counts.compared += 1
          const verdict = MathAnswer.decide(gold, prediction, rules)
          return verdict === undefined ? compareInWorker({ gold, prediction, rules }) : Effect.succeed(verdict)
        })

      return MathVerifier.of({
        equivalent,
        grade: (reference, completion, options = {}) =>
          Effect.suspend(() => {
            const answer = Extract.extract(completion, options)
            return answer === undefined
              ? Effect.succeed(false)
              : equivalent(Extract.extractReference(reference), answer)
          }),
        nearness: (gold, prediction) =>
          Effect.suspend(() => {
            counts.compared += 1
            return Effect.map(askWorker({ gold, prediction, rules, isNear: true }), (answer) => Number(answer ?? 0))
          }),
        counts: Effect.sync(() => ({ ...counts }))
      })
    })
  )
