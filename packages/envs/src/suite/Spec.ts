/**
 * Defines the schema of an evaluation: the source of its rows, the questions, how an answer is read and scored.
 *
 * A suite is a YAML file of this shape; adding one is adding a file. Columns are named as in the rows, or by a path
 * (`context.contexts`); prompts are templates over columns (`{question}`) and, if there are choices, over `{choices}`
 * and `{letters}`. Patterns are JavaScript's.
 */
import { Schema } from "effect"
import { meanings } from "../mcqa/Row.ts"
import { MadeColumns } from "./MadeColumns.ts"
import { Score } from "./ScoreSpec.ts"

const Text = Schema.NonEmptyString
const positive = Schema.Int.check(Schema.isGreaterThan(0))

/** Rows of the hub or of a file, with their shared category. */
const Source = Schema.Struct({ source: Text, category: Schema.optionalKey(Text) })

const Choices = Schema.Struct({
  /** A column with a list (of texts, or of texts and labels), or several columns separated by commas. */
  from: Schema.optionalKey(Text),
  /** Choices common to all rows. */
  texts: Schema.optionalKey(Schema.NonEmptyArray(Text)),
  /** Column with the labels, if separate. */
  labels: Schema.optionalKey(Text),
  /** Column with the answer; if it is one of several columns of choices, it is the right one. */
  answer: Text,
  /** The meaning of the answer: `index` counts from 0, `number` from 1. */
  answer_is: Schema.optionalKey(Schema.Literals(meanings)),
  /** Template of a listed choice. Default: `{letter}) {text}`. */
  line: Schema.optionalKey(Text),
  /** Prefix to strip from a choice's text: `^\([A-Z]\) ?`. */
  without: Schema.optionalKey(Text),
  /** Shuffles the choices of each item. Always on if the right one has its own column. */
  shuffled: Schema.optionalKey(Schema.Boolean)
}).check(
  Schema.makeFilter(({ from, texts }) =>
    (from === undefined) === (texts === undefined) ? "exactly one of from and texts must be given" : undefined
  )
)

const Gold = Schema.Struct({
  /** A column with a text, or a list of alternative right texts. */
  from: Text,
  /** The answer is the text after the last occurrence of this. */
  after: Schema.optionalKey(Text),
  /** The answer is the first group of the last match. */
  pattern: Schema.optionalKey(Text),
  /** Replacements of values: `true: "yes"`. */
  values: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Joins the texts of a list to one answer, separated by commas. */
  joined: Schema.optionalKey(Schema.Boolean),
  /** Takes the answer from the last box of a solution. */
  boxed: Schema.optionalKey(Schema.Boolean),
  /** The column is DROP's, a map of number, date and spans. */
  drop: Schema.optionalKey(Schema.Boolean)
})

/**
 * Two answers that the model itself compares, in both orders: `{answer_a}`, `{answer_b}`; right is `A` or `B`. A column
 * may hold a list: the first good one is compared with each of the others.
 */
const Pairs = Schema.Struct({ chosen: Text, rejected: Text })

/** Grids of ARC-AGI: columns with lists of `{ input, output }`. Each question is an item. */
const Grids = Schema.Struct({ examples: Text, questions: Text })

/**
 * Nothing is sampled: the model's choice is the likeliest one after the prompt, which is sent as text, without a chat
 * template. Scores are `by: likelihood`.
 */
const Likelihood = Schema.Struct({
  /** Template of the scored text, over columns, `{text}` and `{letter}`. Default: a space and the choice's text. */
  choice: Schema.optionalKey(Text),
  /**
   * Column of a text with a blank, `_`: the prompt is the text before it plus the choice, and the text after it is
   * scored.
   */
  blank: Schema.optionalKey(Text)
})

const Shots = Schema.Struct({
  data: Schema.optionalKey(Text),
  count: positive,
  /** Templates of an example: question and answer. */
  question: Text,
  answer: Text,
  /** Selects rows with the same value in this column. */
  same: Schema.optionalKey(Text),
  /** `chat`: separate turns; `text`: before the question in the same turn. */
  as: Schema.Literals(["chat", "text"]),
  joined_by: Schema.optionalKey(Schema.String),
  /** Pattern to remove from an answer. */
  without: Schema.optionalKey(Text)
})

