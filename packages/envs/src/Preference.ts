/**
 * Preference: a judge compares the answers of a group pairwise, in both orders, and may call a tie.
 *
 * Score of an answer: its share of the points of its comparisons, 0 to 1 with 0.5 as par (`PairwiseJudge`). Metrics
 * tell how much the judge favours the answer shown first, how often both orders agree, and what it cost. Evaluation
 * compares one answer with the row's good one; solved is what beats it. Behaviour: rlaif_server.py of the original.
 * Default rows: UltraFeedback, MIT.
 */
import {
  Columns,
  Environment,
  ItemSource,
  Judge,
  Message,
  PairwiseJudge,
  ServerManager,
  SingleTurn,
  type Trajectory
} from "@atropos/core"
import { Effect, Schema } from "effect"

const nullable = Schema.NullOr(Schema.NonEmptyString)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...PairwiseJudge.fields,
  source: Environment.field(
    Schema.NonEmptyString,
    "HuggingFaceH4/ultrafeedback_binarized/train_prefs",
    "training rows: a data set on the hub, or a file"
  ),
  testSource: Environment.field(
    nullable,
    "HuggingFaceH4/ultrafeedback_binarized/test_prefs",
    "evaluation rows; if unset, a tenth of source is held out"
  ),
  promptColumn: Environment.field(Schema.NonEmptyString, "prompt", "column with the request"),
  chosenColumn: Environment.field(
    nullable,
    "chosen.1.content",
    "column with a good answer to evaluate against; unset if there is none"
  ),
  rejectedColumn: Environment.field(
    nullable,
    "rejected.1.content",
    "column with a worse answer, used by validate only; unset if there is none"
  ),
  systemPrompt: Environment.field(Schema.String, "", "system prompt for the policy; if empty, none")
})

interface Item {
  readonly prompt: string
  readonly chosen?: string
  readonly rejected?: string
}

const text = (setting: string, column: string) => ({ setting, column, kind: Columns.text })

export const layer = Environment.layer("preference", settings, (chosen) =>
  Effect.gen(function* () {
    const { chosenColumn, promptColumn, rejectedColumn, systemPrompt } = chosen
    const servers = yield* ServerManager.ServerManager
    const judge = PairwiseJudge.make(yield* Judge.required, chosen)
    const { heldOut, items } = yield* ItemSource.shuffledRows({
      ...chosen,
      columns: {
        prompt: text("prompt_column", promptColumn),
        ...(chosenColumn !== null && { chosen: text("chosen_column", chosenColumn) }),
        ...(rejectedColumn !== null && { rejected: text("rejected_column", rejectedColumn) })
      }
    })
    const asking = SingleTurn.make(servers, chosen, ({ prompt }: Item) => ({
      messages: [...(systemPrompt === "" ? [] : [Message.system(systemPrompt)]), Message.user(prompt)]
    }))
    return {
      items,
      collectTrajectories: asking.train,
      score: ({ prompt }: Item, group: ReadonlyArray<Trajectory.Trajectory>) => judge.shares(prompt, group),
      ...(chosenColumn !== null && {
        evaluation: {
          items: heldOut,
          collectTrajectories: Effect.fn("Preference.evaluate")(function* (item: Item) {
            const trajectories = yield* asking.evaluate(item)
            const good = { completion: item.chosen ?? "", finishReason: "stop" }
            const scores = yield* Effect.forEach(trajectories, (answer) => judge.shares(item.prompt, [answer, good]))
            return { trajectories, scores: scores.map(([share = 0]) => share) }
          }),
          isCorrect: (share: number) => share > 0.5
        }
      }),
      label: ({ prompt }: Item) => prompt,
      metrics: judge.metrics,
      claims:
        chosenColumn === null || rejectedColumn === null
          ? {
              untestable:
                "which answer is better is the judge's to say, unless chosen_column and rejected_column are named",
              scoreRange: [0, 1] as const
            }
          : {
              scoreRange: [0, 1] as const,
              gold: (item: Item) => [item.chosen ?? ""],
              wrong: (item: Item) => [item.rejected ?? ""]
            }
    }
  })
)
