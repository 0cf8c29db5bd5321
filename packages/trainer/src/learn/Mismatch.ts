/**
 * Checks that trainer and sampler compute the same distribution, by their logprobs of tokens sampled from the trainer's
 * current weights.
 *
 * With the same weights they differ only by rounding. A larger difference means that sequences were not sampled as
 * recorded, and training silently goes wrong. The first steps must satisfy a bound; later ones are only reported.
 *
 * Compares trained tokens with a sampler logprob, in sequences of the current policy version, and before the first
 * update also of unknown version; each environment separately, so that a small one is not hidden. After top-p a logprob
 * exceeds the full distribution's by at most -log(top-p), which is allowed for, unless the trainer renormalises over
 * the same tokens (`keptTokens`). Other sequences sampled with top-k or min-p, and those with penalties or grammars,
 * are not compared, because the effect on logprobs is unknown (`Sampling` in core).
 */
import { Sampling, type ScoredGroup, Trajectory } from "@atropos/core"
import type { LogprobCallback } from "./LearnerEngine.ts"
import { isUnknown, switchesOf, type TrainingSequence } from "./TrainingSequence.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

export interface Compared {
  readonly tokens: number
  /** Σ |log π_trainer - log π_sampler| beyond the allowance, nats. */
  readonly difference: number
}

export const nothing: Compared = { tokens: 0, difference: 0 }

/** Nats per token; undefined if no token was compared. */
export const mean = ({ difference, tokens }: Compared): number | undefined =>
  tokens === 0 ? undefined : difference / tokens

const plus = (a: Compared, b: Compared): Compared => ({
  tokens: a.tokens + b.tokens,
  difference: a.difference + b.difference
})

/** Max excess of the sampler's over the trainer's logprobs due to truncated sampling, nats; undefined if unknown. */
const allowance = ({ keptTokens, sampling }: TrainingSequence): number | undefined => {
  if (sampling?.logprobs !== "processed" || (keptTokens !== undefined && !Sampling.isShifted(sampling))) return 0
  return sampling.topK > 0 || sampling.minP > 0 || Sampling.isShifted(sampling) ? undefined : -Math.log(sampling.topP)
}

/** True if weights of `version` sampled it. */
const isFresh = ({ policyVersion }: TrainingSequence, version: number): boolean =>
  policyVersion === null ? version === 0 : policyVersion === version

/** Compares one sequence; `logprobs` are the trainer's, from the second token on. */
const ofSequence = ({ engineLogprobs, mask }: TrainingSequence, logprobs: Float32Array, allowed: number): Compared => {
  let tokens = 0
  let difference = 0
  for (let t = 0; t < logprobs.length; t++) {
    const sampled = engineLogprobs?.[t + 1] ?? Trajectory.notSampled
    if (mask[t + 1] === 0 || isUnknown(sampled)) continue
    const d = logprobs[t]! - sampled
    tokens++
    difference += d < 0 ? Math.max(0, -d - allowed) : d
  }
  return { tokens, difference }
}

/** By environment id; sequences without one share a key. */
export type ByEnvironment = ReadonlyMap<number | undefined, Compared>

export const meter = ({ items, sequences }: WeightedBatch, version: number) => {
  const sums = new Map<number | undefined, Compared>()
  const add: LogprobCallback = (item, logprobs) => {
    const sequence = sequences[items[item]!.sequence]!
    const allowed = allowance(sequence)
    if (allowed === undefined || !isFresh(sequence, version)) return
    sums.set(
      sequence.environment,
      plus(sums.get(sequence.environment) ?? nothing, ofSequence(sequence, logprobs, allowed))
    )
  }
  return {
    add,
    byEnvironment: (): ByEnvironment => sums,
    sum: (): Compared => sums.values().reduce(plus, nothing)
  }
}

/** Number of initial steps that must satisfy the bound. */
const firstSteps = 3

export type Verdict = "agree" | "disagree" | "drifted"

/**
 * Judges the steps of one environment in order: `disagree` ends training, `drifted` is returned once per drift. The
 * first ones are judged together with what was compared `before`.
 */
