/**
 * Asks multiple-choice questions with lettered answers, generated or from the rows of a data set (MMLU and similar).
 *
 * Score 1 if the answer after the only think block states the right choice ("The best answer is: B", or its text), else
 * -1, also if truncated. If all of a group are right, the score is 1 up to half of `max_token_length`, then falls
 * linearly to 0. Formats of rows' answers: `mcqa/Row.ts`. `prompt_style: compact`, for models trained from scratch on
 * characters: `7+4?A9B11C12=` is answered by `B`; scores 1 and 0. Behaviour: mcqa_thinking_env.py of the original.
 */
import {
  Environment,
  Message,
  type RewardComponents,
  SeededRandom,
  ServerManager,
  type Trajectory
} from "@atropos/core"
import type * as ExactAnswer from "./kit/ExactAnswer.ts"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Schema } from "effect"
import * as Bank from "./mcqa/Bank.ts"
import * as Form from "./mcqa/Form.ts"
import { letterOf, type Question } from "./mcqa/Question.ts"
import * as Row from "./mcqa/Row.ts"
import * as Rows from "./mcqa/Rows.ts"

export const { characters } = Form

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("cais/mmlu/all/auxiliary_train"),
  thinking: SingleTurn.thinking,
  promptStyle: SingleTurn.promptStyle,
  questionField: Environment.field(Schema.NonEmptyString, "question", "column with the question"),
  choicesField: Environment.field(
    Schema.NonEmptyString,
    "choices",
    "column with the choices: a list of texts, or texts and labels; or several columns, separated by commas"
  ),
  labelsField: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "column with the labels of the choices, a list of texts; if unset, letters, or the labels given with the choices"
  ),
  answerField: Environment.field(Schema.NonEmptyString, "answer", "column with the answer"),
  answerIs: Environment.field(
    Schema.Literals(Row.meanings),
    "auto",
    "form of the answer: label, text, index (from 0) or number (from 1); auto infers it from the row"
  ),
  kinds: Environment.field(
    Schema.NonEmptyArray(Schema.Literals(Bank.kindNames)),
    Bank.kindNames,
    `kinds of generated questions, out of: ${Bank.kindNames.join(", ")}`
  ),
  choices: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: Bank.mostChoices })),
    4,
    "number of choices of a generated question"
  ),
  largestNumber: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })),
    100,
    "largest number in generated sums and comparisons"
  )
})

interface Item extends Question {
  readonly samplingSeed: number
}

interface BankSettings {
  readonly kinds: ReadonlyArray<Bank.Kind>
  readonly choices: number
  readonly largestNumber: number
  readonly seed: number
}

const drawing = (selected: BankSettings): ItemSource.Drawing<Item> => {
  const draw = Bank.draw({ ...selected, largest: selected.largestNumber })
  return { seed: selected.seed, draw: (random, samplingSeed) => ({ ...draw(random), samplingSeed }), key: Form.key }
}

/**
 * A compact question with a choice, the right one with probability `accuracy`, else a random one: teaches the format
 * and where to look, and leaves the rest to the reward.
 */
export const demonstration = (
  input: BankSettings & { readonly index: number; readonly accuracy: number }
): ExactAnswer.Demonstration => {
  const item = ItemSource.drawAt(drawing(input), input.index, false)
  const random = SeededRandom.seeded(input.seed + 1, input.index)
  const selected = random.chance(input.accuracy) ? item.gold : random.between(0, item.choices.length - 1)
  return { prompt: Form.compactPrompt(item), completion: letterOf(selected) }
}

export const layer = Environment.layer("mcqa", settings, (selected) =>
  Effect.gen(function* () {
    const { source, thinking } = selected
    const isCompact = selected.promptStyle === "compact"
    const servers = yield* ServerManager.ServerManager
    const { heldOut, items } =
      source === ItemSource.generated
        ? ItemSource.drawn({ ...drawing(selected), evaluationItems: selected.evaluationItems })
        : yield* Rows.shuffled(selected)

    const asking = SingleTurn.make(servers, selected, (item: Item) =>
      isCompact
        ? { text: Form.compactPrompt(item), maxAnswerLength: 1, samplingSeed: item.samplingSeed }
        : { messages: [Message.user(Form.chatPrompt(item, thinking))] }
    )
    const isRight = (item: Item, { completion, finishReason }: Trajectory.Trajectory): boolean =>
      finishReason !== "length" && Form.isRight(item, completion, thinking)
    const scoreChats = (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
      SingleTurn.rightAndShort(
        group.map((trajectory) => isRight(item, trajectory)),
        group,
        selected
      ).map((rewards, index) => ({
        rewards,
        ...SingleTurn.asRead(letterOf(item.gold), Form.letterIn(item, group[index]!.completion, thinking))
      }))

    return {
      items,
      collectTrajectories: asking.train,
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.sync((): ReadonlyArray<Environment.Score> =>
          isCompact
            ? group.map((trajectory) => SingleTurn.scoreExact(letterOf(item.gold), trajectory))
            : scoreChats(item, group)
        ),
      ...(!isCompact && { components: SingleTurn.rightAndShortRule }),
      evaluation: {
        items: heldOut,
        collectTrajectories: asking.evaluate,
        // Right answers score less the longer they are.
        isCorrect: (score: number, rewards?: RewardComponents.Rewards) => (rewards?.["correct"] ?? score) > 0
      },
      label: (item: Item) => (isCompact ? Form.compactPrompt(item) : Form.chatPrompt(item, thinking)),
      claims: {
        scoreRange: isCompact ? ([0, 1] as const) : ([-1, 1] as const),
        gold: ({ gold }: Item) => [isCompact ? letterOf(gold) : Form.chatCompletion(gold, thinking)],
        wrong: ({ choices, gold }: Item) => {
          const other = (gold + 1) % choices.length
          return isCompact
            ? [letterOf(other), `${letterOf(gold)}${letterOf(other)}`, ""]
            : [Form.chatCompletion(other, thinking), letterOf(gold), "I do not know."]
        }
      }
    }
  })
)
