/**
 * Describes how to train a small model from scratch on short texts: its character vocabulary, warm start, and default
 * settings (overridden by files and flags).
 *
 * `atropos up` trains a file that exports a recipe next to its environment (`export const recipe = Recipe.of(settings,
 * { … })`) without downloads. Prompts are texts or chats; of a chat the model sees the contents, each followed by a
 * line feed.
 */
import type { Settings } from "../base/Settings.ts"
import type { Message } from "../trajectory/Message.ts"

/**
 * A prompt with a completion to imitate, which may be wrong: demonstrations teach the format, the reward teaches the
 * rest.
 */
export interface Demonstration {
  readonly prompt: string | ReadonlyArray<Message>
  readonly completion: string
}

/** Supervised steps, each of `batchSize` demonstrations. */
export interface WarmStart {
  readonly steps: number
  readonly batchSize: number
  readonly learningRate: number
}

/** Settings by section, as a file has them: snake_case. */
export type Section = { readonly [name: string]: unknown }

/** A recipe for an environment with settings `A`. */
export interface Recipe<A> {
  /** ASCII characters that prompts and answers consist of; the model does not see any others. */
  readonly characters: string | ((settings: A) => string)
  /** Returns demonstration i; each is used once. Without demonstrations the model starts from random answers. */
  readonly demonstration?: (index: number, settings: A) => Demonstration
  /** Default: 200 steps of 64, learning rate 2e-3. */
  readonly warmStart?: Partial<WarmStart>
  /** Max characters of prompt and answer together. Default: 1.5 times the longest demonstration. */
  readonly longest?: number
  /** Standard deviation of the initial embeddings. Default 0.02; use 0.25 if the task is to distinguish characters. */
  readonly embeddingDeviation?: number
  readonly env?: Section
  readonly trainer?: Section
  readonly loss?: Section
}

/** Makes a recipe, inferring the type of the environment's settings. */
export const of = <A>(_settings: Settings<A>, recipe: Recipe<A>): Recipe<A> => recipe
