/** How an answer is read and scored, as data: the part `score` of a suite. */
import { Result, Schema } from "effect"
import { names } from "./Normalise.ts"

const Text = Schema.NonEmptyString
const positive = Schema.Int.check(Schema.isGreaterThan(0))

/** A regular expression of JavaScript. */
const Pattern = Text.check(
  Schema.makeFilter((source: string) =>
    Result.isSuccess(Result.try(() => new RegExp(source))) ? undefined : `no regular expression: ${source}`
  )
)

const PatternReading = Schema.Struct({
  pattern: Pattern,
  /** Which of several matches. Default: the last. */
  take: Schema.optionalKey(Schema.Literals(["first", "last"])),
  /** Of the expression: `i`, `m`, `s`. */
  flags: Schema.optionalKey(Text.check(Schema.isPattern(/^[imsu]+$/)))
})

/**
 * How the answer is found: by patterns, the first that matches, whose first group with something in it is the answer;
 * or in a way of its own (`Reading`).
 */
export const Reading = Schema.Union([
  Schema.Literals(["whole", "line", "boxed", "boxed_or_math", "math", "tag", "announced", "answer_line"]),
  Schema.NonEmptyArray(PatternReading)
])
export type Reading = typeof Reading.Type

const Step = Schema.Literals(names)
const steps = Schema.optionalKey(Schema.Array(Step))

/** What was read, compared with the references as texts. */
const ByText = Schema.Struct({
  by: Schema.Literal("text"),
  read: Reading,
  normalise: steps,
  /** `equal` (the default), `latex` (Hendrycks et al.), or whether it contains or begins with a reference. */
  compare: Schema.optionalKey(Schema.Literals(["equal", "latex", "contains", "begins"]))
})

/** The letter of a choice. */
const ByChoice = Schema.Struct({ by: Schema.Literal("choice"), read: Reading })

const ByNumber = Schema.Struct({
  by: Schema.Literal("number"),
  read: Reading,
  /** Largest difference, and largest share of the reference. Default: both 0. */
  absolute: Schema.optionalKey(Schema.Finite),
  relative: Schema.optionalKey(Schema.Finite)
})

/** Whether two formulas mean the same (`MathVerifier`). */
const ByMath = Schema.Struct({ by: Schema.Literal("math"), read: Schema.optionalKey(Reading) })

/** Words in common: SQuAD's F1, the best over the references. */
const ByWords = Schema.Struct({ by: Schema.Literal("words"), read: Reading })

/** DROP's exact match and F1: `em`, `f1`. */
const ByDrop = Schema.Struct({ by: Schema.Literal("drop"), read: Reading })

/** IFEval's four: prompts and instructions, strict and loose. */
const ByIfeval = Schema.Struct({ by: Schema.Literal("ifeval") })

/** PHYBench's expression edit distance, 0 to 100, and whether the formula is right. */
const ByEed = Schema.Struct({ by: Schema.Literal("eed") })

/** A grid of digits. */
const ByGrid = Schema.Struct({ by: Schema.Literal("grid") })

/** Programs under tests: rows of HumanEval, MBPP or LiveCodeBench. */
const ByProgram = Schema.Struct({
  by: Schema.Literal("program"),
  /** For a program with all its tests, or with one case of a contest. */
  seconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0)))
})

/** Whether a pattern stands in the answer. */
const ByPatterns = Schema.Struct({
  by: Schema.Literal("patterns"),
  any: Schema.NonEmptyArray(Pattern),
  /** Only the beginning is looked at: characters. */
  within: Schema.optionalKey(positive)
})

const judging = {
  system: Schema.optionalKey(Text),
  /** A template over columns, `{question}`, `{answer}`, `{gold}`; in a chat `{question_1}`, `{answer_1}`, … */
  prompt: Text,
  read: Reading,
  /** What verdicts are worth; a number is worth itself where this is not given. */
  values: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  /** What a verdict that cannot be read counts as: a number, or one of `values`. Default: the item has no score. */
  otherwise: Schema.optionalKey(Schema.Union([Schema.Finite, Text])),
  /** Range of numbers; others cannot be read. */
  range: Schema.optionalKey(Schema.Tuple([Schema.Finite, Schema.Finite])),
  temperature: Schema.optionalKey(Schema.Finite),
  max_tokens: Schema.optionalKey(positive)
} as const

/** A grade by a judge. */
const ByJudge = Schema.Struct({
  by: Schema.Literal("judge"),
  ...judging,
  /** Where the row has a reference. */
  prompt_with_reference: Schema.optionalKey(Text),
  /** Names of verdicts that are also told as shares: `not_attempted: C`. */
  shares: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})

/**
 * Compared by a judge with an answer of the row, in both orders: over `{answer_a}` and `{answer_b}`. `values` are what
 * verdicts are worth for A, 0 to 1.
 */
const ByComparison = Schema.Struct({
  by: Schema.Literal("comparison"),
  ...judging,
  with: Text,
  /** How often verdicts count in `NAME_weighted`; once where they are not named. Default: there is no such score. */
  weights: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite.check(Schema.isGreaterThan(0))))
})

/** A number that the model gives to something, held against the reference. */
const ByRating = Schema.Struct({
  by: Schema.Literal("rating"),
  read: Reading,
  range: Schema.Tuple([Schema.Finite, Schema.Finite])
})

/** Whether the choice that is likeliest after the prompt is the right one (`likelihood` of the suite). */
const ByLikelihood = Schema.Struct({
  by: Schema.Literal("likelihood"),
  /** By the whole choice (the default), or by a character or byte of it. */
  per: Schema.optionalKey(Schema.Literals(["choice", "character", "byte"]))
})

export const Score = Schema.Union([
  ByText,
  ByChoice,
  ByNumber,
  ByMath,
  ByWords,
  ByDrop,
  ByIfeval,
  ByEed,
  ByGrid,
  ByProgram,
  ByPatterns,
  ByJudge,
  ByComparison,
  ByRating,
  ByLikelihood
])
export type Score = typeof Score.Type
export type Of<By extends Score["by"]> = Extract<Score, { readonly by: By }>
