/**
 * Formats help pages: `--help` has the common flags and fits 40 lines, `--help-all` adds the advanced ones and the
 * environment's own. Flags the command ignores are hidden but accepted, since one set of arguments and one file serve
 * all commands.
 */
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import type { FlagDoc, HelpDoc } from "effect/cli/HelpDoc"
import * as CommandLine from "../base/CommandLine.ts"

export interface FlagNotes {
  /** Names without dashes; a trailing dot matches all flags with that prefix. */
  readonly ignored?: ReadonlyArray<string>
  /** Names without dashes of flags that are advanced in this command. */
  readonly advanced?: ReadonlyArray<string>
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
  { of: (flag) => flag.startsWith("judge."), but: new Set(["judge.base_url"]) },
  { of: (flag) => flag.startsWith("teacher."), but: new Set(["teacher.base_url"]) },
  { of: (flag) => flag.startsWith("opponent."), but: new Set(["opponent.base_url"]) },
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
  "device",
  "kv_memory_megabytes",
  "policy_port",
  "prefix_cache_megabytes",
  "record_logprobs",
  "router_replay",
  "speculative_tokens",
  "updates_per_batch",
  "weight_updates",
  "token_budget",
  "nodes",
  "rendezvous",
  "quantize",
  "remat",
  "memory",
  "too_long",
  "schedule",
  "warmup_steps",
  "lr_floor",
  "adam_beta1",
  "adam_beta2",
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

const none: ReadonlySet<string> = new Set()

interface Grouped {
  readonly common: ReadonlyArray<FlagDoc>
  /** The environment's own settings. */
  readonly own: ReadonlyArray<FlagDoc>
  readonly advanced: ReadonlyArray<FlagDoc>
}

export const grouped = (doc: HelpDoc): Grouped => {
  const notes = Context.getOrUndefined(doc.annotations, Flags) ?? {}
  const { everyEnvironments = none, ignored = [] } = notes
  const groupOf = ({ name }: FlagDoc): keyof Grouped => {
    if (name.startsWith("env.") && !everyEnvironments.has(name)) return "own"
    const isAdvanced =
      rare.has(name.replaceAll("-", "_")) ||
      (everyEnvironments.has(name) && !usualSettings.has(name)) ||
      notes.advanced?.includes(name) === true ||
      advanced.some(({ but, of }) => of(name) && !but.has(name))
    return isAdvanced ? "advanced" : "common"
  }
  const heeded = doc.flags.filter(
    ({ name }) => !ignored.some((one) => (one.endsWith(".") ? name.startsWith(one) : name === one))
  )
  const of = (group: keyof Grouped) => heeded.filter((flag) => groupOf(flag) === group)
  return { common: of("common"), own: of("own"), advanced: of("advanced") }
}

const maxLines = 40
const maxColumns = 120

/** Drops the clauses after the first of a long description, except the default. */
const brief = ({ description, ...flag }: FlagDoc): FlagDoc => ({
  ...flag,
  description: Option.map(description, (text) => {
    const end = text.indexOf("; ")
    const fallback = text.lastIndexOf(" [default: ")
    if (end === -1 || text.length <= maxColumns - flag.name.length) return text
    return text.slice(0, end) + (fallback > end ? text.slice(fallback) : "")
  })
})

/** The short page: common flags, then the environment's own and examples if they fit. */
export const short = (doc: HelpDoc, format: (doc: HelpDoc) => string): string => {
  const { advanced: rest, common, own } = grouped(doc)
  const { commandPath = [], examples = [], globalFlags = [], subcommands = [] } = doc
  const pageWith = (visible: ReadonlyArray<FlagDoc>, count: number): string => {
    const hidden = rest.length + own.length - visible.length + globalFlags.length
    const page = format({
      ...doc,
      flags: [...common, ...visible].map(brief),
      inheritedFlags: [],
      globalFlags: [],
      examples: examples.slice(0, count)
    })
    const notes = [
      ...(subcommands.length > 0 ? [`Flags of a command: ${CommandLine.of("COMMAND --help")}`] : []),
      ...(doc.flags.some(({ name }) => name === "env") && visible.length === 0
        ? [`Settings of an environment (--env.*): ${CommandLine.of("envs NAME")}`]
        : []),
      `${hidden} more flags: ${CommandLine.of([...commandPath.slice(1), "--help-all"].join(" "))}`
    ]
    return [page.trimEnd(), "", ...notes].join("\n")
  }
  const counts = Array.from(examples.keys(), (index) => examples.length - index)
  const candidates = [
    ...(own.length === 0 ? [] : counts.map((count) => pageWith(own, count))),
    ...[...counts, 0].map((count) => pageWith([], count))
  ]
  return candidates.find((page) => page.split("\n").length <= maxLines) ?? candidates.at(-1)!
}

/** The page with all flags. */
export const whole = (doc: HelpDoc, format: (doc: HelpDoc) => string): string => {
  const { advanced: inheritedFlags, common, own } = grouped(doc)
  // The parser's formatter has no other second group.
  return format({ ...doc, flags: [...common, ...own], inheritedFlags }).replace("INHERITED FLAGS", "ADVANCED FLAGS")
}

/** True if `--help-all` was passed. */
export const isWhole: Context.Reference<boolean> = Context.Reference("@atropos/cli/HelpFlags/isWhole", {
  defaultValue: () => false
})