const Value = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])

export const Suite = Schema.Struct({
  name: Text.check(Schema.isPattern(/^[a-z0-9][a-z0-9._-]*$/)),
  title: Text,
  /** One line. */
  about: Text,
  /** Rows: one source, or several. Overridden by `--data`, which is required if this is absent. */
  data: Schema.optionalKey(Schema.Union([Text, Schema.NonEmptyArray(Source)])),
  /** Required shape of the rows, if the hub has no such data set. */
  layout: Schema.optionalKey(Text),
  /** Licence of the rows, as stated on the data set's card. */
  licence: Text,
  paper: Schema.optionalKey(Text),
  /** Source of prompt, settings and scores, with version and licence. */
  origin: Text,
  /** The implementation that scores were compared with, and the differences. */
  compared: Schema.optionalKey(Text),
  /** Filter: only rows with these values count. */
  where: Schema.optionalKey(Schema.Record(Schema.String, Schema.Union([Value, Schema.Array(Value)]))),
  /** Column with an id. Default: derived from the question. */
  id: Schema.optionalKey(Text),
  /** Columns derived from others before anything else. */
  columns: Schema.optionalKey(MadeColumns),
  /** Column by whose values scores are also reported. */
  category: Schema.optionalKey(Text),
  choices: Schema.optionalKey(Choices),
  pairs: Schema.optionalKey(Pairs),
  grids: Schema.optionalKey(Grids),
  likelihood: Schema.optionalKey(Likelihood),
  gold: Schema.optionalKey(Schema.Union([Text, Gold])),
  system: Schema.optionalKey(Text),
  /** Template of the question. */
  prompt: Schema.optionalKey(Text),
  /** Column with a list of questions, asked in turn. */
  turns: Schema.optionalKey(Text),
  /** Column with a reference for judges: a text, or one per turn. */
  reference: Schema.optionalKey(Text),
  shots: Schema.optionalKey(Shots),
  /** Scores by name; the first is the main one, unless `main` names another. */
  score: Schema.Record(Schema.String, Score),
  /** Additional values: means of others. */
  mean_of: Schema.optionalKey(Schema.Record(Schema.String, Schema.NonEmptyArray(Text))),
  main: Schema.optionalKey(Text),
  /** Minimum main score that counts as solved. Default: 1. */
  solved_from: Schema.optionalKey(Schema.Finite),
  samples: Schema.optionalKey(positive),
  temperature: Schema.optionalKey(Schema.Finite),
  top_p: Schema.optionalKey(Schema.Finite),
  max_tokens: Schema.optionalKey(positive),
  stop: Schema.optionalKey(Schema.Array(Text)),
  /** Time limit of an item in seconds, including judges. */
  seconds: Schema.optionalKey(Schema.Finite)
}).check(
  Schema.makeFilter(({ choices, data, layout, likelihood, prompt, samples, score, shots, turns }) => {
    const isWritten = likelihood?.blank === undefined
    const count = [prompt, turns, likelihood?.blank].filter((one) => one !== undefined).length
    if (count !== 1) {
      return isWritten ? "exactly one of prompt and turns must be given" : "likelihood.blank replaces prompt and turns"
    }
    if (data === undefined && layout === undefined) return "data or layout must be given"
    if (Object.values(score).some(({ by }) => (by === "likelihood") !== (likelihood !== undefined))) {
      return "scores by likelihood, and no others, go with the part likelihood"
    }
    if (likelihood === undefined) return undefined
    if (choices === undefined) return "likelihood needs choices"
    if (turns !== undefined || shots?.as === "chat") return "likelihood has neither turns nor examples as: chat"
    return samples !== undefined && samples > 1 ? "likelihood has no samples: nothing is drawn" : undefined
  })
)
export type Suite = typeof Suite.Type
