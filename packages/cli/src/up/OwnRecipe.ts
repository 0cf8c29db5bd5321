/** Validates the recipe that a file exports along with its environment (`Recipe` of core). */
import type { Recipe as Shared } from "@atropos/core"
import * as Reason from "@atropos/core/base/Reason"
import * as Characters from "@atropos/trainer/model/Characters"
import { Effect, Schema, SchemaIssue } from "effect"
import type { Chosen } from "../config/Environments.ts"
import { UsageError } from "../base/Failure.ts"
import * as Recipe from "./Recipe.ts"

const isFunction = Schema.declare(
  (value): value is (...args: ReadonlyArray<never>) => unknown => typeof value === "function",
  {
    expected: "a function"
  }
)
const positive = Schema.Int.check(Schema.isGreaterThan(0))
const section = Schema.Record(Schema.String, Schema.Unknown)

const Exported = Schema.Struct({
  characters: Schema.Union([Schema.NonEmptyString, isFunction]),
  demonstration: Schema.optionalKey(isFunction),
  warmStart: Schema.optionalKey(
    Schema.Struct({
      steps: Schema.optionalKey(Schema.Natural),
      batchSize: Schema.optionalKey(positive),
      learningRate: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0)))
    })
  ),
  longest: Schema.optionalKey(positive),
  embeddingDeviation: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  env: Schema.optionalKey(section),
  trainer: Schema.optionalKey(section),
  loss: Schema.optionalKey(section)
})
const decode = Schema.decodeUnknownEffect(Exported, { onExcessProperty: "error" })
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const warmStart: Shared.WarmStart = { steps: 200, batchSize: 64, learningRate: 2e-3 }

/** Number of demonstrations checked before the first step. */
const lookedAt = 256

/** The prompt as a character model sees it. */
export const promptText = (prompt: Shared.Demonstration["prompt"]): string =>
  typeof prompt === "string" ? prompt : Characters.chat(prompt)

export const definition = Effect.fn("OwnRecipe.definition")(function* (word: string, { environment, recipe }: Chosen) {
  const wrong = (message: string) => new UsageError({ message: `--env ${word}: invalid recipe: ${message}` })
  yield* decode(recipe).pipe(
    Effect.mapError(({ issue, message }) => {
      const [first] = formatIssue(issue).issues
      const path = (first?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
      return wrong(`${path === "" ? "" : `${path}: `}${first?.message ?? message}`)
    })
  )
  // Checked above except for the argument of its functions: the settings of the environment in the same file.
  const own = recipe as Shared.Recipe<unknown>
  const make: Recipe.Definition["make"] = Effect.fnUntraced(function* ({ input }) {
    const settings = yield* environment.settings.decode(input)
    const called = <A>(what: string, call: () => A) =>
      Effect.try({ try: call, catch: (cause) => wrong(`${what} fails: ${Reason.of(cause)}`) })
    const { characters: declared, demonstration } = own
    const characters = typeof declared === "string" ? declared : yield* called("characters", () => declared(settings))
    yield* called("characters", () => Characters.make(characters))
    const known = new Set(characters)
    let longest = own.longest ?? 0
    const exampleAt = (index: number) => demonstration?.(index, settings) ?? { prompt: "", completion: "" }
    const toLookAt = demonstration === undefined ? 0 : lookedAt
    for (let index = 0; index < toLookAt; index++) {
      const { completion, prompt } = yield* called(`demonstration ${index}`, () => exampleAt(index))
      const text = promptText(prompt) + completion
      const absent = Array.from(text).find((character) => !known.has(character))
      if (absent !== undefined) {
        return yield* wrong(
          `demonstration ${index} has ${JSON.stringify(absent)}, which is not one of its characters${typeof prompt !== "string" && absent === "\n" ? " (a line feed follows each message of a chat)" : ""}`
        )
      }
      longest = own.longest ?? Math.max(longest, Math.ceil(1.5 * text.length) + 1)
    }
    return {
      characters,
      longest,
      ...(own.embeddingDeviation !== undefined && { embeddingDeviation: own.embeddingDeviation }),
      demonstration: exampleAt,
      warmStart: { ...warmStart, ...own.warmStart, ...(demonstration === undefined && { steps: 0 }) }
    } satisfies Recipe.Recipe
  })
  return {
    make,
    env: { ...Recipe.env, ...own.env },
    trainer: { ...Recipe.trainer, training_steps: 400, ...own.trainer },
    loss: { ...Recipe.loss, ...own.loss }
  } satisfies Recipe.Definition
})
