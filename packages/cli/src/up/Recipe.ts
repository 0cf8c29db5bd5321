/**
 * Defines recipes for training a model from scratch on a small character task in seconds, without downloads: the
 * vocabulary, demonstrations before reinforcement learning, and settings found to learn reliably (docs/training.md has
 * the curves). File and flags take precedence. A recipe only suits its own model: for a user's model only `ownModel`
 * and the trainer's defaults apply.
 */
import type { Recipe as Shared } from "@atropos/core"
import { Addition, Blackjack, LetterCounting, Mcqa, SortLetters, TextReversal } from "@atropos/envs"
import { Effect } from "effect"
import type { Command } from "effect/cli"
import type { RunSettings } from "../config/RunSettings.ts"

type Values = { readonly [name: string]: unknown }

/** The value of `--model` for a model from scratch. */
export const scratch = "scratch"

/** A recipe for specific settings of its environment. */
export interface Recipe {
  readonly characters: string
  /** Max tokens of prompt and completion. */
  readonly longest: number
  /** Standard deviation of the initial embeddings, if the default is too small. */
  readonly embeddingDeviation?: number
  readonly demonstration: (index: number) => Shared.Demonstration
  readonly warmStart: Shared.WarmStart
}

/** A recipe as declared: a function of the environment's settings, and the settings that go with it. */
export interface Definition<Needs = RunSettings> {
  readonly make: (settings: Needs) => Effect.Effect<Recipe, unknown, Command.Environment>
  readonly env: Values
  readonly trainer: Values
  readonly loss: Values
}

/** All rollouts count, including those of groups without differences: a batch is a fixed number of items. */
export const env: Values = { group_size: 8, ensure_scores_are_not_same: false, max_num_workers: 64, steps_per_eval: 0 }

/** Number of training steps of a user's model. The trainer's default of 10 is too few to see progress. */
export const ownSteps = 40

/**
 * Changes to the defaults for a user's model: a step uses all groups, even those with equal scores that teach nothing.
 * If they were dropped, a model that solves none would never finish a step. `Loop` evaluates held-out items between
 * steps.
 *
 * The warm-up is as long as AdamW averages gradients, at most a quarter of the run: its first updates have full size in
 * the direction of one batch's noise. After 2 steps of it a small model forgot what it knew before it found a right
 * answer (docs/training.md).
 */
export const ownModel = (steps = ownSteps): Pick<Definition, "env" | "trainer"> => ({
  env: { ensure_scores_are_not_same: false, steps_per_eval: 0 },
  trainer: { training_steps: ownSteps, warmup_steps: Math.min(10, Math.floor(steps / 4)) }
})

/** Settings of an environment for the bundled model, which needs no demonstrations. */
export type Bundled = Pick<Definition, "env" | "trainer" | "loss"> & { readonly lora: Values }

/** Advantages r - mean without a deviation (Dr. GRPO), DAPO's asymmetric clip and mean over tokens; no reference. */
export const loss: Values = {
  preset: "dapo",
  advantage_scale: "none",
  mask_truncated: false,
  drop_constant_groups: false
}

export const trainer: Values = {
  trains: "all",
  batch_size: 128,
  seq_len: 16,
  lr: 1e-3,
  schedule: "linear",
  lr_floor: 0.1,
  warmup_steps: 5,
  adam_beta2: 0.95,
  weight_decay: 0,
  checkpoint_interval: 50
}

/** Small embeddings are too similar: 600 supervised steps of letter-counting solve 70% with 0.02, 96% with this. */
export const toldApart = 0.25

/** Random answers, shown until the model has the format: correctness is left to the reward. */
const formAlone: Recipe["warmStart"] = { steps: 50, batchSize: 64, learningRate: 2e-3 }

