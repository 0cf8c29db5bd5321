/**
 * What an evaluation is, as data: where its rows come from, what is asked of them, how an answer is read and scored.
 *
 * A suite is a YAML file of this shape; adding one is adding a file. `origin` says where prompt and scores come from.
 * Columns are named as rows have them, or by a path (`context.contexts`); prompts are templates over columns
 * (`{question}`) and, where there are choices, over `{choices}` and `{letters}`. Patterns are JavaScript's.
 */
import { Schema } from "effect"
import { meanings } from "../mcqa/Row.ts"
import { MadeColumns } from "./MadeColumns.ts"
import { Score } from "./ScoreSpec.ts"

const Text = Schema.NonEmptyString
const positive = Schema.Int.check(Schema.isGreaterThan(0))

/** Rows: of the hub or a file, with the category that all of them have. */
const Source = Schema.Struct({ source: Text, category: Schema.optionalKey(Text) })

const Choices = Schema.Struct({
  /** A column with a list (of texts, or of texts and labels), or several columns with commas between them. */
  from: Schema.optionalKey(Text),
  /** The same choices in every row. */
  texts: Schema.optionalKey(Schema.NonEmptyArray(Text)),
  /** Column with the labels, where they stand apart. */
  labels: Schema.optionalKey(Text),
  /** Column with the answer; where it is one of several columns of choices, it is the right one. */
  answer: Text,
  /** What the answer is: `index` counts from 0, `number` from 1. */
  answer_is: Schema.optionalKey(Schema.Literals(meanings)),
  /** How a choice is listed. Default: `{letter}) {text}`. */
  line: Schema.optionalKey(Text),
  /** What in front of a choice is not of its text: `^\([A-Z]\) ?`. */
  without: Schema.optionalKey(Text),
  /** Whether choices come in an order of the item's own. Always, where the right one has a column of its own. */
  shuffled: Schema.optionalKey(Schema.Boolean)
}).check(
  Schema.makeFilter(({ from, texts }) =>
    (from === undefined) === (texts === undefined) ? "exactly one of from and texts must be given" : undefined
  )
)

const Gold = Schema.Struct({
  /** A column with a text, or a list of texts any of which is right. */
  from: Text,
  /** The answer follows the last of these. */
  after: Schema.optionalKey(Text),
  /** The first group of the last match. */
  pattern: Schema.optionalKey(Text),
  /** What values stand for: `true: "yes"`. */
  values: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Whether all texts of a list are one answer, with commas between them. */
  joined: Schema.optionalKey(Schema.Boolean),
  /** Whether the answer is what stands in the last box of a solution. */
  boxed: Schema.optionalKey(Schema.Boolean),
  /** Whether the column is DROP's, a map of number, date and spans. */
  drop: Schema.optionalKey(Schema.Boolean)
})

/**
 * Two answers to be compared by the model itself, in both orders: `{answer_a}`, `{answer_b}`; right is `A` or `B`. A
 * column may hold a list: the first good one is compared with each of the others.
 */
const Pairs = Schema.Struct({ chosen: Text, rejected: Text })

/** Grids of ARC-AGI: columns with lists of `{ input, output }`. Each of the questions is an item. */
const Grids = Schema.Struct({ examples: Text, questions: Text })

/**
 * The model writes nothing: its choice is the one that it finds likeliest after the prompt, which goes to it as text,
 * without a chat template. Scores are `by: likelihood`.
 */
const Likelihood = Schema.Struct({
  /** Template of what is scored, over columns, `{text}` and `{letter}`. Default: a space and the choice's text. */
  choice: Schema.optionalKey(Text),
  /**
   * Column of a text with a blank, `_`: the prompt is what stands before it with the choice in its place, and what
   * follows is scored.
   */
  blank: Schema.optionalKey(Text)
})

/** Solved rows in front of the question. */
const Shots = Schema.Struct({
  data: Schema.optionalKey(Text),
  count: positive,
  /** Templates of a solved row: what is asked, and the answer to it. */
  question: Text,
  answer: Text,
  /** Rows that have the same value in this column. */
  same: Schema.optionalKey(Text),
  /** `chat`: turns of their own; `text`: in front of the question in its turn. */
  as: Schema.Literals(["chat", "text"]),
  joined_by: Schema.optionalKey(Schema.String),
  /** What in an answer is left out. */
  without: Schema.optionalKey(Text)
})

const Value = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])

export const Suite = Schema.Struct({
  name: Text.check(Schema.isPattern(/^[a-z0-9][a-z0-9._-]*$/)),
  title: Text,
  /** One line. */
  about: Text,
  /** Rows: one source, or several. `--data` takes their place; without any it has to be given. */
  data: Schema.optionalKey(Schema.Union([Text, Schema.NonEmptyArray(Source)])),
  /** What rows have to be, where there is no data set of the hub that is. */
  layout: Schema.optionalKey(Text),
  /** Of the rows, as the card of the data set says. */
  licence: Text,
  paper: Schema.optionalKey(Text),
  /** Where prompt, settings and scores come from, with version and licence. */
  origin: Text,
  /** With what scores were compared, and what differs. */
  compared: Schema.optionalKey(Text),
  /** Rows that count: those with these values. */
  where: Schema.optionalKey(Schema.Record(Schema.String, Schema.Union([Value, Schema.Array(Value)]))),
  /** Column with an id. Default: made of what is asked. */
  id: Schema.optionalKey(Text),
  /** Columns that are made of others before all else. */
  columns: Schema.optionalKey(MadeColumns),
  /** Column by whose values figures are also told. */
  category: Schema.optionalKey(Text),
  choices: Schema.optionalKey(Choices),
  pairs: Schema.optionalKey(Pairs),
  grids: Schema.optionalKey(Grids),
  likelihood: Schema.optionalKey(Likelihood),
  gold: Schema.optionalKey(Schema.Union([Text, Gold])),
  system: Schema.optionalKey(Text),
  /** What is asked. */
  prompt: Schema.optionalKey(Text),
  /** Column with a list of what is asked one after the other. */
  turns: Schema.optionalKey(Text),
  /** Column with a reference for judges: a text, or one for each turn. */
  reference: Schema.optionalKey(Text),
  shots: Schema.optionalKey(Shots),
  /** Scores by name; the first is the main one, unless `main` names another. */
  score: Schema.Record(Schema.String, Score),
  /** Further values: the means of others. */
  mean_of: Schema.optionalKey(Schema.Record(Schema.String, Schema.NonEmptyArray(Text))),
  main: Schema.optionalKey(Text),
  /** What of the main score counts as solved: this or more. Default: 1. */
  solved_from: Schema.optionalKey(Schema.Finite),
  samples: Schema.optionalKey(positive),
  temperature: Schema.optionalKey(Schema.Finite),
  top_p: Schema.optionalKey(Schema.Finite),
  max_tokens: Schema.optionalKey(positive),
  stop: Schema.optionalKey(Schema.Array(Text)),
  /** Seconds for an item, judges included. */
  seconds: Schema.optionalKey(Schema.Finite)
}).check(
  Schema.makeFilter(({ choices, data, layout, likelihood, prompt, samples, score, shots, turns }) => {
    const isWritten = likelihood?.blank === undefined
    const count = [prompt, turns, likelihood?.blank].filter((one) => one !== undefined).length
    if (count !== 1) {
      return isWritten
        ? "exactly one of prompt and turns must be given"
        : "likelihood.blank stands in place of prompt and turns"
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