export const guard = (bound: number, before = nothing) => {
  let first = before
  let steps = 0
  let isDrifted = false
  return (step: Compared): Verdict => {
    const difference = mean(step)
    // The trainer handles NaN steps; they must not make the sum NaN.
    if (difference === undefined || !Number.isFinite(difference)) return "agree"
    if (steps < firstSteps) {
      steps++
      first = plus(first, step)
      return mean(first)! > bound ? "disagree" : "agree"
    }
    const wasDrifted = isDrifted
    isDrifted = difference > bound
    return isDrifted && !wasDrifted ? "drifted" : "agree"
  }
}

/**
 * Max difference of a sampler with 8-bit weights, nats: it also rounds activations, with a model-dependent effect (0.05
 * to 0.14 on published ones, docs/models.md). Sampling at temperature 0.7 while 1 is recorded differs by more.
 */
const maxRounding = 0.2

/**
 * Like `guard`, for a sampler with unknown rounding: the first comparable step measures it, and all may differ by twice
 * that on average. The first step counts as well, because a later one of few tokens can be far off by chance (Gemma 3
 * 270M: 0.046 over 306 tokens, then 0.095 over 79).
 */
export const measuringGuard = (bound: number) => {
  let measured: { readonly bound: number; readonly judge: (step: Compared) => Verdict } | undefined
  return {
    bound: () => measured?.bound ?? maxRounding,
    judge: (step: Compared): Verdict | "measured" => {
      if (measured !== undefined) return measured.judge(step)
      const difference = mean(step)
      if (difference === undefined || !Number.isFinite(difference)) return "agree"
      if (difference > maxRounding) return "disagree"
      const own = Math.max(bound, 2 * difference)
      measured = { bound: own, judge: guard(own, step) }
      return "measured"
    }
  }
}

/** Describes how these groups' sequences were sampled according to their records. */
const records = (groups: ReadonlyArray<ScoredGroup.ScoredGroup>): string => {
  const explanations = new Set(
    groups.flatMap((group) =>
      group.tokens.map((_, i) => {
        const switches = switchesOf(group, i)
        const record = Sampling.ofSwitches(switches)
        if (record !== undefined) return Sampling.describe(record)
        const { temperature } = switches as { readonly temperature?: unknown }
        return temperature === undefined
          ? "no record"
          : `temperature ${JSON.stringify(temperature)}, other options not recorded`
      })
    )
  )
  return [...explanations].join("; ")
}

const causes = (groups: ReadonlyArray<ScoredGroup.ScoredGroup>, fallback: number): ReadonlyArray<string> => [
  `temperature, top-p or penalties: recorded is "${records(groups)}" (without a record temperature ${fallback} is assumed); ` +
    "does the server apply other options, for example from its generation_config.json?",
  "logprobs mode: the server reports raw logprobs at a temperature other than 1 (vLLM: --logprobs-mode processed_logprobs)",
  "chat template or tokenizer: text was tokenized again, or the template is not the model's",
  "adapter or policy version: the server used weights other than it reports, or has another base model"
]

const precision =
  "precision: weights or caches in bf16, int8 or 4 bits; raise max_mismatch if the difference is due to that (bf16: about 0.05)"

/**
 * Formats the message for the user. `fallback` is the temperature of sequences without a record; `quantize` comes first
 * where it is the likeliest cause.
 */
export const explain = (
  compared: Compared,
  bound: number,
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  fallback: number,
  quantize: "none" | "int8" | "int4" = "none"
): string => {
  const rounded = `precision: quantize is ${quantize}; the sampler must have the same (atropos policy --quantize ${quantize}), and with int8 it rounds activations too: raise max_mismatch if the difference is due to that, or use int4 or none`
  const all = quantize === "none" ? [...causes(groups, fallback), precision] : [rounded, ...causes(groups, fallback)]
  return [
    `the sampler's logprobs do not match the trainer's: they differ by ${mean(compared)?.toFixed(3)} nats on average over ` +
      `${compared.tokens} tokens sampled with the same weights (max_mismatch: ${bound}). Likely causes, in order:`,
    ...all.map((cause, index) => `${index + 1}. ${cause}`)
  ].join("\n  ")
}