export const definitions: { readonly [environment: string]: Definition<Pick<RunSettings, "input">> } = {
  "sort-letters": {
    make: ({ input }) =>
      Effect.map(SortLetters.settings.decode(input), ({ alphabetSize, letters, seed }) => ({
        characters: SortLetters.characters({ alphabetSize }),
        longest: 2 * letters + 2,
        demonstration: (index) => SortLetters.demonstration({ alphabetSize, letters, seed, index }),
        warmStart: { steps: 200, batchSize: 64, learningRate: 2e-3 }
      })),
    env,
    trainer: { ...trainer, training_steps: 400 },
    loss
  },
  "text-reversal": {
    make: ({ input }) =>
      Effect.map(TextReversal.settings.decode(input), ({ alphabetSize, letters, seed }) => ({
        characters: TextReversal.characters({ alphabetSize }),
        longest: 2 * letters + 2,
        demonstration: (index) => TextReversal.demonstration({ alphabetSize, letters, seed, index }),
        warmStart: { steps: 200, batchSize: 64, learningRate: 2e-3 }
      })),
    env: { ...env, prompt_style: "compact" },
    trainer: { ...trainer, training_steps: 400 },
    loss
  },
  blackjack: {
    make: ({ input }) =>
      Effect.map(Blackjack.settings.decode(input), ({ seed }) => ({
        characters: Blackjack.characters,
        // Twelve decisions of seven characters; nearly all hands have one to three.
        longest: 96,
        demonstration: (index) => Blackjack.demonstration(seed, index),
        warmStart: { steps: 100, batchSize: 64, learningRate: 2e-3 }
      })),
    env: { ...env, prompt_style: "compact" },
    trainer: { ...trainer, batch_size: 512, training_steps: 300 },
    // Without a KL penalty it settles on never taking a card before it can distinguish hands.
    loss: { ...loss, kl: "k3", kl_coef: 0.02 }
  },
  "letter-counting": {
    make: ({ input }) =>
      Effect.map(LetterCounting.settings.decode(input), ({ seed, startTier }) => ({
        characters: LetterCounting.characters,
        // A letter, a word of up to eight, two signs and the count.
        longest: 16,
        embeddingDeviation: toldApart,
        demonstration: (index) => LetterCounting.demonstration({ seed, index, tier: startTier, accuracy: 0 }),
        warmStart: formAlone
      })),
    // One tier: a small character model gets no further within minutes. Many words teach more than many answers to one.
    env: { ...env, group_size: 4, prompt_style: "compact", start_tier: 1, max_tier: 1, skip_easy_and_hard: false },
    trainer: { ...trainer, batch_size: 512, lr: 3e-3, training_steps: 800 },
    // Half of the answers are 1: without a strong KL penalty towards the uniform start it settles there before it
    // learns to count.
    loss: { ...loss, kl: "k2", kl_coef: 0.3 }
  },
  mcqa: {
    make: ({ input }) =>
      Effect.map(Mcqa.settings.decode(input), ({ choices, kinds, largestNumber, seed }) => ({
        characters: Mcqa.characters,
        longest: 32,
        embeddingDeviation: toldApart,
        demonstration: (index) => Mcqa.demonstration({ choices, kinds, largestNumber, seed, index, accuracy: 0 }),
        warmStart: formAlone
      })),
    env: { ...env, prompt_style: "compact", kinds: ["comparison"], choices: 3, largest_number: 9 },
    trainer: { ...trainer, batch_size: 512, lr: 3e-3, training_steps: 500 },
    loss: { ...loss, kl: "k2", kl_coef: 0.2 }
  },
  addition: {
    make: ({ input }) =>
      Effect.map(Addition.settings.decode(input), ({ digits, seed }) => ({
        characters: Addition.characters,
        longest: 3 * digits + 4,
        demonstration: (index) => Addition.demonstration({ digits, seed, index }),
        warmStart: { steps: 1000, batchSize: 64, learningRate: 2e-3 }
      })),
    env,
    trainer: { ...trainer, training_steps: 2500 },
    loss
  }
}

export const bundled: { readonly [environment: string]: Bundled } = {
  "arithmetic-stories": {
    env: {
      group_size: 8,
      max_token_length: 64,
      ensure_scores_are_not_same: false,
      max_num_workers: 64,
      steps_per_eval: 0
    },
    trainer: {
      batch_size: 64,
      seq_len: 256,
      lr: 2e-3,
      schedule: "linear",
      warmup_steps: 5,
      adam_beta2: 0.95,
      weight_decay: 0,
      training_steps: 200,
      checkpoint_interval: 20
    },
    lora: { r: 16, alpha: 32 },
    loss: { preset: "dapo", advantage_scale: "none", drop_constant_groups: false }
  }
}
