/**
 * Trains mathematics with follow-up items: solving problems, judging solutions, correcting mistakes, comparing right
 * ones.
 *
 * *normal*: attempts score 1 or -1 by a symbolic check of the last box after the thinking; for generated problems the
 * box must also have the requested form. If all are right, two that differ become an *rlaif* item (the policy prefers
 * one, in both orders; a group of two), and in a share of such groups scores follow the length: cos(π · (length -
 * shortest) / spread). If some are right, in a share of groups one right and one wrong solution become *judge* items:
 * verdicts score 1 or -1, a right verdict on a wrong solution the share of right new attempts after it; mixed attempts
 * become a *selfcorrect* item that is already scored. Truncated answers score -1 and the trainer ignores them.
 * `prompt_style: base` has no chat template (`math/BasePrompt`) and no follow-ups; with `start_token_length` the
 * maximum answer length grows with training. Behaviour: math_server.py and math_server_zero.py of the original.
 */
import { Columns, Environment, type RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as MathAnswer from "./verify/math/MathAnswer.ts"
import * as MathVerifier from "./verify/MathVerifier.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Result, Schema } from "effect"
import * as Bank from "./math/Bank.ts"
import * as BasePrompt from "./math/BasePrompt.ts"
import * as FormCredit from "./math/FormCredit.ts"
import * as Items from "./math/Items.ts"
import type { Problem } from "./math/Problem.ts"
import * as Rolling from "./math/Rolling.ts"
import * as Scoring from "./math/Scoring.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("zwhe99/DeepMath-103K/train"),
  problemField: Environment.field(Schema.NonEmptyString, "question", "column with the problem"),
  answerField: Environment.field(
    Schema.NonEmptyString,
    "final_answer",
    "column with the answer, or with a solution that has it in a box or after ####"
  ),
  promptStyle: Environment.field(
    Schema.Literals(["chat", "base"]),
    "chat",
    "chat, or base: a text to be continued, for models without a chat template; nothing follows from a group then"
  ),
  examples: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: BasePrompt.mostExamples })),
    0,
    `worked examples before the problem, with prompt_style base; ${BasePrompt.mostExamples} at most`
  ),
  startTokenLength: Environment.field(
    Schema.NullOr(positive),
    null,
    "maximum tokens of an answer at the first step, growing evenly to max_token_length at total_steps; null: always max_token_length"
  ),
  areas: Environment.field(
    Schema.NonEmptyArray(Schema.Literals(Bank.areaNames)),
    Bank.areaNames,
    `areas of generated problems, out of: ${Bank.areaNames.join(", ")}`
  ),
  followUps: Environment.field(Schema.Boolean, true, "follow up with judge, selfcorrect and rlaif items"),
  shareJudged: Environment.field(
    share,
    0.3,
    "share of groups with both right and wrong solutions from which one of each is judged"
  ),
  shareLengthPenalty: Environment.field(share, 0.1, "share of all-correct groups that are scored by length"),
  maskTooLong: Environment.field(Schema.Boolean, true, "do not train on truncated answers"),
  votes: Environment.field(positive, 3, "verdicts per order when two correct solutions are compared"),
  formReward: FormCredit.field
})

const asNormal = (problem: Problem): Items.Item => ({ ...problem, kind: "normal" })

export const layer = Environment.layer("math", settings, (selected) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const verifier = yield* MathVerifier.MathVerifier
    const draw = Bank.draw(selected.areas)
    const { heldOut, items } =
      selected.source === ItemSource.generated
        ? ItemSource.drawn({ ...selected, draw: (random) => asNormal(draw(random)), key: Items.label })
        : yield* ItemSource.shuffledRowsAs(
            {
              ...selected,
              columns: {
                problem: { setting: "problem_field", column: selected.problemField, kind: Columns.text },
                answer: { setting: "answer_field", column: selected.answerField, kind: Columns.answer }
              } as const
            },
            ({ answer, problem }) => Result.succeed(asNormal({ problem, answer: MathAnswer.extractReference(answer) }))
          )
    const { grade, metrics, rollOut } = Rolling.make(servers, verifier, selected)
    const asking = SingleTurn.make(servers, selected, (item: Items.Item) => ({ messages: Items.solve(item) }))
    const isBase = selected.promptStyle === "base"
    const followUps = selected.followUps && !isBase
    const evaluateBase = (item: Items.Item) =>
      servers.complete(
        BasePrompt.request(item, selected.examples, {
          n: 1,
          maxTokens: selected.maxTokenLength,
          temperature: selected.evalTemperature,
          split: "eval"
        })
      )

    return {
      items,
      collectTrajectories: (item: Items.Item) =>
        Effect.map(rollOut(item), ({ groups, requeue }) => ({ groups, requeue: followUps ? requeue : [] })),
      score: (item: Items.Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.map(grade(item, group), (isRight) =>
          Scoring.withForm(Scoring.scores(isRight, group, selected), group, selected).map((parts, index) => ({
            ...parts,
            ...SingleTurn.asRead(item.answer, MathAnswer.extract(group[index]!.completion, MathAnswer.boxedOptions))
          }))
        ),
      components: FormCredit.ruleOf(Scoring.rule, selected.formReward),
      evaluation: {
        items: heldOut,
        collectTrajectories: isBase ? evaluateBase : asking.evaluate,
        isCorrect: (_: number, rewards?: RewardComponents.Rewards) => rewards?.["correct"] === 1
      },
      requeued: Items.codec,
      metrics,
      label: Items.label,
      claims: isBase
        ? BasePrompt.claims
        : {
            scoreRange: [-1, 1] as const,
            gold: ({ answer }: Items.Item) => [
              `<think>So.</think>The answer is \\boxed{${answer}}.`,
              `<think>So.</think>\\boxed{${answer}}. This answer is correct.`
            ],
            wrong: ({ answer }: Items.Item) => [
              `<think>So.</think>The answer is \\boxed{${answer} + 1}.`,
              `<think>\\boxed{${answer}}</think>I do not know.`,
              `<think>So.</think>The answer is ${answer}.`,
              `<think>So.</think>\\boxed{${answer} + 1}. The answer is ${answer}.`,
              ""
            ]
          }
    }
  })
)
