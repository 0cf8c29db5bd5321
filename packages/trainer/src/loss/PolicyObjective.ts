/**
 * Builds a policy objective: a preset's surrogate, corrected for sampler mismatch, plus a KL penalty.
 *
 *     ℓ_t = e_t M_t w_t surrogate(r_t, A_t) + β k_t - c e_t H_t
 *
 * w from `ImportanceSampling`, k from `Kl`; M masks drifted sequences (below), e is 1 for the tokens with the highest
 * entropies H, 0 for the others (Beyond the 80/20 Rule, arXiv 2506.01939, equation 5), and c is the weight of an
 * entropy bonus (A3C, arXiv 1602.01783, section 4).
 *
 *     M_t = 0 if A_t < 0 and mean over the sequence of log π_engine - log π > δ, else 1
 *
 * (DeepSeek-V3.2, arXiv 2512.02556, equation 9). Logprob differences are 0 where masked and clamped to ±20, so that a
 * broken token has a finite loss. Metrics are sums over trained tokens unless named `_max`: `policy`, `kl`, `ratio`,
 * `ratio_max`, `clipped_low`, `clipped_high`, `importance`, `importance_capped`, `off_policy_masked`, `entropy_masked`,
 * and between the trainer's current logprobs and the engine's, if known, with d = log π - log π_engine: `mismatch` d,
 * `mismatch_abs` |d|, `mismatch_abs_max`, `mismatch_kl` e^d - 1 - d, and `mismatch_tokens`, the number of those tokens.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import * as ImportanceSampling from "./ImportanceSampling.ts"
import * as Kl from "./Kl.ts"
import type { Metric, Objective, StandardLoss, TokenLoss, Tokens } from "./Objective.ts"
import { indicator, logBound, type PolicyPreset, type PolicySettings } from "./Surrogate.ts"

const sum = (name: string, value: Value): Metric => ({ name, value, reduce: "sum" })
const max = (name: string, value: Value): Metric => ({ name, value, reduce: "max" })

const mismatch = (graph: Graph, tokens: Tokens): ReadonlyArray<Metric> => {
  const { engineLogprobs, known, logprobs } = tokens
  const d = graph.mul(graph.clip(graph.sub(logprobs, engineLogprobs), -logBound, logBound), known)
  return [
    sum("mismatch", d),
    sum("mismatch_abs", graph.abs(d)),
    max("mismatch_abs_max", graph.abs(d)),
    sum("mismatch_kl", graph.sub(graph.sub(graph.exp(d), graph.scalar(1)), d)),
    sum("mismatch_tokens", known)
  ]
}

const others = (graph: Graph, x: Value): Value => graph.sub(graph.scalar(1), x)

/** M, and the tokens it masks. */
const offPolicyMask = (
  graph: Graph,
  { advantages, engineLogprobs, logprobs, sequenceMean }: Tokens,
  difference: (a: Value, b: Value) => Value,
  bound: number
): Value => {
  const drift = sequenceMean(difference(engineLogprobs, graph.stopGradient(logprobs)))
  return indicator(graph, graph.less(advantages, graph.scalar(0)), graph.greater(drift, graph.scalar(bound)))
}

