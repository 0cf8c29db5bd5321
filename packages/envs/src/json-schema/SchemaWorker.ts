/**
 * Validates answers against JSON schemas in a thread; not a module to import.
 *
 * Takes one question at a time; posts `"ready"` once a schema can be compiled. A schema with catastrophic backtracking
 * in a pattern, or one that refers to itself, may hang or crash it: the caller has a deadline and starts another.
 */
import { parentPort } from "node:worker_threads"
import * as RepeatedKeys from "@atropos/core/base/json/RepeatedKeys"
import { Ajv } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
// Not all of effect, so that the thread starts fast.
import * as Result from "effect/Result"
import * as ExactKeywords from "./ExactKeywords.ts"

/** A schema and an answer, both JSON texts. */
export interface Question {
  readonly schema: string
  readonly answer: string
}

/** `unusable`: the schema cannot be compiled. */
export type Verdict =
  | { readonly _tag: "valid" }
  | { readonly _tag: "invalid"; readonly problem: string }
  | { readonly _tag: "unusable"; readonly problem: string }

type Validator = Ajv | Ajv2020
type Validate = ReturnType<Validator["compile"]>

// Schemas in the wild have custom keywords; unknown ones are ignored. An answer has no `toString` that it does not
// write.
const options = { strict: false, addUsedSchema: false, logger: false, ownProperties: true } as const
const withFormats = (validator: Validator): Validator => addFormats.default(validator)
const modern = withFormats(new Ajv2020(options))
const draft07 = withFormats(new Ajv(options))

/** Exact for integers beyond 2^53, and for multiples. */
const exactModern = ExactKeywords.install(withFormats(new Ajv2020(options)))
const exactDraft07 = ExactKeywords.install(withFormats(new Ajv(options)))

interface Dialect {
  readonly name: RegExp
  readonly validator: Validator
  readonly exact: Validator
}
const newest: Dialect = { name: /draft\/20(?:19-09|20-12)\/schema/, validator: modern, exact: exactModern }
const dialects: ReadonlyArray<Dialect> = [
  { name: /draft-0[67]\/schema/, validator: draft07, exact: exactDraft07 },
  newest
]

const dialectOf = (schema: object): Dialect => {
  const dialect = "$schema" in schema ? schema.$schema : undefined
  if (dialect === undefined) return newest
  const written = typeof dialect === "string" ? dialect : JSON.stringify(dialect)
  const known = dialects.find(({ name }) => name.test(written))
  if (known === undefined) throw new Error(`unknown dialect ${written}: use draft-06, draft-07, 2019-09 or 2020-12`)
  return known
}

const compile = (text: string, isExact: boolean): Result.Result<Validate, string> =>
  Result.try({
    try: () => {
      // An object: checked by the caller.
      const schema = ExactKeywords.read(text)[""] as object
      const dialect = dialectOf(schema)
      const validator = isExact ? dialect.exact : dialect.validator
      const validate = validator.compile(schema)
      // The library would keep every schema it ever saw.
      validator.removeSchema(schema)
      return validate
    },
    catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
  })

const remembered = new Map<string, Result.Result<Validate, string>>()
const maxRemembered = 64

const validateFor = (text: string, isExact: boolean): Result.Result<Validate, string> => {
  const key = `${isExact ? "exact" : ""}${text}`
  const before = remembered.get(key)
  if (before !== undefined) return before
  const compiled = compile(text, isExact)
  const [oldest] = remembered.keys()
  if (remembered.size >= maxRemembered && oldest !== undefined) remembered.delete(oldest)
  remembered.set(key, compiled)
  return compiled
}

const judge = ({ answer, schema }: Question): Verdict => {
  const validate = validateFor(schema, ExactKeywords.isNeeded(schema) || ExactKeywords.isNeeded(answer))
  if (Result.isFailure(validate)) return { _tag: "unusable", problem: validate.failure }
  const parsed = Result.try(() => ExactKeywords.read(answer))
  if (Result.isFailure(parsed)) return { _tag: "invalid", problem: "not JSON" }
  const twice = RepeatedKeys.find(answer)
  if (twice !== undefined) return { _tag: "invalid", problem: `the key ${JSON.stringify(twice)} is given twice` }
  const outcome = Result.try(() => validate.success(parsed.success[""], ExactKeywords.whole(parsed.success)) === true)
  if (Result.isFailure(outcome)) return { _tag: "invalid", problem: "cannot be followed to its end" }
  const [first] = validate.success.errors ?? []
  return outcome.success
    ? { _tag: "valid" }
    : { _tag: "invalid", problem: `${first?.instancePath ?? ""} ${first?.message ?? ""}`.trim() }
}

/** To the thread that started this one, which has no origin. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const post = (message: Verdict | "ready") => parentPort?.postMessage(message)

// The first schema compiles those of the dialects, which takes a while.
for (const dialect of ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]) {
  judge({ schema: JSON.stringify({ $schema: dialect, type: "object" }), answer: "{}" })
}
parentPort?.on("message", (question: Question) => post(judge(question)))
post("ready")
