/**
 * Runs queries of a policy on SQLite, in threads with a deadline: no query can stall this process, or reach anything
 * except its own database.
 *
 * A query that takes too long, returns too much or does anything except read does not execute. SQLite is loaded with
 * the first question.
 */
import * as QuestionThreads from "../verify/QuestionThreads.ts"
import * as Thread from "@atropos/core/base/Thread"
import { type Duration, Effect, Metric } from "effect"
import type { Question, Source, Verdict } from "./SqlWorker.ts"

export type { Source, Verdict } from "./SqlWorker.ts"

const undecided = Metric.counter("atropos.sql_verifier.undecided.total", {
  description: "Queries that passed their deadline or took their thread down, and were counted as not executing"
})

export interface Options {
  readonly deadline: Duration.Input
  readonly workers: number
}

const defaults: Options = { deadline: "10 seconds", workers: 2 }
const maxQueryLength = 20_000

const failed = (problem: string): Verdict => ({
  _tag: "judged",
  executes: false,
  columns: 0,
  isCorrect: false,
  problem
})

export const make = Effect.fn("SqlVerifier.make")(function* (options: Partial<Options> = {}) {
  const ask = yield* QuestionThreads.make<Question, Verdict>({
    ...defaults,
    ...options,
    url: Thread.fileBeside(import.meta.url, "SqlWorker")
  })
  return {
    /** Compares a query with the right one, on databases of the same tables. */
    judge: Effect.fn("SqlVerifier.judge")(function* (databases: ReadonlyArray<Source>, gold: string, text: string) {
      if (text.length > maxQueryLength) return failed(`more than ${maxQueryLength} characters`)
      const outcome = yield* ask({ databases, queries: { gold, input: text }, shown: 0 })
      if (outcome._tag === "Answered") return outcome.answer
      yield* Metric.update(undecided, 1)
      yield* Effect.logDebug("query not decided", { reason: outcome.reason, query: text.slice(0, 200) })
      return failed(outcome.reason)
    }),
    /** The tables of a database with some of their rows, as SQL. */
    describe: Effect.fn("SqlVerifier.describe")(function* (database: Source, shown: number) {
      const outcome = yield* ask({ databases: [database], shown })
      return outcome._tag === "Answered" ? outcome.answer : failed(outcome.reason)
    })
  }
})
