/**
 * Tries a policy's regular expressions on texts, in threads with a deadline, so that none can stall this process.
 *
 * An expression that times out counts as invalid.
 */
import * as QuestionThreads from "../verify/QuestionThreads.ts"
import * as Thread from "@atropos/core/base/Thread"
import { type Duration, Effect, Metric } from "effect"
import type { Question, Verdict } from "./RegexWorker.ts"

export type { Verdict } from "./RegexWorker.ts"

const undecided = Metric.counter("atropos.regex_verifier.undecided.total", {
  description: "Regular expressions that passed their deadline or took their thread down, and were counted as invalid"
})

export interface Options {
  readonly deadline: Duration.Input
  readonly workers: number
}

const defaults: Options = { deadline: "1 second", workers: 2 }
const maxPatternLength = 1_000

const invalid = (problem: string): Verdict => ({ _tag: "invalid", problem })

export const make = Effect.fn("RegexVerifier.make")(function* (options: Partial<Options> = {}) {
  const ask = yield* QuestionThreads.make<Question, Verdict>({
    ...defaults,
    ...options,
    url: Thread.fileBeside(import.meta.url, "RegexWorker")
  })
  return Effect.fn("RegexVerifier.try")(function* (pattern: string, texts: ReadonlyArray<string>) {
    if (pattern.length > maxPatternLength) return invalid(`longer than ${maxPatternLength} characters`)
    const outcome = yield* ask({ pattern, texts })
    if (outcome._tag === "Answered") return outcome.answer
    yield* Metric.update(undecided, 1)
    yield* Effect.logDebug("expression not decided", { reason: outcome.reason, pattern: pattern.slice(0, 200) })
    return invalid(outcome.reason)
  })
})
