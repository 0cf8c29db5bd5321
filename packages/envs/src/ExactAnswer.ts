/**
 * What environments share whose prompt is a short text and whose answer is one exact text, end of sequence included.
 *
 * Made for models that are trained from scratch on a vocabulary of characters: prompts are plain text completions, no chat. Reward 1
 * where the completion is the answer and the model ended it by itself, else 0. A tenth of all prompts is held out for evaluation.
 */
import { ServerManager, type Trajectory } from "@atropos/core"
import { Effect, Stream } from "effect"
import { seeded, type SeededRandom } from "./SeededRandom.ts"

export interface Question {
  readonly prompt: string
  readonly answer: string
}

/** A prompt with a completion to imitate, which need not be right: it teaches the form. */
export interface Demonstration {
  readonly prompt: string
  readonly completion: string
}

interface Item extends Question {
  /** For the sampler, so that a run can be repeated. */
  readonly samplingSeed: number
}

interface Options {
  readonly seed: number
  readonly groupSize: number
  readonly temperature: number
  readonly evaluationItems: number
  readonly draw: (random: SeededRandom) => Question
  readonly wrong: (question: Question) => ReadonlyArray<string>
}

const evaluationSeedOffset = 1_000_003

/** Whether a prompt is held out for evaluation: one in ten, by its text alone. */
export const isHeldOut = (prompt: string): boolean => {
  let hash = 0x811c9dc5
  for (let at = 0; at < prompt.length; at++) hash = Math.imul(hash ^ prompt.charCodeAt(at), 0x01000193)
  return seeded(hash, 0).between(0, 9) === 0
}

/** Question number `index` of a seed, of the wanted part: the first drawn that belongs to it. */
export const questionAt = (
  draw: (random: SeededRandom) => Question,
  { heldOut, index, seed }: { readonly seed: number; readonly index: number; readonly heldOut: boolean }
): Question => {
  const random = seeded(seed, index)
  let question = draw(random)
  while (isHeldOut(question.prompt) !== heldOut) question = draw(random)
  return question
}

/** The definition of such an environment. */
export const definition = (
  servers: ServerManager.ServerManager["Service"],
  { draw, evaluationItems, groupSize, seed, temperature, wrong }: Options
) => {
  const itemAt = (index: number, heldOut: boolean): Item => {
    const from = heldOut ? seed + evaluationSeedOffset : seed
    const samplingSeed = seeded(from, index).between(0, 2 ** 31 - 1)
    return { ...questionAt(draw, { seed: from, index, heldOut }), samplingSeed }
  }
  // One token more than the answer has characters: the end. With a coarser vocabulary that is ample.
  const ask = ({ answer, prompt, samplingSeed }: Item, options: Partial<ServerManager.TextRequest>) =>
    servers.complete({ prompt, maxTokens: answer.length + 1, seed: samplingSeed, ...options })
  return {
    items: (cursor: number) =>
      Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(Stream.map((index) => itemAt(index, false))),
    collectTrajectories: (item: Item) => ask(item, { n: groupSize, temperature }),
    score: ({ answer }: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
      Effect.succeed(
        group.map(({ completion, finishReason }) => (completion === answer && finishReason === "stop" ? 1 : 0))
      ),
    evaluation: {
      items: Stream.range(0, evaluationItems - 1).pipe(Stream.map((index) => itemAt(index, true))),
      collectTrajectories: (item: Item) => ask(item, { split: "eval", temperature: 0 })
    },
    label: ({ prompt }: Item) => prompt,
    claims: {
      scoreRange: [0, 1] as const,
      gold: ({ answer }: Item) => [answer],
      wrong
    }
  }
}
