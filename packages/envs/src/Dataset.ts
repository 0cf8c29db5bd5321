/**
 * Turns any data set into an environment by configuration: rows, columns for prompt and answer, weighted rewards.
 *
 * Each row is one turn, unchanged or through a template. The score is the weighted sum of `Rewards`, by default divided
 * by the sum of the weights. Defaults: GSM8K, accuracy of the boxed answer. Behaviour: dataset_env.py of the original,
 * which returned its groups unscored, ignored weights in sums, and scored zero if a reward failed.
 */
import { Environment, Message, NotConfigured, RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as MathAnswer from "./verify/math/MathAnswer.ts"
import * as MathVerifier from "./verify/MathVerifier.ts"
import * as Rewards from "./rewards/index.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Context, Effect, Layer, Result, Schema } from "effect"
import * as Row from "./dataset/Row.ts"

const RewardSpec = Schema.Union([
  Schema.NonEmptyString,
  Schema.Struct({
    type: Schema.NonEmptyString,
    weight: Schema.optionalKey(Schema.Finite),
    params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
  })
])

const text = Schema.NullOr(Schema.NonEmptyString)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  source: Environment.field(
    Schema.NonEmptyString,
    "openai/gsm8k/main/train",
    "rows: a data set on the Hugging Face hub, or a file"
  ),
  testSource: ItemSource.testSource,
  promptField: Environment.field(Schema.NonEmptyString, "question", "column with the prompt: a text or a chat"),
  answerField: Environment.field(
    text,
    "answer",
    "column with the reference answer; leave unset if the rewards need none"
  ),
  answerAfter: Environment.field(text, null, "marker in the answer column; the answer follows its last occurrence"),
  systemPrompt: Environment.field(
    text,
    "Reason step by step, then give the final answer as \\boxed{answer}.",
    "system prompt; if unset, none"
  ),
  promptTemplate: Environment.field(
    text,
    null,
    "template of the user message, with {column} for a column's value; if unset, the prompt column unchanged"
  ),
  rewardFunctions: Environment.field(
    Schema.NonEmptyArray(RewardSpec),
    ["accuracy"],
    `rewards by name, or as {type, weight, params}; available: ${Rewards.names.join(", ")}`
  ),
  idField: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "column with a stable id of the row; if unset, the id is derived from prompt and answer"
  ),
  normalization: Environment.field(
    Schema.Literals(["none", "sum", "minmax"]),
    "sum",
    "how rewards are summed: unchanged, divided by the sum of weights, or scaled to 0..1 within a group"
  ),
  correctAbove: Environment.field(Schema.Finite, 0, "an evaluation item counts as solved above this score"),
  embeddingModel: Environment.field(
    Schema.NonEmptyString,
    "sentence-transformers/all-MiniLM-L6-v2",
    "embedding model of the cosine_scaled reward; downloaded when used"
  )
})

/** Rewards that need a reference answer. */
const needsAnswer: ReadonlySet<string> = new Set(["accuracy", "accuracy_x", "cascading_r1_math", "cosine_scaled", "r1"])

/** Rewards that read the reference as a mathematical one. */
const readsAnswer: ReadonlySet<string> = new Set(["accuracy", "cascading_r1_math", "r1"])

/** Rewards with a known maximum: a right answer in a box. */
const isAccuracy = (rewards: ReadonlyArray<Rewards.Registered>): boolean =>
  rewards.length === 1 && rewards[0]?.name === "accuracy" && rewards[0].weight > 0

const withReference = (score: Environment.Score, solution: string): Environment.Score =>
  typeof score === "number" ? score : { ...score, sample: { gold: [MathAnswer.extractReference(solution)] } }

export const layer = Environment.layer("dataset", settings, (selected) =>
  Effect.gen(function* () {
    const { normalization, rewardFunctions } = selected
    const servers = yield* ServerManager.ServerManager
    const verifier = yield* MathVerifier.MathVerifier
    const rewards = yield* Effect.forEach(rewardFunctions, (spec) => Rewards.create(spec))
    const comparing = rewards.find(({ name }) => needsAnswer.has(name))
    if (selected.answerField === null && comparing !== undefined) {
      return yield* NotConfigured.make(
        `reference answer for the reward ${comparing.name}`,
        "its column, --env.answer_field"
      )
    }
    const embedder = rewards.some(({ name }) => name === "cosine_scaled")
      ? yield* Layer.build(Rewards.layerHuggingFace(selected.embeddingModel))
      : // Only that reward needs an embedder.
        (Context.empty() as Context.Context<Rewards.Embedder>)
    const services = Context.add(embedder, MathVerifier.MathVerifier, verifier)

    const isRead = rewards.some(({ name }) => readsAnswer.has(name))
    const itemOf = Row.make(selected)
    const { heldOut, items } = yield* ItemSource.shuffledRowsAs(
      { ...selected, columns: Row.columnsOf(selected) },
      (picked: Parameters<typeof itemOf>[0]) =>
        Result.flatMap(itemOf(picked), (item) =>
          isRead && item.solution !== undefined && MathAnswer.isUnreadable(item.solution)
            ? Result.fail("the answer is a JSON object, and no key says which value it is; name it `answer`")
            : Result.succeed(item)
        )
    )
    const asking = SingleTurn.make(servers, selected, ({ messages }: Row.Item) => ({ messages }))
    const totalWeight = rewards.reduce((sum, { weight }) => sum + weight, 0)
    const components = Rewards.rule(rewards, normalization)
    const rule = RewardComponents.ruleOf(selected, components)
    const scored = (all: ReadonlyArray<RewardComponents.Rewards>): ReadonlyArray<Environment.Score> => {
      if (normalization !== "minmax") return all.map((parts) => ({ rewards: parts }))
      const scores = Rewards.stretched(all.map((parts) => RewardComponents.scoreOf(parts, rule)))
      return all.map((parts, index) => ({ score: scores[index]!, rewards: parts }))
    }

    return {
      items,
      collectTrajectories: asking.train,
      score: ({ solution }: Row.Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Rewards.components(
          rewards,
          group.map(({ completion }) => completion),
          solution === undefined ? {} : { solution }
        ).pipe(
          Effect.map(scored),
          Effect.map((scores) => (solution === undefined ? scores : scores.map((one) => withReference(one, solution)))),
          Effect.provideContext(services)
        ),
      components,
      evaluation: {
        items: heldOut,
        collectTrajectories: asking.evaluate,
        isCorrect: (score: number) => score > selected.correctAbove
      },
      id: ({ id, messages, solution }: Row.Item) => id ?? { messages, solution },
      label: ({ messages }: Row.Item) => Message.text(messages.at(-1)!),
      claims:
        isAccuracy(rewards) && normalization !== "minmax"
          ? {
              scoreRange: [0, normalization === "sum" ? 1 : totalWeight] as const,
              gold: ({ solution = "" }: Row.Item) => [
                `<think>So.</think>\\boxed{${MathAnswer.extractReference(solution)}}`
              ],
              wrong: () => ["I do not know.", "\\boxed{}", "<think>\\boxed{1}</think>"]
            }
          : { untestable: "the best answer depends on the configured rewards" }
    }
  })
)
