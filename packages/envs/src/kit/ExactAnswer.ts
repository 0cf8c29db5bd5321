/**
 * Environments whose prompt is a short text and whose answer is one exact text, including the end of sequence.
 *
 * Made for models trained from scratch on a vocabulary of characters: prompts are plain text completions without chat.
 * Reward 1 if the completion is the answer and the model ended it by itself, else 0. A tenth of all prompts is held out
 * for evaluation.
 */
import { Effect } from "effect"
import * as ItemSource from "./ItemSource.ts"
import type { SeededRandom } from "@atropos/core/base/SeededRandom"
import type { ServerManagerShape } from "@atropos/core/inference/ServerManager"
import * as SingleTurn from "./SingleTurn.ts"
import type { Trajectory } from "@atropos/core/trajectory/Trajectory"

export interface Question {
  readonly prompt: string
  readonly answer: string
}

/** A prompt with a completion to imitate, which may be wrong: it teaches the format. */
export interface Demonstration {
  readonly prompt: string
  readonly completion: string
}

interface Item extends Question {
  readonly samplingSeed: number
}

export interface Options {
  readonly seed: number
  readonly groupSize: number
  readonly temperature: number
  readonly evaluationItems: number
  readonly draw: (random: SeededRandom) => Question
  readonly wrong: (question: Question) => ReadonlyArray<string>
}

const key = ({ prompt }: Question): string => prompt

/** Training question number `index` of a seed: the first one drawn that belongs to the training part. */
export const questionAt = (draw: (random: SeededRandom) => Question, seed: number, index: number): Question =>
  ItemSource.drawAt({ draw, key, seed }, index, false)

export const definition = (
  servers: Pick<ServerManagerShape, "chat" | "complete">,
  { draw, evaluationItems, groupSize, seed, temperature, wrong }: Options
) => {
  const { heldOut, items } = ItemSource.drawn({
    seed,
    draw: (random, samplingSeed): Item => ({ ...draw(random), samplingSeed }),
    key,
    evaluationItems
  })
  const asking = SingleTurn.make(
    servers,
    { groupSize, temperature, evalTemperature: 0, maxTokenLength: Infinity },
    ({ answer, prompt, samplingSeed }: Item) => ({ text: prompt, maxAnswerLength: answer.length, samplingSeed })
  )
  return {
    items,
    collectTrajectories: asking.train,
    score: ({ answer }: Item, group: ReadonlyArray<Trajectory>) =>
      Effect.succeed(group.map((trajectory) => SingleTurn.scoreExact(answer, trajectory))),
    evaluation: { items: heldOut, collectTrajectories: asking.evaluate },
    label: key,
    claims: {
      scoreRange: [0, 1] as const,
      gold: ({ answer }: Item) => [answer],
      wrong
    }
  }
}
