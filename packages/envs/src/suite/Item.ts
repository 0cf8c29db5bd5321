/** Builds the items of a row (questions and references) as specified by the suite. */
import { Columns, ExactJson, Message, SeededRandom } from "@atropos/core"
import * as ContentId from "@atropos/core/base/ContentId"
import { Result } from "effect"
import * as Template from "../dataset/Template.ts"
import { letterOf } from "../mcqa/Question.ts"
import { columnsOf } from "../mcqa/Choices.ts"
import * as Cell from "./Cell.ts"
import * as Grid from "./Grid.ts"
import * as MadeColumns from "./MadeColumns.ts"
import * as Row from "./Row.ts"
import type { Suite } from "./Spec.ts"

/** A text to score, and its context. */
export interface Continuation {
  readonly context: string
  readonly text: string
}

export interface Item {
  /** Stable: the same for the same question in the same suite. */
  readonly id: string
  /** Shared by all items of a row. */
  readonly row: string
  readonly category?: string
  /** System prompt, solved examples, and the first question. */
  readonly messages: ReadonlyArray<Message.Message>
  readonly later: ReadonlyArray<string>
  readonly question: string
  readonly letters: ReadonlyArray<string>
  readonly texts: ReadonlyArray<string>
  /** Alternative right answers; empty if none. */
  readonly gold: ReadonlyArray<string>
  /** For judges: one per turn. */
  readonly references: ReadonlyArray<string>
  readonly columns: Cell.Row
  /** Scored for each choice, in suites with `likelihood`. */
  readonly continuations: ReadonlyArray<Continuation>
}

/** A part of a row that is asked about: values for templates in addition to the columns, and the right answers. */
interface Part {
  readonly words: Cell.Row
  readonly gold: ReadonlyArray<string>
  readonly letters: ReadonlyArray<string>
  readonly texts: ReadonlyArray<string>
  /** Distinguishes it from the row's other parts. */
  readonly name: string
}

type Read<A> = Result.Result<A, string>

const whole: Part = { words: {}, gold: [], letters: [], texts: [], name: "" }

/** Fills a template; fails if a column is missing. */
export const fill = (template: string, row: Cell.Row, part: string): Read<string> => {
  for (const column of Template.columnsOf(template)) {
    const value = Columns.at(row, column)
    if (value === undefined) {
      return Result.fail(
        `missing column ${JSON.stringify(column)} (${part} of the suite); columns: ${Object.keys(row).join(", ")}`
      )
    }
  }
  return Result.succeed(Template.fill(template, (column) => Cell.inPrompt(Columns.at(row, column) ?? "")))
}

const withChoices = (row: Cell.Row, spec: NonNullable<Suite["choices"]>): Read<ReadonlyArray<Part>> =>
  Result.map(Row.choicesOf(row, spec), ({ gold, texts }) => {
    const columns = columnsOf(spec.from ?? "")
    const isTold = columns.length > 1 && columns.includes(spec.answer)
    const places = Array.from(texts.keys())
    const order =
      isTold || spec.shuffled === true
        ? SeededRandom.seeded(SeededRandom.hashOf(texts.join("\n")), 0).shuffle(places)
        : places
    const ordered = order.map((place) => texts[place] ?? "")
    const letters = ordered.map((_, place) => letterOf(place))
    const line = spec.line ?? "{letter}) {text}"
    return [
      {
        ...whole,
        letters,
        texts: ordered,
        gold: [letterOf(order.indexOf(gold))],
        words: {
          letters: letters.join(","),
          choices: ordered
            .map((text, place) => line.replace("{letter}", () => letters[place] ?? "").replace("{text}", () => text))
            .join("\n")
        }
      }
    ]
  })

