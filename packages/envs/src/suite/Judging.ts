/**
 * Scores by a judge (`--judge.*`): a grade by a rubric, or a comparison with an answer of the row, in both orders.
 *
 * An unreadable verdict counts as `otherwise` specifies, or leaves the item without a score; it is counted and never
 * taken for a bad answer.
 */
import { Environment, Message } from "@atropos/core"
import * as Judge from "../kit/Judge.ts"
import { Effect, Result } from "effect"
import { fill } from "./Item.ts"
import * as Reading from "./Reading.ts"
import type { Of } from "./ScoreSpec.ts"
import type { Answer, Judged, Verdict } from "./Verdict.ts"

type Asked = Of<"judge"> | Of<"comparison">

const usualTokens = 2048

/** Values for judges' templates in addition to the columns. */
const wordsOf = ({ columns, gold, later, question, references }: Judged, { text, turns }: Answer) => ({
  ...columns,
  question,
  answer: text,
  gold: gold.join(" | "),
  ...Object.fromEntries([question, ...later].map((turn, at) => [`question_${at + 1}`, turn])),
  ...Object.fromEntries(turns.map((reply, at) => [`answer_${at + 1}`, reply])),
  ...Object.fromEntries(references.map((text, at) => [`reference_${at + 1}`, text]))
})

/** A table's entry for a verdict, ignoring case. */
const named = <A>(table: { readonly [verdict: string]: A }, verdict: string): A | undefined => {
  const known = Object.keys(table).find((name) => name.toLowerCase() === verdict.toLowerCase())
  return known === undefined ? undefined : table[known]
}

/** The value of a verdict; undefined if it cannot be read. */
const worthOf = (verdict: string | undefined, { range, values }: Asked): number | undefined => {
  if (verdict === undefined) return undefined
  if (values !== undefined) return named(values, verdict)
  const value = Number(verdict)
  const isWithin = range === undefined || (value >= range[0] && value <= range[1])
  return Number.isFinite(value) && isWithin ? value : undefined
}

const ask = Effect.fn("Judging.ask")(function* (
  judge: Pick<Judge.JudgeShape, "ask">,
  spec: Asked,
  template: string,
  words: { readonly [name: string]: unknown }
) {
  const prompt = fill(template, words, "the judge's prompt")
  if (Result.isFailure(prompt)) return yield* new Environment.Unscorable({ message: prompt.failure })
  const [choice] = yield* judge.ask({
    messages: [...(spec.system === undefined ? [] : [Message.system(spec.system)]), Message.user(prompt.success)],
    n: 1,
    temperature: spec.temperature ?? 0,
    maxTokens: spec.max_tokens ?? usualTokens
  })
  const reply = choice?.text ?? ""
  const { otherwise } = spec
  const read = Reading.read(Reading.spoken(reply), spec.read)
  const isKnown = worthOf(read, spec) !== undefined
  const verdict = isKnown || typeof otherwise !== "string" ? read : otherwise
  const worth = worthOf(verdict, spec) ?? (typeof otherwise === "number" ? otherwise : undefined)
  if (worth === undefined) {
    return yield* new Environment.Unscorable({
      message: `cannot parse the judge's verdict: ${JSON.stringify(reply.slice(-200))}`
    })
  }
  return { reply, verdict: verdict ?? null, worth }
})

/** A grade, and the share of each named verdict. */
export const grade = (name: string, spec: Of<"judge">) =>
  Effect.map(Judge.required, (judge) =>
    Effect.fnUntraced(function* (item: Judged, answer: Answer) {
      const template = item.references.length > 0 ? (spec.prompt_with_reference ?? spec.prompt) : spec.prompt
      const { reply, verdict, worth } = yield* ask(judge, spec, template, wordsOf(item, answer))
      const shares = Object.entries(spec.shares ?? {}).map(
        ([share, target]) => [share, verdict?.toLowerCase() === target.toLowerCase() ? 1 : 0] as const
      )
      const graded: Verdict = {
        values: { [name]: worth, ...Object.fromEntries(shares) },
        parsed: answer.text,
        notes: { verdict, judge: reply }
      }
      return graded
    })
  )

/** Preference over the row's answer: the mean of both orders, 0 to 1, with 0.5 as par. */
export const comparison = (name: string, spec: Of<"comparison">) =>
  Effect.map(Judge.required, (judge) =>
    Effect.fnUntraced(function* (item: Judged, answer: Answer) {
      const words = wordsOf(item, answer)
      const other = fill(`{${spec.with}}`, item.columns, "score's with")
      if (Result.isFailure(other)) return yield* new Environment.Unscorable({ message: other.failure })
      const [first, second] = yield* Effect.all(
        [
          ask(judge, spec, spec.prompt, { ...words, answer_a: answer.text, answer_b: other.success }),
          ask(judge, spec, spec.prompt, { ...words, answer_a: other.success, answer_b: answer.text })
        ],
        { concurrency: 2 }
      )
      const turned = 1 - second.worth
      const weightOf = (verdict: string | null) => named(spec.weights ?? {}, verdict ?? "") ?? 1
      const [a, b] = [weightOf(first.verdict), weightOf(second.verdict)]
      const weighted = `${name}_weighted`
      const compared: Verdict = {
        values: {
          [name]: (first.worth + turned) / 2,
          ...(spec.weights && { [weighted]: (a * first.worth + b * turned) / (a + b) }),
          // 1 if both orders agree; reveals the judge's bias.
          [`${name}_orders_agree`]: Math.sign(first.worth - 0.5) === Math.sign(turned - 0.5) ? 1 : 0
        },
        parsed: answer.text,
        notes: {
          verdicts: [first.verdict, second.verdict],
          judge: [first.reply, second.reply],
          ...(spec.weights && { weights: { [weighted]: a + b } })
        }
      }
      return compared
    })
  )
