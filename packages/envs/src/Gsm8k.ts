/**
 * Asks grade-school math word problems (GSM8K) in one turn, with a symbolic check of the boxed answer.
 *
 * Score 1 if the last box after the thinking holds the number after `####` in the reference, else -1. If all of a group
 * are right, the score is 1 up to half of `max_token_length`, then falls linearly to 0. Completions of fewer than 10
 * tokens count for the group's mean but are not trained on. Data: Cobbe et al. 2021, https://arxiv.org/abs/2110.14168
 * (MIT). Behaviour: gsm8k_server.py of the original.
 */
import { Dataset, Environment, Message, type RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as MathAnswer from "./verify/math/MathAnswer.ts"
import * as MathVerifier from "./verify/MathVerifier.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import { Effect, Schema, Stream } from "effect"
import * as FormCredit from "./math/FormCredit.ts"

/** A row of the published data set; `answer` is a worked solution that ends in `#### <number>`. */
export class Problem extends Schema.Class<Problem>("@atropos/envs/Gsm8k/Problem")({
  question: Schema.NonEmptyString,
  answer: Schema.NonEmptyString
}) {}

export const settings = Environment.settings({
  groupSize: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 8, "rollouts per item"),
  trainSplit: Environment.field(
    Schema.NonEmptyString,
    "openai/gsm8k/main/train",
    "training rows: a data set on the hub, or a file"
  ),
  testSplit: Environment.field(
    Schema.NonEmptyString,
    "openai/gsm8k/main/test",
    "evaluation rows: a data set on the hub, or a file"
  ),
  seed: Environment.field(Schema.Int, 42, "random seed for the order of the rows"),
  temperature: Environment.field(Environment.nonNegative, 1, "sampling temperature for training rollouts"),
  evalTemperature: Environment.field(Environment.nonNegative, 0.6, "sampling temperature for evaluation rollouts"),
  formReward: FormCredit.field
})
/** The answer of a reference, usually the text after the last `####`, without thousands separators. */
export const referenceAnswer = (answer: string): string =>
  /####\s*$/.test(answer) ? "" : MathAnswer.extractReference(answer).trim().replaceAll(",", "")

export const layer = Environment.layer("gsm8k", settings, (selected) =>
  Effect.gen(function* () {
    const { evalTemperature, formReward, groupSize, maxTokenLength, seed, temperature, testSplit, trainSplit } =
      selected
    const servers = yield* ServerManager.ServerManager
    const verifier = yield* MathVerifier.MathVerifier
    const dataset = yield* Dataset.Dataset
    const items = yield* Dataset.shuffled(trainSplit, Problem, { seed })
    const system = Message.system(instructions(maxTokenLength))

    const ask = ({ question }: Problem, sampling: Pick<ServerManager.ChatRequest, "n" | "split" | "temperature">) =>
      servers.chat({ messages: [system, Message.user(question)], maxTokens: maxTokenLength, ...sampling })

    return {
      items,
      collectTrajectories: (problem: Problem) => ask(problem, { n: groupSize, temperature }),
      score: Effect.fn("Gsm8k.score")(function* (problem: Problem, group: ReadonlyArray<Trajectory.Trajectory>) {
        const gold = referenceAnswer(problem.answer)
        if (gold === "")
          return yield* new Environment.Unscorable({ message: "the reference answer has no #### number" })
        const correct = yield* Effect.forEach(
          group,
          ({ completion }) => verifier.grade(`\\boxed{${gold}}`, completion, MathAnswer.boxedOptions),
          { concurrency: "unbounded" }
        )
        return SingleTurn.rightAndShort(correct, group, selected).map((rewards, index) => ({
          rewards: FormCredit.add(rewards, group[index]!.completion, formReward),
          ...SingleTurn.asRead(gold, MathAnswer.extract(group[index]!.completion, MathAnswer.boxedOptions))
        }))
      }),
      components: FormCredit.ruleOf(SingleTurn.rightAndShortRule, formReward),
      evaluation: {
        items: Stream.unwrap(Effect.map(dataset.rows(testSplit, Problem), Stream.fromIterable)),
        collectTrajectories: (problem: Problem) => ask(problem, { n: 1, split: "eval", temperature: evalTemperature }),
        // Right answers score less the longer they are.
        isCorrect: (_: number, rewards?: RewardComponents.Rewards) => rewards?.["correct"] === 1
      },
      label: ({ question }: Problem) => question,
      claims: {
        scoreRange: [-1, 1] as const,
        gold: ({ answer }: Problem) => [
          `<think>${answer}</think>The answer is \\boxed{${referenceAnswer(answer)}}`,
          `So \\boxed{${referenceAnswer(answer)}.0}`,
          `So \\boxed{${referenceAnswer(answer)}}. This answer is correct.`
        ],
        wrong: ({ answer }: Problem) => [
          `So \\boxed{${Number(referenceAnswer(answer)) + 1}}`,
          `<think>\\boxed{${referenceAnswer(answer)}}</think>I am not sure.`,
          `\\boxed{${Number(referenceAnswer(answer)) + 1}}. The answer is ${referenceAnswer(answer)}.`,
          `The answer is ${referenceAnswer(answer)}`
        ]
      }
    }
  })
)

const instructions = (maxTokens: number): string =>
  `You reason carefully before you answer. Put your reasoning between <think> and </think>, as long as it needs to be, then write
the solution for the reader. You have ${maxTokens} tokens at most; use fewer where you can.

End with the final answer in this form: \\boxed{answer}. The last box counts. An answer that is not boxed gets no credit.`
