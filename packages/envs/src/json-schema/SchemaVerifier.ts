/**
 * Validates answers against JSON schemas in threads with a deadline, so that no schema or answer can stall the event
 * loop.
 *
 * A schema has at most 32,768 characters and 32 levels, an answer at most 65,536 characters; references outside of the
 * schema are not resolved. A timeout counts as invalid.
 */
import * as QuestionThreads from "../verify/QuestionThreads.ts"
import * as Thread from "@atropos/core/base/Thread"
import { type Duration, Effect, Metric, Result } from "effect"
import type { Question, Verdict } from "./SchemaWorker.ts"

const maxSchemaLength = 32_768
const deepestSchema = 32
const maxAnswerLength = 65_536

/** Nesting depth of a JSON value, up to a bound. */
const depthOf = (value: unknown, bound: number): number =>
  typeof value !== "object" || value === null || bound === 0
    ? 0
    : 1 + Object.values(value).reduce<number>((deepest, part) => Math.max(deepest, depthOf(part, bound - 1)), 0)

/** The schema as JSON text, from text or data, or what is wrong with it. Whether it compiles is determined at use. */
export const schemaText = (schema: unknown): Result.Result<string, string> => {
  const text = typeof schema === "string" ? schema : JSON.stringify(schema)
  if (text === undefined) return Result.fail("the schema is not JSON")
  if (text.length > maxSchemaLength) {
    return Result.fail(`the schema has ${text.length} characters; at most ${maxSchemaLength} are allowed`)
  }
  const parsed = Result.try(() => JSON.parse(text) as unknown)
  if (Result.isFailure(parsed)) return Result.fail("the schema is not JSON")
  if (typeof parsed.success !== "object" || parsed.success === null || Array.isArray(parsed.success)) {
    return Result.fail("the schema is not a JSON object")
  }
  return depthOf(parsed.success, deepestSchema + 1) > deepestSchema
    ? Result.fail(`the schema is more than ${deepestSchema} levels deep`)
    : Result.succeed(text)
}

const undecided = Metric.counter("atropos.schema_verifier.undecided.total", {
  description: "Answers whose validation passed its deadline or took its thread down, and were counted as not valid"
})

export interface Options {
  readonly deadline: Duration.Input
  readonly workers: number
}

const invalid = (problem: string): Verdict => ({ _tag: "invalid", problem })

const defaults: Options = { deadline: "2 seconds", workers: 2 }

/** Validates an answer, a JSON text, against a schema. */
export const make = Effect.fn("SchemaVerifier.make")(function* (options: Partial<Options> = {}) {
  const ask = yield* QuestionThreads.make<Question, Verdict>({
    ...defaults,
    ...options,
    url: Thread.fileBeside(import.meta.url, "SchemaWorker")
  })
  return Effect.fn("SchemaVerifier.judge")(function* (schema: string, answer: string) {
    if (answer.length > maxAnswerLength) return invalid("too long")
    const outcome = yield* ask({ schema, answer })
    if (outcome._tag === "Answered") return outcome.answer
    yield* Metric.update(undecided, 1)
    yield* Effect.logDebug("schema not decided", { reason: outcome.reason, answer: answer.slice(0, 200) })
    return invalid(outcome.reason)
  })
})
