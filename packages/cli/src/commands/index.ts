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
    load: () => import("./up.ts")
  },
  api: {
    description: "The trajectory service: what environments send to and trainers take from",
    load: () => import("./api.ts")
  },
  policy: {
    description: "A model behind the OpenAI API, with token ids and hot swap of adapters",
    load: () => import("./policy.ts")
  },
  serve: { description: "An environment against a trajectory service", load: () => import("./serve.ts") },
  train: {
    description: "The trainer: batches of a trajectory service in, an adapter or a model out",
    load: () => import("./train.ts")
  },
  process: {
    description: "Rollouts of an environment to a JSONL file, without a service",
    load: () => import("./process.ts")
  },
  evaluate: {
    description: "The evaluation of an environment, with per-sample results",
    load: () => import("./evaluate.ts")
  },
  validate: {
    description: "An environment's own laws: gold answers score, wrong ones do not, nothing throws",
    load: () => import("./validate.ts")
  },
  envs: { description: "The environments there are, and their settings", load: () => import("./envs.ts") },
  doctor: { description: "What is wrong with this machine, and what to do about it", load: () => import("./doctor.ts") }
} as const satisfies Record<string, VerbEntry>
