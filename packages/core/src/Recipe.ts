/**
 * How a small model is trained from scratch on an environment of short texts: its vocabulary of characters, what it is
 * shown before reinforcement learning, and settings below a file and flags.
 *
 * A file that exports one beside its environment (`export const recipe = Recipe.of(settings, { … })`) is trained by
 * `atropos up` with nothing to download. Prompts are texts, or chats: of those a model from scratch sees the contents,
 * each followed by a line feed.
 */
import type { Settings } from "./base/Settings.ts"
import type { Message } from "./Message.ts"

/**
 * A prompt with a completion to imitate, which need not be right: it teaches the form, and the reward what is left out.
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

/** A recipe for an environment with these settings. */
export interface Recipe<A> {
  /** ASCII characters that prompts and answers consist of; all others the model does not see. */
  readonly characters: string | ((settings: A) => string)
  /** Number i; each is used once. Without demonstrations the model begins with answers at random. */
  readonly demonstration?: (index: number, settings: A) => Demonstration
  /** Default: 200 steps of 64, learning rate 2e-3. */
  readonly warmStart?: Partial<WarmStart>
  /** Longest prompt and answer together, characters. Default: the longest demonstration, and half as much again. */
  readonly longest?: number
  /** Of the first embeddings, 0.02 by default; 0.25 where the task is to tell characters apart. */
  readonly embeddingDeviation?: number
  readonly env?: Section
  readonly trainer?: Section
  readonly loss?: Section
}

/** A recipe with the type of its environment's settings. */
export const of = <A>(_settings: Settings<A>, recipe: Recipe<A>): Recipe<A> => recipe
