/**
 * Scores answers to the prompts of a data set with a reward model behind HTTP.
 *
 * The score is the endpoint's number, unchanged (`Rewards.endpoint`: batched over groups, retried, with limits). The
 * endpoint receives the prompt in the policy's chat template followed by the answer, and the chat itself if the dialect
 * has a field for it. A truncated answer is scored like any other and ignored by the trainer. Evaluation: the mean
 * reward of held-out prompts. Default prompts: UltraFeedback, MIT.
 */
import { Columns, Environment, Message, ServerManager, Tokenizer, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as Rewards from "./rewards/index.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Option, Schema } from "effect"

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...Rewards.endpointFields,
  source: Environment.field(
    Schema.NonEmptyString,
    "HuggingFaceH4/ultrafeedback_binarized/train_prefs",
    "training prompts: a data set on the hub, or a file"
  ),
  testSource: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    "HuggingFaceH4/ultrafeedback_binarized/test_prefs",
    "evaluation prompts; if unset, a tenth of source is held out"
  ),
  promptColumn: Environment.field(Schema.NonEmptyString, "prompt", "column with the request"),
  systemPrompt: Environment.field(Schema.String, "", "system prompt for the policy; if empty, none")
})

interface Item {
  readonly prompt: string
}

export const layer = Environment.layer("reward-model", settings, (selected) =>
  Effect.gen(function* () {
    const { promptColumn, systemPrompt } = selected
    const servers = yield* ServerManager.ServerManager
    const tokenizer = yield* Effect.serviceOption(Tokenizer.Tokenizer)
    const { reward } = yield* Rewards.endpoint(selected)
    const { heldOut, items } = yield* ItemSource.shuffledRows({
      ...selected,
      columns: { prompt: { setting: "prompt_column", column: promptColumn, kind: Columns.text } }
    })
    const chat = ({ prompt }: Item) => [
      ...(systemPrompt === "" ? [] : [Message.system(systemPrompt)]),
      Message.user(prompt)
    ]
    const rendered = Option.match(tokenizer, {
      onNone: () => (item: Item) => `${item.prompt}\n`,
      onSome:
        ({ applyChatTemplate }) =>
        (item: Item) =>
          applyChatTemplate(chat(item), { addGenerationPrompt: true })
    })
    const asking = SingleTurn.make(servers, selected, (item: Item) => ({ messages: chat(item) }))

    return {
      items,
      collectTrajectories: asking.train,
      score: Effect.fn("RewardModel.score")(function* (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) {
        const prompt = rendered(item)
        const scores = yield* Effect.forEach(
          group,
          ({ completion }) => reward({ prompt, completion, messages: [...chat(item), Message.assistant(completion)] }),
          { concurrency: "unbounded" }
        )
        return scores.map((score, index): Environment.Score =>
          group[index]!.finishReason === "length" ? { score, overrides: { set_advantage_to_zero: true } } : score
        )
      }),
      evaluation: { items: heldOut, collectTrajectories: asking.evaluate },
      label: ({ prompt }: Item) => prompt,
      claims: { untestable: "the reward model scores" }
    }
  })
)
