/**
 * Whether trainer and sampler compute the same distribution: their logprobs of tokens that the trainer's present
 * weights sampled.
 *
 * With the same weights the two differ by rounding alone. Where they differ by more, the sequences were sampled
 * otherwise than they say, every ratio of the loss compares two different distributions, and training goes wrong
 * without a sign. So the first steps are held to a bound; later ones, where servers may drift, are reported.
 *
 * Looked at are trained tokens with a logprob of the sampler's, in sequences of the present policy version; before the
 * first update also those whose version nobody knows. Each environment is judged by itself: a small one would hide
 * behind the others. A logprob of what top-p left is above the whole distribution's by at most -log(top-p), which is
 * allowed for; what top-k and min-p took away, and what penalties or a form changed, is not known, so those sequences
 * are not compared (`Sampling` in core).
 */
import { Sampling, type ScoredGroup, Trajectory } from "@atropos/core"
import type { Look } from "./LearnerEngine.ts"
import { isUnknown, switchesOf, type TrainingSequence } from "./TrainingSequence.ts"
import type { WeightedBatch } from "./WeightedBatch.ts"

/** Sums over the tokens that were compared. */
export interface Compared {
  readonly tokens: number
  /** Σ |log π_trainer - log π_sampler| beyond what is allowed for, nats. */
  readonly difference: number
}

export const nothing: Compared = { tokens: 0, difference: 0 }

/** Nats per token; undefined where nothing could be compared. */
export const mean = ({ difference, tokens }: Compared): number | undefined =>
  tokens === 0 ? undefined : difference / tokens

const plus = (a: Compared, b: Compared): Compared => ({
  tokens: a.tokens + b.tokens,
  difference: a.difference + b.difference
})

/**
 * What was cut off a sampler's distribution may put its logprobs this far above the trainer's, nats; none where that is
 * not known.
 */
const allowance = ({ sampling }: TrainingSequence): number | undefined => {
  if (sampling?.logprobs !== "processed") return 0
  return sampling.topK > 0 || sampling.minP > 0 || Sampling.isShifted(sampling) ? undefined : -Math.log(sampling.topP)
}

/** Whether weights of `version` sampled it. */
const isFresh = ({ policyVersion }: TrainingSequence, version: number): boolean =>
  policyVersion === null ? version === 0 : policyVersion === version

/** A sequence; `logprobs` are the trainer's, of its tokens from the second on. */
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

/** By the environments' ids; those of sequences that tell none are one. */
export type ByEnvironment = ReadonlyMap<number | undefined, Compared>

/** Adds up what the engine makes of a batch, item by item. */
export const meter = ({ items, sequences }: WeightedBatch, version: number) => {
  const sums = new Map<number | undefined, Compared>()
  const add: Look = (item, logprobs) => {
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

/** Steps at the beginning that are held to the bound. */
const firstSteps = 3

export type Verdict = "agree" | "disagree" | "drifted"

/**
 * Judges the steps of one environment in their order: `disagree` ends training, `drifted` is said once for as long as
 * it lasts.
 */
export const guard = (bound: number) => {
  let first = nothing
  let steps = 0
  let isDrifted = false
  return (step: Compared): Verdict => {
    const difference = mean(step)
    // A step that is no number is the trainer's to refuse: it must not make the sum of the others one.
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
 * What a sampler on weights of 8 bits may differ by, nats: it rounds activations too, by an amount that only the model
 * tells (0.05 to 0.14 on published ones, docs/models.md). Whoever samples at a temperature of 0.7 where 1 is said
 * differs by more.
 */
const maxRounding = 0.2

/**
 * The same where the sampler rounds by an unknown amount: the first step that can be compared measures it, and
 * later ones may differ by twice that.
 */
export const measuringGuard = (bound: number) => {
  let measured: { readonly bound: number; readonly judge: (step: Compared) => Verdict } | undefined
  return {
    /** What holds now. */
    bound: () => measured?.bound ?? maxRounding,
    judge: (step: Compared): Verdict | "measured" => {
      if (measured !== undefined) return measured.judge(step)
      const difference = mean(step)
      if (difference === undefined || !Number.isFinite(difference)) return "agree"
      if (difference > maxRounding) return "disagree"
      const own = Math.max(bound, 2 * difference)
      measured = { bound: own, judge: guard(own) }
      return "measured"
    }
  }
}

/** How the sequences of these groups say they were sampled. */
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
          : `temperature ${JSON.stringify(temperature)}, no record of the rest`
      })
    )
  )
  return [...explanations].join("; ")
}

const causes = (groups: ReadonlyArray<ScoredGroup.ScoredGroup>, usual: number): ReadonlyArray<string> => [
  `temperature, top-p or penalties: the sequences say "${records(groups)}" (without a record temperature ${usual} is assumed); ` +
    "does the server sample with anything else, from its generation_config.json for one?",
  "logprobs mode: a server that reports raw logprobs at another temperature than 1 (vLLM: --logprobs-mode processed_logprobs)",
  "chat template or tokenizer: tokens that were made from text again, or another template than the model's",
  "adapter or policy version: the server answered with other weights than it says, or has another base model"
]

const precision =
  "precision: weights or caches in bf16, int8 or 4 bits; raise max_mismatch where the figure is what that costs (bf16: about 0.05)"

/**
 * The message for the user. `usual` is the temperature of sequences without a record; `quantize` comes first where
 * it explains most.
 */
export const explain = (
  compared: Compared,
  bound: number,
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  usual: number,
  quantize: "none" | "int8" | "int4" = "none"
): string => {
  const rounded = `precision: quantize is ${quantize}; the sampler must have the same (atropos policy --quantize ${quantize}), and with int8 it rounds activations too: raise max_mismatch where the figure is what that costs, or take int4 or no rounding`
  const all = quantize === "none" ? [...causes(groups, usual), precision] : [rounded, ...causes(groups, usual)]
  return [
    `the sampler's logprobs are not the trainer's: they differ by ${mean(compared)?.toFixed(3)} nats on average over ` +
      `${compared.tokens} tokens that the same weights sampled (max_mismatch: ${bound}). Likely causes, in order:`,
    ...all.map((cause, index) => `${index + 1}. ${cause}`)
  ].join("\n  ")
}
