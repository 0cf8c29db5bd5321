/**
 * Prompts for models without a chat template: a text to be continued, as in R1-Zero (arXiv:2501.12948, table 1), with
 * or without worked examples before it.
 *
 * The text ends where the thinking begins, and the model continues: its reasoning, `</think>`, and the answer as a box
 * between `<answer>` and `</answer>`. Sampling stops at the end of the answer, or if the model begins to write as the
 * user. The last box of the last answer counts, never one in the thinking.
 */
import type { ServerManager, Trajectory } from "@atropos/core"
import type { Problem } from "./Problem.ts"

const open = "<answer>"
const close = "</answer>"

/** The stop text `</answer>` is not part of the completion that it ends. */
const stops: ReadonlyArray<string> = ["User:", "Human:", "Assistant:", close]

const opening = `A User asks the Assistant a question about mathematics. The Assistant first thinks about it between <think> and </think>, and then \
gives the final answer in a box between <answer> and </answer>, like this: <think> the reasoning </think> <answer> \\boxed{the answer} </answer>.`

interface Example extends Problem {
  readonly reasoning: string
}

const worked: ReadonlyArray<Example> = [
  {
    problem: "A box holds 4 rows of 6 eggs. 5 eggs break. How many are left?",
    reasoning: "There are 4 times 6, that is 24 eggs. Without the 5 that break, 24 - 5 = 19 are left.",
    answer: "19"
  },
  {
    problem: "Work out $\\frac{1}{2} + \\frac{1}{3}$.",
    reasoning: "Over the common denominator 6 these are 3/6 and 2/6. Their sum is 5/6, in lowest terms.",
    answer: "\\frac{5}{6}"
  },
  {
    problem: "Solve $3x - 7 = 11$ for $x$.",
    reasoning: "Adding 7 on both sides gives 3x = 18. Dividing by 3 gives x = 6. Indeed 3 * 6 - 7 = 11.",
    answer: "6"
  },
  {
    problem: "What is the greatest common divisor of 84 and 36?",
    reasoning: "84 = 2 * 36 + 12, and 36 = 3 * 12 without a rest. So 12 divides both, and nothing larger does.",
    answer: "12"
  }
]

export const mostExamples = worked.length

const turn = (problem: string): string => `User: ${problem}\nAssistant: <think>`

const prompt = ({ problem }: Pick<Problem, "problem">, examples: number): string =>
  [
    opening,
    ...worked
      .slice(0, examples)
      .map(
        ({ answer, problem, reasoning }) => `${turn(problem)} ${reasoning} </think> ${open} \\boxed{${answer}} ${close}`
      ),
    turn(problem)
  ].join("\n\n")

export const request = (
  problem: Pick<Problem, "problem">,
  examples: number,
  sampling: ServerManager.SamplingOptions
): ServerManager.TextRequest => ({ prompt: prompt(problem, examples), stop: stops, ...sampling })

/** The content of the last answer of a text; undefined if none, or no box in it. */
export const answerOf = ({
  completion,
  finishReason
}: Pick<Trajectory.Trajectory, "completion" | "finishReason">): string | undefined => {
  const from = completion.lastIndexOf(open)
  if (from === -1) return undefined
  const to = completion.indexOf(close, from)
  // A missing end tag is valid only if the stop text ended the sampling.
  if (to === -1 && finishReason !== "stop") return undefined
  const reply = completion.slice(from + open.length, to === -1 ? undefined : to)
  return reply.includes("\\boxed") ? reply : undefined
}

export const claims = {
  scoreRange: [-1, 1] as const,
  gold: ({ answer }: Problem) => [
    ` So it is. </think> <answer> \\boxed{${answer}} </answer>`,
    ` First \\boxed{no}. </think> <answer> It is \\boxed{${answer}}.`
  ],
  wrong: ({ answer }: Problem) => [
    ` So it is. </think> <answer> \\boxed{${answer} + 1} </answer>`,
    ` So it is. </think> \\boxed{${answer}}`,
    ` So it is \\boxed{${answer}}. </think> <answer> ${answer} </answer>`,
    ` So it is. </think> <answer> \\boxed{${answer}} </answer> No: <answer> \\boxed{${answer} + 1} </answer>`,
    ""
  ]
}
