/** Lists the subcommands; the code of each is loaded on demand. */
import type { MakeCommand } from "./commands/CliCommand.ts"

export interface CommandEntry {
  readonly description: string
  readonly load: () => Promise<{ readonly make: MakeCommand }>
}

/** In the order of `--help`. */
export const commands = {
  up: {
    description: "Train in one process: trajectory service, environment, policy and trainer",
    load: () => import("./commands/Up.ts")
  },
  api: {
    description: "Run the trajectory service, which collects rollouts of environments into batches for trainers",
    load: () => import("./commands/Api.ts")
  },
  policy: {
    description: "Serve a model over the OpenAI API, with token ids and hot-swapped adapters",
    load: () => import("./commands/Policy.ts")
  },
  tinker: {
    description: "Serve a model over the Tinker API, so that its SDK and cookbook train and sample on this machine",
    load: () => import("./commands/Tinker.ts")
  },
  gateway: {
    description: "Serve a model to agents of any SDK, with sessions and rewards, or record their conversations",
    load: () => import("./commands/Gateway.ts")
  },
  openenv: {
    description: "Serve an environment over the OpenEnv protocol, for other trainers and clients",
    load: () => import("./commands/OpenEnv.ts")
  },
  serve: {
    description: "Run an environment that sends its rollouts to a trajectory service",
    load: () => import("./commands/Serve.ts")
  },
  train: {
    description: "Train an adapter or all weights on batches from a trajectory service",
    load: () => import("./commands/Train.ts")
  },
  torch: {
    description:
      "Install PyTorch for train --engine torch (torch install), or join a trainer on another machine (torch join)",
    load: () => import("./commands/Torch.ts")
  },
  top: {
    description: "Watch a run of a running service in the terminal",
    load: () => import("./commands/Top.ts")
  },
  runs: {
    description: "List the runs of a running service, or delete one (runs delete NAME)",
    load: () => import("./commands/Runs.ts")
  },
  merge: {
    description: "Merge an adapter into its model, as a regular model folder",
    load: () => import("./commands/Merge.ts")
  },
  process: {
    description: "Write rollouts of an environment to a JSONL file, without a trajectory service",
    load: () => import("./commands/Process.ts")
  },
  view: {
    description: "Browse saved groups, write them to one HTML file, or print the URL of a service's viewer",
    load: () => import("./commands/View.ts")
  },
  "sft-gen": {
    description: "Make a fine-tuning data set from the best sequences of a service, saved groups or an environment",
    load: () => import("./commands/sets/SftGen.ts")
  },
  "dpo-gen": {
    description: "Make a preference data set: pairs of better and worse sequences, from the same sources",
    load: () => import("./commands/sets/DpoGen.ts")
  },
  atif: {
    description: "Convert saved groups to ATIF or OpenEnv's training traces, formats of agent trajectories, and back",
    load: () => import("./commands/Atif.ts")
  },
  evaluate: {
    description: "Evaluate a policy on an environment, with per-sample results",
    load: () => import("./commands/evaluate/Evaluate.ts")
  },
  validate: {
    description: "Check an environment (correct answers score, wrong ones do not, scoring never throws), or a loss",
    load: () => import("./commands/Validate.ts")
  },
  reverify: {
    description: "Re-score saved groups with the current environment, and report or correct changes",
    load: () => import("./commands/Reverify.ts")
  },
  init: {
    description: "Create a new environment from a template, with its test",
    load: () => import("./commands/Init.ts")
  },
  "wandb-sync": {
    description: "Upload Weights & Biases runs that were recorded offline",
    load: () => import("./commands/WandbSync.ts")
  },
  envs: { description: "List the environments and their settings", load: () => import("./commands/Envs.ts") },
  doctor: { description: "Check this machine for problems, with fixes", load: () => import("./commands/Doctor.ts") }
} as const satisfies Record<string, CommandEntry>
