/**
 * The flags of a page of help: those that most runs need first, then the advanced ones, and none that the verb does not
 * look at (they may be given all the same, as one set of words and one file serve all verbs).
 */
import * as Context from "effect/Context"
import type { HelpDoc } from "effect/cli/HelpDoc"

export interface FlagNotes {
  /** Names without dashes; what ends in a dot stands for all flags that begin so. */
  readonly ignored?: ReadonlyArray<string>
  /** Settings that all environments have, by the names of their flags. */
  readonly everyEnvironments?: ReadonlySet<string>
}

/** What a verb notes about its flags, as an annotation of its command. */
export class Flags extends Context.Service<Flags, FlagNotes>()("@atropos/cli/HelpFlags") {}

/** Flags that many verbs have and few runs need, by what they begin with; `but` are those that many runs need. */
const advanced: ReadonlyArray<{ readonly of: (flag: string) => boolean; readonly but: ReadonlySet<string> }> = [
  {
    of: (flag) => flag.startsWith("openai."),
    but: new Set(["openai.base_url", "openai.model_name", "openai.api_key"])
  },
  { of: (flag) => flag.startsWith("judge."), but: new Set(["judge.base_url", "judge.model_name", "judge.api_key"]) },
  { of: (flag) => flag.startsWith("teacher."), but: new Set(["teacher.base_url", "teacher.model_name"]) },
  { of: (flag) => flag.startsWith("opponent."), but: new Set(["opponent.base_url", "opponent.model_name"]) },
  { of: (flag) => flag.startsWith("lora."), but: new Set(["lora.r"]) },
  { of: (flag) => flag.startsWith("loss."), but: new Set(["loss.preset"]) },
  { of: (flag) => flag.startsWith("metrics."), but: new Set(["metrics.wandb", "metrics.tensorboard"]) }
]

/** Of the settings that every environment has, those that many runs need. */
export const usualSettings = new Set(
  [
    "group_size",
    "max_token_length",
    "total_steps",
    "steps_per_eval",
    "tokenizer_name",
    "rollout_server_url",
    "data_path_to_save_groups",
    "data_dir_to_save_evals"
  ].map((name) => `env.${name}`)
)

/** Of the trainer's and the servers' flags without a prefix, those that few runs need. */
export const rare = new Set([
  "token_budget",
  "quantize",
  "remat",
  "memory",
  "too_long",
  "schedule",
  "warmup_steps",
  "lr_floor",
  "adam_beta1",
  "adam_beta2",
  "adam_epsilon",
  "weight_decay",
  "max_grad_norm",
  "max_non_finite",
  "stop_on",
  "health_webhook",
  "max_mismatch",
  "max_staleness",
  "on_stale",
  "temperature",
  "keep_checkpoints",
  "lease_seconds",
  "prefetch",
  "threads",
  "use_wandb",
  "wandb_project",
  "wandb_group",
  "slurm",
  "max_attempts",
  "max_n_completions",
  "server_wait",
  "tool_call_format"
])

/** Whether most runs get by without a flag; `everyEnvironments` are the settings that all environments have. */
export const isAdvanced = (flag: string, everyEnvironments: ReadonlySet<string>): boolean =>
  rare.has(flag) ||
  (everyEnvironments.has(flag) && !usualSettings.has(flag)) ||
  advanced.some(({ but, of }) => of(flag) && !but.has(flag))

const none: ReadonlySet<string> = new Set()

/**
 * The page with its flags in two groups, of which the second goes by the name of inherited ones until `print` gives it
 * its own.
 */
export const grouped = (doc: HelpDoc): HelpDoc => {
  const { everyEnvironments = none, ignored = [] } = Context.getOrUndefined(doc.annotations, Flags) ?? {}
  const heeded = doc.flags.filter(
    ({ name }) => !ignored.some((one) => (one.endsWith(".") ? name.startsWith(one) : name === one))
  )
  const isRare = ({ name }: HelpDoc["flags"][number]) => isAdvanced(name, everyEnvironments)
  return { ...doc, flags: heeded.filter((flag) => !isRare(flag)), inheritedFlags: heeded.filter(isRare) }
}

/** The text of a page of help. */
export const print = (doc: HelpDoc, format: (doc: HelpDoc) => string): string =>
  format(grouped(doc)).replace("INHERITED FLAGS", "ADVANCED FLAGS")