const withPairs = (
  row: Cell.Row,
  { chosen: selected, rejected }: NonNullable<Suite["pairs"]>
): Read<ReadonlyArray<Part>> =>
  Result.gen(function* () {
    const [good] = Cell.textsOf(yield* Row.need(row, selected, "pairs.chosen")) ?? []
    const others = Cell.textsOf(yield* Row.need(row, rejected, "pairs.rejected")) ?? []
    if (good === undefined || others.length === 0) {
      return yield* Result.fail(
        "pairs.chosen and pairs.rejected must be texts, or lists of texts with something in them"
      )
    }
    return others.flatMap((other, place) =>
      (["A", "B"] as const).map((letter): Part => ({
        ...whole,
        letters: ["A", "B"],
        gold: [letter],
        name: `${place + 1}${letter}`,
        words: letter === "A" ? { answer_a: good, answer_b: other } : { answer_a: other, answer_b: good }
      }))
    )
  })

interface Solved {
  readonly input: Grid.Grid
  readonly output: Grid.Grid | undefined
}

const solvedOf = (value: unknown): ReadonlyArray<Solved> | undefined => {
  const parsed =
    typeof value === "string" ? Result.getOrUndefined(Result.try(() => ExactJson.parse(value))) : ExactJson.plain(value)
  if (!Array.isArray(parsed)) return undefined
  const all = parsed.map((one: { readonly input?: unknown; readonly output?: unknown }) => ({
    input: Grid.of(one.input),
    output: Grid.of(one.output)
  }))
  return all.every((one): one is Solved => one.input !== undefined) ? all : undefined
}

const block = ({ input, output }: Solved, place: number): string =>
  `Example ${place + 1}\nInput:\n${Grid.written(input)}\nOutput:\n${output === undefined ? "" : Grid.written(output)}`

const withGrids = (row: Cell.Row, { examples, questions }: NonNullable<Suite["grids"]>): Read<ReadonlyArray<Part>> =>
  Result.gen(function* () {
    const examplesSolved = solvedOf(yield* Row.need(row, examples, "grids.examples"))
    const request = solvedOf(yield* Row.need(row, questions, "grids.questions"))
    if (examplesSolved === undefined || request === undefined || request.some(({ output }) => output === undefined)) {
      return yield* Result.fail(
        "grids.examples and grids.questions must be lists of { input, output }, grids of digits"
      )
    }
    return request.map(({ input, output }, place): Part => ({
      ...whole,
      name: request.length === 1 ? "" : String(place + 1),
      gold: output === undefined ? [] : [Grid.written(output)],
      words: { examples: examplesSolved.map(block).join("\n\n"), input: Grid.written(input) }
    }))
  })

const partsOf = (row: Cell.Row, { choices, gold, grids, pairs }: Suite): Read<ReadonlyArray<Part>> =>
  choices !== undefined
    ? withChoices(row, choices)
    : pairs !== undefined
      ? withPairs(row, pairs)
      : grids !== undefined
        ? withGrids(row, grids)
        : gold === undefined
          ? Result.succeed([whole])
          : Result.map(Row.goldOf(row, gold), (golds) => [{ ...whole, gold: golds }])

export interface Shot {
  readonly question: string
  readonly answer: string
}

export const shotOf = (
  source: Cell.Row,
  suite: Suite,
  { answer, question, without }: NonNullable<Suite["shots"]>
): Read<Shot> =>
  Result.gen(function* () {
    const row = yield* MadeColumns.add(source, suite.columns)
    const [part = whole] = yield* partsOf(row, suite)
    const words = { ...row, ...part.words, gold: part.gold[0] ?? "" }
    const instructions = yield* fill(answer, words, "shots.answer")
    return {
      question: yield* fill(question, words, "shots.question"),
      answer: without === undefined ? instructions : instructions.replace(new RegExp(without), "")
    }
  })

const turnsOf = (row: Cell.Row, suite: Suite): Read<readonly [first: string, later: ReadonlyArray<string>]> => {
  const blank = suite.likelihood?.blank
  if (blank !== undefined) {
    return Result.map(Row.need(row, blank, "likelihood.blank"), (value) => [Cell.inPrompt(value), []])
  }
  if (suite.turns === undefined) return Result.map(fill(suite.prompt ?? "", row, "prompt"), (text) => [text, []])
  return Result.flatMap(Row.need(row, suite.turns, "turns"), (value) => {
    const [first, ...later] = Cell.textsOf(value) ?? []
    return first === undefined
      ? Result.fail(`the column ${suite.turns} (turns) must be a list of texts`)
      : Result.succeed([first, later])
  })
}

