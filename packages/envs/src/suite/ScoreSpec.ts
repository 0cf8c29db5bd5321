/** Defines the schema of `score` in a suite: how an answer is read and scored. */
import { Result, Schema } from "effect"
import { names } from "./Normalise.ts"

const Text = Schema.NonEmptyString
const positive = Schema.Int.check(Schema.isGreaterThan(0))

const Pattern = Text.check(
  Schema.makeFilter((source: string) =>
    Result.isSuccess(Result.try(() => new RegExp(source))) ? undefined : `no regular expression: ${source}`
  )
)

const PatternReading = Schema.Struct({
  pattern: Pattern,
  /** Selects one of several matches. Default: the last. */
  take: Schema.optionalKey(Schema.Literals(["first", "last"])),
  /** Flags of the expression: `i`, `m`, `s`. */
  flags: Schema.optionalKey(Text.check(Schema.isPattern(/^[imsu]+$/)))
})

/**
 * Extraction of the answer: by patterns, of which the first that matches counts (its first non-empty group is the
 * answer); or by a named method (`Reading`).
 */
export const Reading = Schema.Union([
  Schema.Literals(["whole", "line", "boxed", "boxed_or_math", "math", "tag", "announced", "answer_line"]),
  Schema.NonEmptyArray(PatternReading)
])
export type Reading = typeof Reading.Type

const Step = Schema.Literals(names)
const steps = Schema.optionalKey(Schema.Array(Step))

/** Compares the extracted text with the references. */
const ByText = Schema.Struct({
  by: Schema.Literal("text"),
  read: Reading,
  normalise: steps,
  /** `equal` (the default), `latex` (Hendrycks et al.), or it contains or begins with a reference. */
  compare: Schema.optionalKey(Schema.Literals(["equal", "latex", "contains", "begins"]))
})

const ByChoice = Schema.Struct({ by: Schema.Literal("choice"), read: Reading })

const ByNumber = Schema.Struct({
  by: Schema.Literal("number"),
  read: Reading,
  /** Maximum difference, absolute and as a share of the reference. Default: both 0. */
  absolute: Schema.optionalKey(Schema.Finite),
  relative: Schema.optionalKey(Schema.Finite)
})

/** Equivalence of two formulas (`MathVerifier`). */
const ByMath = Schema.Struct({ by: Schema.Literal("math"), read: Schema.optionalKey(Reading) })

/** Word overlap: SQuAD's F1, the best over the references. */
const ByWords = Schema.Struct({ by: Schema.Literal("words"), read: Reading })

/** DROP's exact match and F1: `em`, `f1`. */
const ByDrop = Schema.Struct({ by: Schema.Literal("drop"), read: Reading })

/** IFEval's four scores: prompts and instructions, strict and loose. */
const ByIfeval = Schema.Struct({ by: Schema.Literal("ifeval") })

/** PHYBench's expression edit distance, 0 to 100, and the equivalence of the formula. */
const ByEed = Schema.Struct({ by: Schema.Literal("eed") })

const ByGrid = Schema.Struct({ by: Schema.Literal("grid") })

/** Programs under tests: rows of HumanEval, MBPP or LiveCodeBench. */
const ByProgram = Schema.Struct({
  by: Schema.Literal("program"),
  /** For a program with all its tests, or with one case of a contest. */
  seconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0)))
})

const ByPatterns = Schema.Struct({
  by: Schema.Literal("patterns"),
  any: Schema.NonEmptyArray(Pattern),
  /** Searches only this many characters from the start. */
  within: Schema.optionalKey(positive)
})

const judging = {
  system: Schema.optionalKey(Text),
  /** A template over columns, `{question}`, `{answer}`, `{gold}`; in a chat `{question_1}`, `{answer_1}`, … */
  prompt: Text,
  read: Reading,
  /** Values of verdicts; without it, a number is its own value. */
  values: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  /** The value of an unreadable verdict: a number, or one of `values`. Default: the item has no score. */
  otherwise: Schema.optionalKey(Schema.Union([Schema.Finite, Text])),
  /** Range of numbers; others count as unreadable. */
  range: Schema.optionalKey(Schema.Tuple([Schema.Finite, Schema.Finite])),
  temperature: Schema.optionalKey(Schema.Finite),
  max_tokens: Schema.optionalKey(positive)
} as const

const ByJudge = Schema.Struct({
  by: Schema.Literal("judge"),
  ...judging,
  /** Used if the row has a reference. */
  prompt_with_reference: Schema.optionalKey(Text),
  /** Verdicts that are also reported as shares: `not_attempted: C`. */
  shares: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})

/**
 * Compares with an answer of the row by a judge, in both orders: over `{answer_a}` and `{answer_b}`. `values` are the
 * values of verdicts for A, 0 to 1.
 */
const ByComparison = Schema.Struct({
  by: Schema.Literal("comparison"),
  ...judging,
  with: Text,
  /** Weights of verdicts in `NAME_weighted`; 1 if not named. Default: no such score. */
  weights: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite.check(Schema.isGreaterThan(0))))
})

/** Compares the model's numeric rating with the reference. */
const ByRating = Schema.Struct({
  by: Schema.Literal("rating"),
  read: Reading,
  range: Schema.Tuple([Schema.Finite, Schema.Finite])
})

/** Scores 1 if the likeliest choice after the prompt is right (`likelihood` of the suite). */
const ByLikelihood = Schema.Struct({
  by: Schema.Literal("likelihood"),
  /** Normalization of the logprob: by the whole choice (the default), or by its characters or bytes. */
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
