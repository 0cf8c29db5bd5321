/**
 * Trains on preferences: a judge compares the answers of a group pairwise, in both orders, and may call a tie.
 *
 * Score of an answer: its share of the points of its comparisons, 0 to 1 with 0.5 as par (`PairwiseJudge`). Evaluation
 * compares one answer with the row's good one; an answer that beats it counts as solved. Default rows: UltraFeedback,
 * MIT.
 *
 * With `system_prompts` an item draws among several, by its own text: one for the group, or one for each answer in
 * turn, so that a group of two with a prompt and "" has one answer with a system prompt and one without. The judge sees
 * none of them; an answer's prompt is in its chat and in its override `system_prompt`. Behaviour: rlaif_server.py of
 * the original.
 */
import { Columns, Environment, Message, SeededRandom, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as Judge from "./kit/Judge.ts"
import * as PairwiseJudge from "./kit/PairwiseJudge.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
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
    "column with a good answer to evaluate against; if unset, none"
  ),
  rejectedColumn: Environment.field(
    nullable,
    "rejected.1.content",
    "column with a worse answer, used by validate only; if unset, none"
  ),
  systemPrompt: Environment.field(Schema.String, "", "system prompt for the policy; if empty, none"),
  systemPrompts: Environment.field(
    Schema.Array(Schema.String),
    [],
    'system prompts to draw from by the item instead of system_prompt; "" in the list: none'
  ),
  systemPromptsPer: Environment.field(
    Schema.Literals(["group", "answer"]),
    "group",
    "group: all answers of a group have the drawn prompt; answer: they take those of the list in turn, starting with the drawn one"
  ),
  shareSystemPrompts: Environment.field(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    1,
    "share of the items for which one of system_prompts is drawn; the others have system_prompt"
  )
})

interface Item {
  readonly prompt: string
  readonly chosen?: string
  readonly rejected?: string
}

type Settings = Parameters<typeof settings.encode>[0]

/** One system prompt per answer to an item; deterministic in seed and item. */
export const systemPromptsOf = (
  {
    seed,
    shareSystemPrompts,
    systemPrompt,
    systemPrompts,
    systemPromptsPer
  }: Pick<Settings, "seed" | "shareSystemPrompts" | "systemPrompt" | "systemPrompts" | "systemPromptsPer">,
  { prompt }: Pick<Item, "prompt">,
  answers: number
): ReadonlyArray<string> => {
  const random = SeededRandom.seeded(seed, SeededRandom.hashOf(prompt))
  const isDrawn = systemPrompts.length > 0 && random.chance(shareSystemPrompts)
  const first = isDrawn ? random.between(0, systemPrompts.length - 1) : 0
  return Array.from({ length: answers }, (_, index) =>
    isDrawn
      ? systemPrompts[(first + (systemPromptsPer === "answer" ? index : 0)) % systemPrompts.length]!
      : systemPrompt
  )
}

const text = (setting: string, column: string) => ({ setting, column, kind: Columns.text })

export const layer = Environment.layer("preference", settings, (selected) =>
  Effect.gen(function* () {
    const { chosenColumn, groupSize, promptColumn, rejectedColumn } = selected
    const servers = yield* ServerManager.ServerManager
    const judge = PairwiseJudge.make(yield* Judge.required, selected)
    const { heldOut, items } = yield* ItemSource.shuffledRows({
      ...selected,
      columns: {
        prompt: text("prompt_column", promptColumn),
        ...(chosenColumn !== null && { chosen: text("chosen_column", chosenColumn) }),
        ...(rejectedColumn !== null && { rejected: text("rejected_column", rejectedColumn) })
      }
    })
    const asking = (systemPrompt: string, groupSize: number) =>
      SingleTurn.make(servers, { ...selected, groupSize }, ({ prompt }: Item) => ({
        messages: [...(systemPrompt === "" ? [] : [Message.system(systemPrompt)]), Message.user(prompt)]
      }))
    const train = (item: Item) => {
      const drawn = systemPromptsOf(selected, item, groupSize)
      const counts = Array.from(new Set(drawn), (one) => [one, drawn.filter((other) => other === one).length] as const)
      return Effect.map(
        Effect.forEach(counts, ([prompt, count]) => asking(prompt, count).train(item), { concurrency: "unbounded" }),
        (answers) => answers.flat()
      )
    }
    const scored = (share: number, { messages }: Trajectory.Trajectory): Environment.Score => {
      const [first] = messages
      const system = first?.role === "system" ? Message.text(first) : ""
      return selected.systemPrompts.length === 0 ? share : { score: share, overrides: { system_prompt: system } }
    }
    return {
      items,
      collectTrajectories: train,
      score: ({ prompt }: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.map(judge.shares(prompt, group), (shares) => shares.map((share, index) => scored(share, group[index]!))),
      ...(chosenColumn !== null && {
        evaluation: {
          items: heldOut,
          collectTrajectories: Effect.fn("Preference.evaluate")(function* (item: Item) {
            const [systemPrompt = ""] = systemPromptsOf(selected, item, 1)
            const trajectories = yield* asking(systemPrompt, 1).evaluate(item)
            const good = { completion: item.chosen ?? "", finishReason: "stop" }
            const scores = yield* Effect.forEach(trajectories, (answer) => judge.shares(item.prompt, [answer, good]))
            return { trajectories, scores: scores.map(([share = 0], index) => scored(share, trajectories[index]!)) }
          }),
          isCorrect: (share: number) => share > 0.5
        }
      }),
      label: ({ prompt }: Item) => prompt,
      metrics: judge.metrics,
      claims:
        chosenColumn === null || rejectedColumn === null
          ? {
              untestable: "only the judge can compare answers, unless chosen_column and rejected_column are set",
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