const tokenLoss =
  (preset: PolicyPreset, settings: PolicySettings) =>
  (graph: Graph, tokens: Tokens): TokenLoss => {
    const { engineLogprobs, entropies, entropyThreshold, logprobs, mask, oldLogprobs, refLogprobs } = tokens
    const difference = (a: Value, b: Value) => graph.mul(graph.clip(graph.sub(a, b), -logBound, logBound), mask)
    const logRatio = difference(logprobs, oldLogprobs)
    const surrogate = preset.surrogate(graph, tokens, logRatio, settings)
    const metrics: Array<Metric> = []
    let loss = surrogate.loss
    const { importanceCap, importanceFloor, importanceLevel, importanceSampling } = settings
    if (importanceSampling !== "none") {
      const own = difference(oldLogprobs, engineLogprobs)
      const logWeight = importanceLevel === "token" ? own : graph.clip(tokens.sequenceSum(own), -logBound, logBound)
      const floor = importanceFloor ?? (importanceSampling === "masked" ? 1 / importanceCap : 0)
      const bounds = { cap: importanceCap, floor }
      const { capped, weight } = ImportanceSampling.weights(graph, importanceSampling, logWeight, bounds)
      loss = graph.mul(loss, weight)
      metrics.push(sum("importance", weight), sum("importance_capped", capped))
    }
    if (settings.offPolicyBound !== null) {
      const masked = offPolicyMask(graph, tokens, difference, settings.offPolicyBound)
      loss = graph.mul(loss, others(graph, masked))
      metrics.push(sum("off_policy_masked", masked))
    }
    let selected: Value | undefined
    if (entropyThreshold !== undefined) {
      const masked = indicator(graph, graph.less(graph.stopGradient(entropies!), entropyThreshold))
      selected = others(graph, masked)
      loss = graph.mul(loss, selected)
      metrics.push(sum("entropy_masked", masked))
    }
    metrics.push(sum("policy", loss))
    const { entropyCoef, kl, klCoef, klImportance } = settings
    if (refLogprobs !== undefined) {
      const estimate = Kl.estimate(graph, kl, difference(logprobs, refLogprobs))
      const penalty = klImportance ? graph.mul(graph.exp(logRatio), estimate) : estimate
      loss = graph.add(loss, graph.scale(penalty, klCoef))
      metrics.push(sum("kl", estimate))
    }
    if (entropyCoef !== 0) {
      const bonus = selected === undefined ? entropies! : graph.mul(selected, entropies!)
      loss = graph.sub(loss, graph.scale(bonus, entropyCoef))
    }
    const { clippedHigh, clippedLow } = surrogate
    metrics.push(
      sum("ratio", surrogate.ratio),
      max("ratio_max", surrogate.ratio),
      ...(clippedLow === undefined ? [] : [sum("clipped_low", clippedLow)]),
      ...(clippedHigh === undefined ? [] : [sum("clipped_high", clippedHigh)]),
      ...(surrogate.metrics ?? []),
      ...mismatch(graph, tokens)
    )
    return { loss, metrics }
  }

/** The standard loss equal to the surrogate, if no other term is active. */
const standardOf = (preset: PolicyPreset, settings: PolicySettings): StandardLoss | undefined => {
  const { entropyCoef, entropyShare, importanceSampling, klCoef, offPolicyBound } = settings
  const isAlone =
    importanceSampling === "none" && offPolicyBound === null && klCoef === 0 && entropyCoef === 0 && entropyShare >= 1
  return isAlone ? preset.standard?.(settings) : undefined
}

export const make = (preset: PolicyPreset, settings: PolicySettings): Objective => {
  const { usesAdvantages = true } = preset
  const standard = standardOf(preset, settings)
  const hasEntropies = settings.entropyCoef !== 0 || settings.entropyShare < 1
  return {
    ...settings,
    name: preset.name,
    isPolicyGradient: true,
    needsPairs: false,
    candidates: "target",
    needsReference: settings.klCoef !== 0,
    needsSequences:
      preset.needsSequences ||
      settings.offPolicyBound !== null ||
      (settings.importanceSampling !== "none" && settings.importanceLevel === "sequence"),
    needsEntropies: hasEntropies,
    entropyQuantile: settings.entropyShare < 1 ? 1 - settings.entropyShare : null,
    needsTeacher: preset.needsTeacher ?? false,
    usesAdvantages,
    isAdvantageOnly: usesAdvantages && settings.klCoef === 0 && settings.entropyCoef === 0,
    tokenLoss: Object.assign(tokenLoss(preset, settings), standard && { standard })
  }
}