/** The system prompt; without a chat a template at the start of the prompt. */
const systemOf = (row: Cell.Row, { likelihood, system = "" }: Suite): Read<string> =>
  likelihood === undefined ? Result.succeed(system) : fill(system, row, "system")

const chatOf = (
  question: string,
  shots: ReadonlyArray<Shot>,
  spec: Suite["shots"],
  instructions: string
): ReadonlyArray<Message.Message> => {
  const head = instructions === "" ? [] : [Message.system(instructions)]
  if (spec?.as === "chat") {
    const turns = shots.flatMap((shot) => [Message.user(shot.question), Message.assistant(shot.answer)])
    return [...head, ...turns, Message.user(question)]
  }
  const between = spec?.joined_by ?? "\n\n"
  const before = shots.map((shot) => `${shot.question}${shot.answer}${between}`).join("")
  return [...head, Message.user(`${before}${question}`)]
}

/** The prompt as text, and the scored continuation of each choice. */
const continuationsOf = (
  messages: ReadonlyArray<Message.Message>,
  question: string,
  row: Cell.Row,
  { letters, texts }: Part,
  { likelihood }: Suite
): Read<ReadonlyArray<Continuation>> => {
  if (likelihood === undefined) return Result.succeed([])
  const context = messages.map(Message.text).join("")
  const { blank, choice = " {text}" } = likelihood
  if (blank === undefined) {
    if (context.trim() === "") return Result.fail("the prompt is empty: there is nothing for a choice to follow")
    return Result.all(
      texts.map((text, at) =>
        Result.map(fill(choice, { ...row, text, letter: letters[at] }, "likelihood.choice"), (written) => ({
          context,
          text: written
        }))
      )
    )
  }
  const at = context.length - question.length + question.indexOf("_")
  if (!question.includes("_"))
    return Result.fail(`the column ${JSON.stringify(blank)} (likelihood.blank) has no blank "_"`)
  return Result.succeed(
    texts.map((text) => ({
      context: `${context.slice(0, at)}${text}`,
      text: ` ${context.slice(at + 1).trim()}`
    }))
  )
}

export interface Options {
  readonly suite: Suite
  /** Replaces the suite's. */
  readonly systemPrompt: string | null
  readonly shots: (row: Cell.Row) => ReadonlyArray<Shot>
  readonly category: string | undefined
}

/** The items of a row, or the reason if none. */
export const ofRow = (source: Cell.Row, { category, shots, suite, systemPrompt }: Options): Read<ReadonlyArray<Item>> =>
  Result.gen(function* () {
    const row = yield* MadeColumns.add(source, suite.columns)
    const kind = suite.category === undefined ? undefined : Cell.written(Columns.at(row, suite.category))
    const own = suite.id === undefined ? undefined : Cell.written(yield* Row.need(row, suite.id, "id"))
    const of = kind ?? category
    const items: Array<Item> = []
    for (const part of yield* partsOf(row, suite)) {
      const words = { ...row, ...part.words }
      const [question, later] = yield* turnsOf(words, suite)
      const instructions = systemPrompt ?? (yield* systemOf(words, suite))
      const messages = chatOf(question, shots(row), suite.shots, instructions)
      const base =
        own ?? ContentId.of([suite.name, question, later, part.words["answer_a"] === undefined ? part.gold : []])
      items.push({
        id: part.name === "" ? base : `${items[0]?.row ?? base}/${part.name}`,
        row: items[0]?.row ?? base,
        ...(of !== undefined && { category: of }),
        messages,
        continuations: yield* continuationsOf(messages, question, words, part, suite),
        later,
        question,
        letters: part.letters,
        texts: part.texts,
        gold: part.gold,
        references: suite.reference === undefined ? [] : (Cell.textsOf(Columns.at(row, suite.reference)) ?? []),
        columns: words
      })
    }
    return items
  })
