/**
 * Provides shared parts of environments whose items are a picture and a question about it: the prompt, the group with
 * its picture, and the answer.
 *
 * The picture is sent to the model in the user's message and to the service in the group's `images`, once per rollout,
 * as in the original's multimodal environments. The answer is in the only `<answer>` tag after the reasoning.
 */
import { Effect } from "effect"
import type { RolloutGroup } from "@atropos/core/Environment"
import type { InferenceError } from "@atropos/core/inference/wire/Inference"
import { type Message, system } from "@atropos/core/trajectory/Message"
import * as Picture from "./Picture.ts"
import type { ServerManagerShape } from "@atropos/core/inference/ServerManager"
import type { Rule } from "@atropos/core/reward/RewardComponents"
import type { Options } from "./SingleTurn.ts"
import * as Thinking from "./Thinking.ts"

/** A question about a picture. */
export interface Asked {
  readonly picture: Pick<Picture.Picture, "bytes" | "format">
  readonly question: string
  /** Instructions for answering. Default: in an `<answer>` tag. */
  readonly instructions?: string
}

const inTag =
  "You look at a picture and answer a question about it. Give the answer like this: <answer>your answer</answer>"

export const messages = ({ instructions = inTag, picture, question }: Asked): ReadonlyArray<Message> => [
  system(instructions),
  Picture.message(question, picture)
]

/** Only correctness counts; the format alone earns nothing. */
export const rule: Rule = { weights: { format: 0, correct: 1 } }

/** Components: whether a completion has one answer, and whether it is right. */
export const judge = (
  completion: string,
  isRight: (reply: string) => boolean
): { readonly format: number; readonly correct: number } => {
  const reply = Thinking.taggedAnswer(completion)
  return { format: reply === undefined ? 0 : 1, correct: reply !== undefined && isRight(reply) ? 1 : 0 }
}

/** Groups of answers to the items, for training and for evaluation. */
export const make = <Item, E>(
  servers: Pick<ServerManagerShape, "chat">,
  { evalTemperature, groupSize, maxTokenLength, temperature }: Options,
  askedOf: (item: Item) => Effect.Effect<Asked, E>
) => {
  const ask = Effect.fn("PictureQuestion.ask")(function* (
    item: Item,
    sampling: { readonly n: number; readonly temperature: number; readonly split: "train" | "eval" }
  ): Effect.fn.Return<RolloutGroup, E | InferenceError> {
    const question = yield* askedOf(item)
    const trajectories = yield* servers.chat({ messages: messages(question), maxTokens: maxTokenLength, ...sampling })
    const image = Picture.dataUrl(question.picture)
    return { trajectories, images: trajectories.map(() => image) }
  })
  return {
    train: (item: Item) =>
      Effect.map(ask(item, { n: groupSize, temperature, split: "train" }), (group) => ({ groups: [group] })),
    evaluate: (item: Item) => ask(item, { n: 1, temperature: evalTemperature, split: "eval" })
  }
}
