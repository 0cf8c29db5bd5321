/** The verbs of the command; the code of each is loaded when it is the one asked for. */
import type { MakeVerb } from "./Verb.ts"

export interface VerbEntry {
  readonly description: string
  readonly load: () => Promise<{ readonly make: MakeVerb }>
}

/** In the order in which `--help` lists them. */
export const verbs = {
  up: {
    description: "Everything in one process: the service, an environment, the policy, the trainer",
    load: () => import("./Up.ts")
  },
  api: {
    description: "The trajectory service: what environments send to and trainers take from",
    load: () => import("./Api.ts")
  },
  policy: {
    description: "A model behind the OpenAI API, with token ids and hot swap of adapters",
    load: () => import("./Policy.ts")
  },
  serve: { description: "An environment against a trajectory service", load: () => import("./Serve.ts") },
  train: {
    description: "The trainer: batches of a trajectory service in, an adapter or a model out",
    load: () => import("./Train.ts")
  },
  process: {
    description: "Rollouts of an environment to a JSONL file, without a service",
    load: () => import("./Process.ts")
  },
  view: {
    description: "Saved groups in a browser or in one HTML file; or where the viewer of a service is",
    load: () => import("./View.ts")
  },
  "sft-gen": {
    description: "A data set for fine-tuning: the best sequences of a service, of saved groups or of an environment",
    load: () => import("./SftGen.ts")
  },
  "dpo-gen": {
    description: "A data set of preferences: pairs of better and worse sequences, from the same sources",
    load: () => import("./DpoGen.ts")
  },
  evaluate: {
    description: "The evaluation of an environment, with per-sample results",
    load: () => import("./Evaluate.ts")
  },
  validate: {
    description: "An environment's own laws: gold answers score, wrong ones do not, nothing throws",
    load: () => import("./Validate.ts")
  },
  init: { description: "A starter of an environment of your own, with its test", load: () => import("./Init.ts") },
  "wandb-sync": {
    description: "Uploads runs of Weights & Biases that were kept in folders",
    load: () => import("./WandbSync.ts")
  },
  envs: { description: "The environments there are, and their settings", load: () => import("./Envs.ts") },
  doctor: { description: "What is wrong with this machine, and what to do about it", load: () => import("./Doctor.ts") }
} as const satisfies Record<string, VerbEntry>
