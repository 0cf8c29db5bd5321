/**
 * Asks for answers in one of over 160 formats, from `\boxed{…}` and JSON to `ANSWER IS: …` and reports in tags.
 *
 * Score 1 if the text after the only think block has the format exactly once; with `scoring: answer` it must also be
 * right. Components: `format`, and `correct` if the answer is known. The prompt's placeholder is not an answer. Formats
 * are data (`answer-format/Rule`); `own_formats` adds more. With `ensure_equivalent_ratios` a format pauses after
 * `format_group_threshold` successful groups until the others have caught up. Behaviour: answer_format_environment.py
 * of the original.
 */
import { Columns, Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as TextAnswer from "./verify/Text.ts"
import * as Thinking from "./kit/Thinking.ts"
import { Effect, Result, Schema, Stream } from "effect"
import * as Balance from "./answer-format/Balance.ts"
import * as Marker from "./dataset/Marker.ts"
import * as Items from "./answer-format/Items.ts"
import { read } from "./answer-format/Reading.ts"
import { Domain, Format } from "./answer-format/Rule.ts"
import { exampleOf, placeholder, sample } from "./answer-format/Written.ts"

const formNames = Schema.Array(Schema.String).check(
  Schema.makeFilter((names: ReadonlyArray<string>) => Items.unknownAmong(names) ?? true)
)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("openai/gsm8k/main/train"),
  thinking: SingleTurn.thinking,
  questionField: Environment.field(Schema.NonEmptyString, "question", "column with the question"),
  answerField: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "column with the answer; if unset, only the form is checked"
  ),
  answerAfter: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "marker in the answer column; the answer follows its last occurrence"
  ),
  domain: Environment.field(Domain, "any", "subject of the rows: math and code have additional forms"),
  scoring: Environment.field(
    Schema.Literals(["format", "answer"]),
    "format",
    "format: 1 for the form alone; answer: 1 for the form with the right answer"
  ),
  formats: Environment.field(formNames, [], "forms to ask for, by name; if empty, all"),
  ownFormats: Environment.field(
    Schema.Array(Format),
    [],
    'additional forms, such as {"name": "stars", "rule": {"kind": "between", "open": "<<", "close": ">>"}}'
  ),
  ensureEquivalentRatios: Environment.field(
    Schema.Boolean,
    false,
    "a form that succeeded in format_group_threshold groups pauses until the others have"
  ),
  formatGroupThreshold: Environment.field(
    Schema.Int.check(Schema.isGreaterThan(0)),
    50,
    "successful groups after which a form pauses"
  )
})

const nothing: Columns.Kind<null> = { expected: "anything", read: () => null }

const instructions = (format: Format, thinking: boolean): string =>
  [
    thinking
      ? "Think between <think> and </think> first. Then answer in the form below: exactly once, and not while you think."
      : "Answer in the form below, exactly once.",
    `The form, in which "${placeholder}" and other words that say what belongs there are to be replaced:`,
    exampleOf(format.rule)
  ].join("\n\n")

export const layer = Environment.layer("answer-format", settings, (selected) =>
  Effect.gen(function* () {
    const { answerAfter, answerField, domain, evaluationItems, questionField, scoring, seed, source, thinking } =
      selected
    const servers = yield* ServerManager.ServerManager
    const formats = Items.selected(selected.formats, selected.ownFormats)
    const balance = yield* Balance.make({
      names: formats.map(({ name }) => name),
      threshold: selected.formatGroupThreshold,
      isOn: selected.ensureEquivalentRatios
    })
    const open = Effect.map(balance.open, (names) => formats.filter(({ name }) => names.has(name)))
    const columns = {
      question: { setting: "question_field", column: questionField, kind: Columns.text },
      // Without a named column the answer is not read.
      answer:
        answerField === null
          ? { setting: "question_field", column: questionField, kind: nothing }
          : { setting: "answer_field", column: answerField, kind: Columns.text }
    }
    const goldOf = (answer: string): string | undefined =>
      answerAfter === null ? answer.trim() : Marker.answerAfter(answer, answerAfter)
    const rows =
      source === ItemSource.generated
        ? undefined
        : yield* ItemSource.shuffledRowsAs({ ...selected, columns }, ({ answer, question }) => {
            if (answer === null) return Result.succeed<Items.Asked>({ question })
            const gold = goldOf(answer)
            return gold === undefined
              ? Result.fail(`its answer has no ${JSON.stringify(answerAfter)} (answer_after)`)
              : Result.succeed<Items.Asked>({ question, gold })
          })
    const rowAs = (row: Items.Asked, index: number, among: ReadonlyArray<Format>): Items.Item => {
      // All formats that fit a row may be paused.
      const possible = Items.forRow(row, domain, among)
      return Items.rowAt(row, seed, index, possible.length > 0 ? possible : Items.forRow(row, domain, formats))
    }
    const asking = SingleTurn.make(servers, selected, ({ format, question }: Items.Item) => ({
      messages: [Message.system(instructions(format, thinking)), Message.user(question)]
    }))
    const score = ({ format, gold }: Items.Item, trajectory: Trajectory.Trajectory): Environment.Score => {
      const answer = trajectory.finishReason === "length" ? undefined : Thinking.answer(trajectory.completion, thinking)
      const reply = answer === undefined ? undefined : read(format.rule, answer)
      // A format without a place for the answer is never wrong.
      const isRight = reply !== undefined && gold !== undefined && TextAnswer.equivalent(gold, reply.answer ?? gold)
      return {
        rewards: { format: reply === undefined ? 0 : 1, ...(gold !== undefined && { correct: isRight ? 1 : 0 }) }
      }
    }
    const asAnswer = (text: string): string => (thinking ? `<think>I know this.</think>\n${text}` : text)

    return {
      items: (cursor: number) =>
        rows === undefined
          ? Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(
              Stream.mapEffect((index) => Effect.map(open, (among) => Items.trainingAt(seed, index, among)))
            )
          : Stream.mapEffect(Items.numbered(rows.items, cursor), ([row, index]) =>
              Effect.map(open, (among) => rowAs(row, index, among))
            ),
      collectTrajectories: asking.train,
      score: (item: Items.Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map((trajectory) => score(item, trajectory))),
      components: { weights: scoring === "format" ? { format: 1, correct: 0 } : { format: 0, correct: 1 } },
      afterScore: ({ format }: Items.Item, { values }: Environment.JudgedGroup) =>
        values.some((value) => value > 0) ? balance.succeeded(format.name) : Effect.void,
      state: balance.state,
      metrics: balance.metrics,
      evaluation: {
        items:
          rows === undefined
            ? Items.heldOut(seed, evaluationItems, formats)
            : Stream.map(Stream.zipWithIndex(rows.heldOut), ([row, index]) => rowAs(row, index, formats)),
        collectTrajectories: asking.evaluate
      },
      id: ({ format, question }: Items.Item) => [question, format.name],
      label: ({ format, question }: Items.Item) => `${question} [${format.name}]`,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ format, gold = "something" }: Items.Item) => [asAnswer(sample(format.rule, gold))],
        wrong: ({ format, gold = "something" }: Items.Item) => {
          const right = sample(format.rule, gold)
          return [
            "",
            asAnswer(""),
            asAnswer(gold),
            asAnswer(exampleOf(format.rule)),
            asAnswer(`${right}\n${right}`),
            ...(thinking ? [right, `<think>${right}</think>`] : [])
          ]
        }
      }
    }
  })
)
