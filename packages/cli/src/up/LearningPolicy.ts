/**
 * A scripted policy for the quick start that seems to learn: it solves arithmetic stories with a chance that grows step by step.
 *
 * It knows the answers because it makes the same stories from the same seed. No model is asked and none is trained.
 */
import { ServerManager } from "@atropos/core"
import { ArithmeticStories } from "@atropos/envs"
import { Effect, type Layer, Random } from "effect"

export interface LearningPolicyOptions {
  readonly seed: number
  readonly difficulty: number
  readonly largestNumber: number
  /** How far the training is, 0 to 1. */
  readonly progress: () => number
}

const chanceAtStart = 0.15
const chanceAtEnd = 0.95

/** Stories looked through for a question before it counts as somebody else's. */
const farthest = 100_000

/** The answers of the stories with a seed, made as far as they are asked for. */
const answersOf = ({ difficulty, largestNumber, seed }: LearningPolicyOptions) => {
  const answers = new Map<string, number>()
  let index = 0
  return (question: string): number | undefined => {
    while (!answers.has(question) && index < farthest) {
      const story = ArithmeticStories.story({ seed, index: index++, difficulty, largestNumber })
      answers.set(story.question, story.answer)
    }
    return answers.get(question)
  }
}

const questionOf = (
  request: Parameters<Extract<Parameters<typeof ServerManager.layerScripted>[0], Function>>[0]
): string => {
  if ("prompt" in request) return request.prompt
  const content = request.messages.findLast(({ role }) => role === "user")?.content
  return typeof content === "string" ? content : ""
}

/** The policy as the inference servers of a program. */
export const layer = (options: LearningPolicyOptions): Layer.Layer<ServerManager.ServerManager> => {
  const answerTo = answersOf(options)
  return ServerManager.layerScripted(
    (request) =>
      Effect.gen(function* () {
        const answer = answerTo(questionOf(request)) ?? 0
        const chance = chanceAtStart + (chanceAtEnd - chanceAtStart) * Math.min(1, options.progress())
        return yield* Effect.forEach(Array.from({ length: request.n ?? 1 }), () =>
          Effect.gen(function* () {
            const isRight = (yield* Random.next) < chance
            const said = isRight ? answer : answer + 1 + (yield* Random.nextIntBetween(0, 5))
            return `Counting along, step by step, that makes \\boxed{${said}}.`
          })
        )
      }),
    { modelName: "scripted-learner", latency: "20 millis" }
  )
}
