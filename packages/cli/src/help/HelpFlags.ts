/**
 * Groups the flags of a help page: common ones first, then advanced ones. Flags the command ignores are hidden but
 * accepted, since one set of arguments and one file serve all commands.
 */
import * as Context from "effect/Context"
import type { HelpDoc } from "effect/cli/HelpDoc"

export interface FlagNotes {
  /** Names without dashes; a trailing dot matches all flags with that prefix. */
  readonly ignored?: ReadonlyArray<string>
  /** Flag names of the settings common to all environments. */
  readonly everyEnvironments?: ReadonlySet<string>
}

/** A command's notes about its flags, as an annotation. */
export class Flags extends Context.Service<Flags, FlagNotes>()("@atropos/cli/HelpFlags") {}

/** Flags that many commands have but few runs need, by prefix; `but` lists the exceptions. */
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

/** Common environment settings that many runs need. */
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

/** Flags of trainer and servers without a prefix that few runs need. */
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

/** Returns true for flags most runs do not need; `everyEnvironments` are the settings common to all environments. */
export const isAdvanced = (flag: string, everyEnvironments: ReadonlySet<string>): boolean =>
  rare.has(flag) ||
  (everyEnvironments.has(flag) && !usualSettings.has(flag)) ||
  advanced.some(({ but, of }) => of(flag) && !but.has(flag))

const none: ReadonlySet<string> = new Set()

/** Splits the flags of the page into two groups; the second one appears as inherited flags until `print` renames it. */
export const grouped = (doc: HelpDoc): HelpDoc => {
  const { everyEnvironments = none, ignored = [] } = Context.getOrUndefined(doc.annotations, Flags) ?? {}
  const heeded = doc.flags.filter(
    ({ name }) => !ignored.some((one) => (one.endsWith(".") ? name.startsWith(one) : name === one))
  )
  const isRare = ({ name }: HelpDoc["flags"][number]) => isAdvanced(name, everyEnvironments)
  return { ...doc, flags: heeded.filter((flag) => !isRare(flag)), inheritedFlags: heeded.filter(isRare) }
}

export const print = (doc: HelpDoc, format: (doc: HelpDoc) => string): string =>
  format(grouped(doc)).replace("INHERITED FLAGS", "ADVANCED FLAGS")
