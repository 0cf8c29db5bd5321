/**
 * Implements the losses that clients name: per token in the graph, and on the host, which computes `elementwise_loss`
 * from the graph's logprobs. All are sums over tokens, as the protocol specifies.
 *
 *     cross_entropy         ℓ = -w log π
 *     importance_sampling   ℓ = -r A                                 r = π / q, q the policy that sampled
 *     ppo                   ℓ = -min(r A, clip(r, low, high) A)
 *     cispo                 ℓ = -sg(clip(r, low, high)) A log π      sg: no gradient
 *     dro                   ℓ = -(A log π - β/2 (log r)^2)
 *
 * low and high are `clip_low_threshold` and `clip_high_threshold`, bounds of the ratio, default 0.8 and 1.2; β is
 * `beta`, which has no default. log r is clamped to ±20. https://tinker-docs.thinkingmachines.ai/losses
 */
import { Effect } from "effect"
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"
import * as Objective from "../../loss/Objective.ts"
import type { LossConfig } from "../protocol/ForwardBackward.ts"
import { type OperationFailed, wrong } from "./Failures.ts"

export interface TokenInputs {
  readonly logprob: number
  /** Under the sampling policy. */
  readonly oldLogprob: number
  readonly advantage: number
  /** For cross-entropy; 1 for the others. */
  readonly weight: number
}

export interface Loss {
  readonly name: string
  /** Equal for losses that share a graph. */
  readonly key: string
  /** True if it uses `logprobs` and `advantages`; else it uses `weights`. */
  readonly isPolicyGradient: boolean
  readonly objective: Objective.Objective
  readonly ofToken: (inputs: TokenInputs) => number
}

const bound = 20

const logRatio = ({ logprob, oldLogprob }: TokenInputs) => Math.min(bound, Math.max(-bound, logprob - oldLogprob))
const ratioOf = (inputs: TokenInputs) => Math.exp(logRatio(inputs))
const clip = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value))

const logRatioIn = (graph: Graph, { logprobs, oldLogprobs }: Objective.Tokens) =>
  graph.clip(graph.sub(logprobs, oldLogprobs), -bound, bound)

interface Definition {
  readonly settings: ReadonlyArray<string>
  readonly inGraph: (settings: Settings) => (graph: Graph, tokens: Objective.Tokens) => Value
  readonly onHost: (settings: Settings) => (inputs: TokenInputs) => number
}

interface Settings {
  readonly low: number
  readonly high: number
  readonly beta: number
}

const thresholds = ["clip_low_threshold", "clip_high_threshold"]

const definitions: { readonly [name: string]: Definition } = {
  cross_entropy: {
    settings: [],
    inGraph:
      () =>
      (graph, { logprobs }) =>
        graph.neg(logprobs),
    onHost:
      () =>
      ({ logprob, weight }) =>
        -logprob * weight
  },
  importance_sampling: {
    settings: [],
    inGraph: () => (graph, tokens) => graph.neg(graph.mul(graph.exp(logRatioIn(graph, tokens)), tokens.advantages)),
    onHost: () => (inputs) => -ratioOf(inputs) * inputs.advantage
  },
  ppo: {
    settings: thresholds,
    inGraph:
      ({ high, low }) =>
      (graph, tokens) => {
        const ratio = graph.exp(logRatioIn(graph, tokens))
        const { advantages } = tokens
        return graph.neg(graph.min(graph.mul(ratio, advantages), graph.mul(graph.clip(ratio, low, high), advantages)))
      },
    onHost:
      ({ high, low }) =>
      (inputs) => {
        const ratio = ratioOf(inputs)
        return -Math.min(ratio * inputs.advantage, clip(ratio, low, high) * inputs.advantage)
      }
  },
  cispo: {
    settings: thresholds,
    inGraph:
      ({ high, low }) =>
      (graph, tokens) => {
        const weight = graph.stopGradient(graph.clip(graph.exp(logRatioIn(graph, tokens)), low, high))
        return graph.neg(graph.mul(graph.mul(weight, tokens.advantages), tokens.logprobs))
      },
    onHost:
      ({ high, low }) =>
      (inputs) =>
        -clip(ratioOf(inputs), low, high) * inputs.advantage * inputs.logprob
  },
  dro: {
    settings: ["beta"],
    inGraph:
      ({ beta }) =>
      (graph, tokens) => {
        const difference = logRatioIn(graph, tokens)
        const penalty = graph.scale(graph.mul(difference, difference), beta / 2)
        return graph.sub(penalty, graph.mul(tokens.logprobs, tokens.advantages))
      },
    onHost:
      ({ beta }) =>
      (inputs) =>
        (beta / 2) * logRatio(inputs) ** 2 - inputs.logprob * inputs.advantage
  }
}

export const names: ReadonlyArray<string> = Object.keys(definitions)

const settingsOf = Effect.fnUntraced(function* (
  name: string,
  known: ReadonlyArray<string>,
  config: LossConfig
): Effect.fn.Return<Settings, OperationFailed> {
  for (const [key, value] of config) {
    if (!known.includes(key)) {
      const there = known.length === 0 ? "it has none" : `it has ${known.join(" and ")}`
      return yield* wrong(`loss_fn_config: ${name} has no setting ${key}; ${there}`)
    }
    if (typeof value !== "number" || !Number.isFinite(value)) {
      return yield* wrong(`loss_fn_config: ${key} must be a finite number, not ${JSON.stringify(value)}`)
    }
  }
  const number = (key: string, otherwise: number) => Number(config.get(key) ?? otherwise)
  if (known.includes("beta") && !config.has("beta")) {
    return yield* wrong(`loss_fn_config: ${name} needs beta, the weight of its penalty, typically 0.05`)
  }
  const [low, high, beta] = [number("clip_low_threshold", 0.8), number("clip_high_threshold", 1.2), number("beta", 0)]
  if (low > high) return yield* wrong(`loss_fn_config: clip_low_threshold ${low} is above clip_high_threshold ${high}`)
  return { low, high, beta }
})

/** The loss of a name; fails for an unknown name or unsupported settings. */
export const make = Effect.fnUntraced(function* (
  name: string,
  config: LossConfig
): Effect.fn.Return<Loss, OperationFailed> {
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
  if (definition === undefined) {
    return yield* wrong(
      `unknown loss ${JSON.stringify(name)}; supported are ${names.join(", ")}, and any other by forward_backward_custom`
    )
  }
  const settings = yield* settingsOf(name, definition.settings, config)
  return {
    name,
    key: [name, ...definition.settings.map((key) => config.get(key) ?? "")].join(" "),
    isPolicyGradient: name !== "cross_entropy",
    objective: Objective.make({ name, tokenLoss: definition.inGraph(settings) }),
    ofToken: definition.onHost(settings)
  }
})
