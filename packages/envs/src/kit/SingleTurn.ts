/**
 * Provides shared parts of single-turn environments: a prompt, a group of answers to it, and the prompt once more for
 * evaluation.
 *
 * A prompt is a chat, or a plain text to continue (for models trained from scratch on characters), whose answer is
 * short and known: one token more than its characters suffices, including the end.
 */
import { Effect, Schema } from "effect"
import type { Rule } from "@atropos/core/reward/RewardComponents"
import { lengthPenalty } from "../rewards/LengthPenalty.ts"
import * as Settings from "@atropos/core/base/Settings"
import type { InferenceError } from "@atropos/core/inference/wire/Inference"
import type { Message } from "@atropos/core/trajectory/Message"
import type { ServerManagerShape } from "@atropos/core/inference/ServerManager"
import type { Score, ScoreDetails } from "@atropos/core/reward/Score"
import * as Trajectory from "@atropos/core/trajectory/Trajectory"

/** Settings of items and sampling, to spread into those of an environment. */
export const fields = {
  seed: Settings.field(Schema.Int, 0, "random seed for the items and their order"),
  temperature: Settings.field(Settings.nonNegative, 1, "sampling temperature for training rollouts"),
  evalTemperature: Settings.field(Settings.nonNegative, 0, "sampling temperature for evaluation rollouts"),
  // Generated items need no download, and neither does this tokenizer.
  tokenizerName: Settings.field(
    Schema.String,
    "bytes",
    "the policy's tokenizer: hub id or folder, or bytes for a byte-level one that needs no download"
  )
} as const

/** Setting of environments that read the answer after the reasoning. */
export const thinking = Settings.field(
  Schema.Boolean,
  true,
  "whether an answer to a chat needs exactly one think block first"
)

/** Setting of environments with both forms of a prompt. */
export const promptStyle = Settings.field(
  Schema.Literals(["chat", "compact"]),
  "chat",
  "chat, or compact: a few characters to be continued, for models trained from scratch"
)

export type Prompt =
  | { readonly messages: ReadonlyArray<Message> }
  /** `samplingSeed`: so that a run is reproducible. */
  | { readonly text: string; readonly maxAnswerLength: number; readonly samplingSeed: number }

export interface Options {
  readonly groupSize: number
  readonly maxTokenLength: number
  readonly temperature: number
  readonly evalTemperature: number
}

export interface SingleTurn<Item> {
  readonly train: (item: Item) => Effect.Effect<ReadonlyArray<Trajectory.Trajectory>, InferenceError>
  /** One answer, within the limits of evaluation. */
  readonly evaluate: (item: Item) => Effect.Effect<ReadonlyArray<Trajectory.Trajectory>, InferenceError>
}

export const make = <Item>(
  servers: Pick<ServerManagerShape, "chat" | "complete">,
  { evalTemperature, groupSize, maxTokenLength, temperature }: Options,
  promptOf: (item: Item) => Prompt
): SingleTurn<Item> => {
  const ask = (
    item: Item,
    sampling: { readonly n: number; readonly temperature: number; readonly split: "train" | "eval" }
  ) => {
    const prompt = promptOf(item)
    return "messages" in prompt
      ? servers.chat({ ...prompt, maxTokens: maxTokenLength, ...sampling })
      : servers.complete({
          prompt: prompt.text,
          maxTokens: prompt.maxAnswerLength + 1,
          seed: prompt.samplingSeed,
          ...sampling
        })
  }
  return {
    train: (item) => ask(item, { n: groupSize, temperature, split: "train" }),
    evaluate: (item) => ask(item, { n: 1, temperature: evalTemperature, split: "eval" })
  }
}

/** The rule of `rightAndShort`: 1 for a right answer and less for a long one, -1 for a wrong one. */
export const rightAndShortRule: Rule = { weights: { correct: 2, length: 1 }, base: -1 }

/**
 * Components of right or wrong answers that prefer short ones once all of a group are right: `length` is 0, and falls
 * to -1 from half the answer's token limit on (`lengthPenalty`). The prompt does not count: after one as long as the
 * limit every right answer would score as the longest.
 */
export const rightAndShort = (
  isRight: ReadonlyArray<boolean>,
  group: ReadonlyArray<Pick<Trajectory.Trajectory, "mask">>,
  { maxTokenLength }: Pick<Options, "maxTokenLength">
): ReadonlyArray<{ readonly correct: number; readonly length: number }> => {
  const correct = isRight.map(Number)
  const left = lengthPenalty(correct, group.map(Trajectory.trainedTokens), { maxTokenLength })
  return correct.map((value, index) => ({ correct: value, length: left[index]! - value }))
}

/** Data shown with a score: the expected answer, and the parsed one, if any. */
export const asRead = (expected: string, read: string | undefined): Pick<ScoreDetails, "sample"> => ({
  sample: { gold: [expected], parsed: read ?? null }
})

/** 1 for exactly this text, else 0. */
export const scoreExact = (answer: string, trajectory: Trajectory.Trajectory): Score => ({
  score: isExactly(answer, trajectory) ? 1 : 0,
  ...asRead(answer, trajectory.completion)
})

/** True if a text was continued with exactly this, and ended there by itself. */
export const isExactly = (answer: string, { completion, finishReason }: Trajectory.Trajectory): boolean =>
  completion === answer && finishReason === "stop"
