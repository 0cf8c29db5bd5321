/** Hints in errors about settings that are called otherwise here: removed ones, and those of TRL's configuration. */
import * as Nearest from "@atropos/core/base/Nearest"

const removed: { readonly [name: string]: string } = {
  normalize: "use advantage_scale instead: population-std for true, none for false",
  adapter: "merge it into its model first, and train that (atropos merge); atropos policy --adapter serves both"
}

const values: { readonly [name: string]: { readonly [value: string]: string } } = {
  old_policy: { current: 'use "trainer" instead: with updates_per_batch 1 it means the same' }
}

/** Names of TRL's GRPOConfig and of PEFT's LoraConfig, and ours. */
const ofOthers: { readonly [name: string]: string } = {
  beta: "loss.kl_coef",
  epsilon: "loss.clip_low",
  epsilon_high: "loss.clip_high",
  eval_steps: "env.steps_per_eval",
  learning_rate: "lr",
  loss_type: "loss.preset",
  lr_scheduler_type: "schedule",
  max_completion_length: "env.max_token_length",
  max_length: "seq_len",
  max_steps: "training_steps",
  num_generations: "env.group_size",
  num_iterations: "updates_per_batch",
  per_device_train_batch_size: "batch_size",
  save_steps: "checkpoint_interval",
  temperature: "env.temperature"
}

/** The last part of `env.x`, `--loss.x` or `x`. */
const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1).replace(/^-+/, "")

const found = <A>(table: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

const clause = (text: string | undefined): string => (text === undefined ? "" : `; ${text}`)

/** The candidate that means the same: with its section, or without where the candidates are those of a section. */
const equivalent = (name: string, candidates: ReadonlyArray<string>): string | undefined => {
  const ours = found(ofOthers, name)
  const own =
    ours && (candidates.find((one) => one === `--${ours}`) ?? candidates.find((one) => one === lastPart(ours)))
  return own && `did you mean "${own}"?`
}

/**
 * Returns the replacement of a removed setting (name with or without its section), `; did you mean "x"?`, or nothing.
 */
export const hint = (name: string, candidates: Iterable<string>): string => {
  const plain = lastPart(name).replaceAll("-", "_")
  return clause(found(removed, plain) ?? equivalent(plain, [...candidates])) || Nearest.hint(name, candidates)
}

/** The equivalent for a removed value of an existing setting. */
export const value = (name: string, input: unknown): string =>
  clause(typeof input === "string" ? found(found(values, lastPart(name)) ?? {}, input) : undefined)
