/**
 * Counts letters in a word or a long string, with a curriculum of ten tiers.
 *
 * One letter is answered by `<answer>3</answer>`, several by a JSON object with exactly those letters. Score 1 for
 * exact counts in the only answer tag after the only think block, else 0, also if truncated. The tier rises if groups
 * average above `raise_above` and falls below `lower_below`; such groups are not trained on. `prompt_style: compact`,
 * for models trained from scratch on characters: `r:strawberry=` is answered by `3`, `rw:strawberry=` by `3,1`.
 * Behaviour: letter_counting_environment.py of the original.
 */
import { Columns, Dataset, Environment, Evaluation, Message, ServerManager, type Trajectory } from "@atropos/core"
import * as Curriculum from "./kit/Curriculum.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Result, Schema, Stream } from "effect"
import * as Form from "./letters/Form.ts"
import { type Item, itemAt } from "./letters/Items.ts"
import * as Tiers from "./letters/Tiers.ts"

export { characters, demonstration } from "./letters/Items.ts"

const tierNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Tiers.tiers.length }))
const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const settings = Environment.settings({
  ...SingleTurn.fields,
  promptStyle: SingleTurn.promptStyle,
  thinking: SingleTurn.thinking,
  startTier: Environment.field(tierNumber, 3, "tier to start at"),
  maxTier: Environment.field(tierNumber, Tiers.tiers.length, "highest tier"),
  window: Environment.field(positive, 150, "number of groups whose average score decides on the tier"),
  raiseAbove: Environment.field(share, 0.8, "the tier rises above this average"),
  lowerBelow: Environment.field(share, 0.2, "the tier falls below this average"),
  skipEasyAndHard: Environment.field(
    Schema.Boolean,
    true,
    "do not train on groups that average above raise_above or below lower_below"
  ),
  testSource: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "evaluation rows with columns _text and _target_letters (such as NousResearch/Letter-Counting-Eval/train); if unset, held-out items of every tier"
  ),
  evaluationItems: Environment.field(positive, 200, "held-out items per evaluation")
})

const testColumns = {
  text: { setting: "test_source", column: "_text", kind: Columns.text },
  letters: { setting: "test_source", column: "_target_letters", kind: Columns.texts }
} as const

export const layer = Environment.layer("letter-counting", settings, (selected) =>
  Effect.gen(function* () {
    const { evaluationItems, lowerBelow, maxTier, raiseAbove, seed, skipEasyAndHard, testSource, thinking } = selected
    const isCompact = selected.promptStyle === "compact"
    const servers = yield* ServerManager.ServerManager
    const dataset = yield* Dataset.Dataset
    const curriculum = yield* Curriculum.make({ ...selected, levels: maxTier, start: selected.startTier })

    const asking = SingleTurn.make(servers, selected, (item: Item) =>
      isCompact
        ? {
            text: Form.compactPrompt(item),
            maxAnswerLength: Form.compactAnswer(item).length,
            samplingSeed: item.samplingSeed
          }
        : { messages: [Message.user(Form.chatPrompt(item, thinking))] }
    )
    const score = (item: Item, trajectory: Trajectory.Trajectory): Environment.Score => {
      if (isCompact) return SingleTurn.scoreExact(Form.compactAnswer(item), trajectory)
      const { completion, finishReason } = trajectory
      return { rewards: finishReason === "length" ? Form.unread : Form.judge(item, completion, thinking) }
    }
    const published = (source: string) =>
      Columns.rowsAs(source, testColumns, (row) => Result.succeed<Item>({ ...row, tier: 0, samplingSeed: 0 })).pipe(
        Effect.map(Stream.fromArray),
        Effect.provideService(Dataset.Dataset, dataset),
        Stream.unwrap
      )
    const ofEveryTier = Stream.range(0, evaluationItems - 1).pipe(
      Stream.map((index) => itemAt({ seed, index, tier: 1 + (index % maxTier) }, true))
    )

    return {
      items: (cursor: number) =>
        Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(
          Stream.mapEffect((index) => Effect.map(curriculum.level, (tier) => itemAt({ seed, index, tier }, false)))
        ),
      collectTrajectories: asking.train,
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map((trajectory) => score(item, trajectory))),
      ...(!isCompact && { components: { weights: { format: 0, counts: 0, correct: 1 } } }),
      afterScore: ({ tier }: Item, { values }: Environment.JudgedGroup) => {
        const average = Evaluation.mean(values)
        const why = average > raiseAbove ? "too easy" : average < lowerBelow ? "too hard" : undefined
        // A group of equal scores is dropped for that reason anyway.
        const isLeftOut = skipEasyAndHard && why !== undefined && values.some((value) => value !== values[0])
        const followUp = isLeftOut ? { leaveOut: `${why} for tier ${tier}: average ${average}` } : {}
        return Effect.as(curriculum.record({ level: tier, average }), followUp)
      },
      state: curriculum.state,
      metrics: curriculum.metrics,
      evaluation: {
        items: testSource === null ? ofEveryTier : published(testSource),
        collectTrajectories: asking.evaluate
      },
      // A word may appear in several tiers.
      id: ({ letters, text }: Item) => [letters, text],
      label: Form.compactPrompt,
      claims: {
        scoreRange: [0, 1] as const,
        gold: (item: Item) => [isCompact ? Form.compactAnswer(item) : Form.chatCompletion(item, thinking)],
        wrong: (item: Item) =>
          isCompact
            ? ["", `${Form.compactAnswer(item)},0`, Form.compactPrompt(item)]
            : [Form.chatCompletion(item, thinking, 1), Form.chatCompletion(item, thinking).repeat(2), "I do not know."]
      }
    }
  })
)
