/**
 * Asks for a text backwards, character by character.
 *
 * `stop it` is answered by `<reversed_text>ti pots</reversed_text>`. Score 1 for exactly one such block with the exact
 * characters after the only think block; else 0, or with `scoring: share` the similarity. Components: `format`,
 * `correct`, and `similarity` (1 minus the edit distance divided by the longer length). Texts are generated, or rows in
 * the shape of NousResearch/TextReversalDataset. `prompt_style: compact`, for models trained from scratch on
 * characters: `cjhb=` is answered by `bhjc`. Behaviour: text_reversal_environment.py of the original.
 */
import { Columns, Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as Thinking from "./kit/Thinking.ts"
import { Effect, Result, Schema } from "effect"
import { compactPrompt, type Item, lettersOf, likeness, phrase, reversed } from "./reversal/Items.ts"

export { characters, demonstration } from "./reversal/Items.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("NousResearch/TextReversalDataset/train"),
  promptStyle: SingleTurn.promptStyle,
  thinking: SingleTurn.thinking,
  scoring: Environment.field(
    Schema.Literals(["all", "share"]),
    "all",
    "all: 1 for the exact reversal, else 0; share: the similarity to it"
  ),
  textField: Environment.field(Schema.NonEmptyString, "text", "column with the text"),
  fewestWords: Environment.field(positive, 2, "minimum words of a generated text"),
  mostWords: Environment.field(positive, 6, "maximum words of a generated text"),
  letters: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 12 })),
    4,
    "letters of a text, with prompt_style compact"
  ),
  alphabetSize: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 5, maximum: 26 })),
    10,
    "how many letters of the alphabet to draw from, with prompt_style compact"
  )
})

/** Longer texts would test a model's context length rather than this skill. */
const longest = 10_000

const promptOf = ({ text }: Item, thinking: boolean): string =>
  `Write the text between the lines backwards, character by character, spaces and punctuation included.\n---\n${text}\n---\n\n${
    thinking ? "Think between <think> and </think> first. " : ""
  }Give the result as <reversed_text>result</reversed_text>.`

const block = (text: string): string => `<reversed_text>${text}</reversed_text>`
const open = "<reversed_text>"
const close = "</reversed_text>"

/** The content of the only block of an answer, without surrounding line breaks. */
const blockOf = (answer: string): string | undefined => {
  const from = answer.indexOf(open)
  const to = answer.indexOf(close)
  const isOnly = from === answer.lastIndexOf(open) && to === answer.lastIndexOf(close)
  return from === -1 || to < from || !isOnly
    ? undefined
    : answer.slice(from + open.length, to).replace(/^\r?\n|\r?\n$/g, "")
}

export const layer = Environment.layer("text-reversal", settings, (selected) =>
  Effect.gen(function* () {
    const { fewestWords, mostWords, promptStyle, scoring, source, textField, thinking } = selected
    const isCompact = promptStyle === "compact"
    const servers = yield* ServerManager.ServerManager
    const draw = isCompact
      ? lettersOf(selected)
      : phrase({ fewest: Math.min(fewestWords, mostWords), max: Math.max(fewestWords, mostWords) })
    const columns = { text: { setting: "text_field", column: textField, kind: Columns.text } }
    const { heldOut, items } =
      source === ItemSource.generated
        ? ItemSource.drawn({ ...selected, draw, key: compactPrompt })
        : yield* ItemSource.shuffledRowsAs({ ...selected, columns }, ({ text }) =>
            text.length > longest
              ? Result.fail(`its text has more than ${longest} characters`)
              : Result.succeed<Item>({ text: text.trim(), samplingSeed: 0 })
          )
    const asking = SingleTurn.make(servers, selected, (item: Item) =>
      isCompact
        ? { text: compactPrompt(item), maxAnswerLength: item.text.length, samplingSeed: item.samplingSeed }
        : { messages: [Message.user(promptOf(item, thinking))] }
    )
    const score = ({ text }: Item, trajectory: Trajectory.Trajectory): Environment.Score => {
      const gold = reversed(text)
      if (isCompact) return SingleTurn.scoreExact(gold, trajectory)
      const answer = Thinking.answer(trajectory.completion, thinking)
      const block = trajectory.finishReason === "length" || answer === undefined ? undefined : blockOf(answer)
      const correct = block === gold ? 1 : 0
      const similarity = block === undefined ? 0 : likeness(gold, block)
      return {
        rewards: { format: block === undefined ? 0 : 1, correct, similarity },
        ...SingleTurn.asRead(gold, block)
      }
    }
    const asAnswer = (text: string): string => `${thinking ? "<think>Letter by letter.</think>\n" : ""}${block(text)}`

    return {
      items,
      collectTrajectories: asking.train,
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map((trajectory) => score(item, trajectory))),
      ...(!isCompact && {
        components: {
          weights: { format: 0, correct: 0, similarity: 0, [scoring === "share" ? "similarity" : "correct"]: 1 }
        }
      }),
      evaluation: {
        items: heldOut,
        collectTrajectories: asking.evaluate,
        isCorrect: (value: number) => value === 1
      },
      label: compactPrompt,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ text }: Item) => [isCompact ? reversed(text) : asAnswer(reversed(text))],
        wrong: ({ text }: Item) =>
          isCompact
            ? ["", `${reversed(text)}a`, compactPrompt({ text })]
            : ["", reversed(text), asAnswer(`${reversed(text)}.`), asAnswer(reversed(text)).repeat(2), asAnswer("")]
      }
    }
  })
)
