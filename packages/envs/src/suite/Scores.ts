/** Builds the scores of a suite from its YAML; requires services only for scores that use them. */
import { Environment } from "@atropos/core"
import * as MathAnswer from "../verify/math/MathAnswer.ts"
import * as MathVerifier from "../verify/MathVerifier.ts"
import { Effect, Result } from "effect"
import * as Ifeval from "./ifeval/Ifeval.ts"
import * as Language from "./ifeval/Language.ts"
import * as Judging from "./Judging.ts"
import * as Programs from "./Programs.ts"
import * as Reading from "./Reading.ts"
import type { Of, Score } from "./ScoreSpec.ts"
import * as TextScores from "./TextScores.ts"
import { type Answer, type Judged, type Making, one, type Scorer, type Verdict } from "./Verdict.ts"

/** Equivalence of the formula and a reference, 0 or 1. */
const byMath = (name: string, { read }: Of<"math">) =>
  Effect.map(MathVerifier.MathVerifier, (verifier) =>
    Effect.fnUntraced(function* ({ gold, letters, texts }: Judged, { text }: Answer) {
      const reply =
        read === undefined
          ? MathAnswer.extract(text, { unmarked: "number" })
          : Reading.read(text, read, { letters, texts })
      if (reply === undefined) return one(name, 0, null)
      for (const reference of gold) {
        if (yield* verifier.equivalent(MathAnswer.extractReference(reference), reply)) return one(name, 1, reply)
      }
      return one(name, 0, reply)
    })
  )

/** Equivalence of the formula and a reference, and their similarity: 0 to 100, the best over the references. */
const byEed = (name: string): Making =>
  Effect.map(MathVerifier.MathVerifier, (verifier): Scorer =>
    Effect.fnUntraced(function* ({ gold }, { text }) {
      const reply = Reading.read(text, "boxed_or_math")
      let best = 0
      for (const reference of gold) best = Math.max(best, yield* verifier.nearness(bare(reference), bare(reply ?? "")))
      return { values: { [name]: best, [`${name}_right`]: best === 100 ? 1 : 0 }, parsed: reply ?? null }
    })
  )

const bare = (formula: string): string =>
  formula
    .trim()
    .replace(/^(?:\$\$?|\\\[|\\\()/, "")
    .replace(/(?:\$\$?|\\\]|\\\))$/, "")
    .trim()

const pure = (score: (item: Judged, answer: Answer) => Verdict): Making =>
  Effect.succeed<Scorer>((item, answer) => Effect.sync(() => score(item, answer)))

const byIfeval: Making = Effect.map(
  Language.load,
  (detect): Scorer =>
    ({ columns }, { text }) =>
      Effect.suspend(() => {
        const instructions = Ifeval.instructionsOf(columns, detect)
        if (Result.isFailure(instructions)) return new Environment.Unscorable({ message: instructions.failure })
        const { followed, values } = Ifeval.scores(text, instructions.success)
        const count = instructions.success.length
        // Instructions are averaged over all prompts.
        const weights = { instruction_strict: count, instruction_loose: count }
        return Effect.succeed<Verdict>({ values, parsed: text, notes: { followed, weights } })
      })
)

export const make = (name: string, spec: Score): Making => {
  switch (spec.by) {
    case "text":
      return pure(TextScores.byText(name, spec))
    case "choice":
      return pure(TextScores.byChoice(name, spec))
    case "number":
      return pure(TextScores.byNumber(name, spec))
    case "words":
      return pure(TextScores.byWords(name, spec))
    case "drop":
      return pure(TextScores.byDrop(spec))
    case "grid":
      return pure(TextScores.byGrid(name))
    case "patterns":
      return pure(TextScores.byPatterns(name, spec))
    case "rating":
      return pure(TextScores.byRating(name, spec))
    case "math":
      return byMath(name, spec)
    case "ifeval":
      return byIfeval
    case "eed":
      return byEed(name)
    case "program":
      return Programs.score(name, spec)
    case "judge":
      return Judging.grade(name, spec)
    case "comparison":
      return Judging.comparison(name, spec)
    case "likelihood":
      return Effect.die(new Error("choices are scored by Likelihood"))
  }
}

export const asksJudge = (scores: { readonly [name: string]: Score }): boolean =>
  Object.values(scores).some(({ by }) => by === "judge" || by === "comparison")
