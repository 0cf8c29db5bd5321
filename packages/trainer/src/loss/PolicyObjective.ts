/**
 * A policy objective: a preset's surrogate, weighted against the engine's mismatch, plus a KL penalty.
 *
 *     ℓ_t = w_t surrogate(r_t, A_t) + β k_t
 *
 * w from `ImportanceSampling`, k from `Kl`. Differences of logprobs are 0 where masked and bounded by ±20, so that a
 * broken token costs a finite loss. Metrics are sums over trained tokens unless named `_max`:
 * `policy`, `kl`, `ratio`, `ratio_max`, `clipped_low`, `clipped_high`, `importance`, `importance_capped`, and between
 * the trainer's present logprobs and the engine's, where known, with d = log π - log π_engine: `mismatch` d,
 * `mismatch_abs` |d|, `mismatch_abs_max`, `mismatch_kl` e^d - 1 - d, and `mismatch_tokens`, how many those are.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import * as ImportanceSampling from "./ImportanceSampling.ts"
import * as Kl from "./Kl.ts"
import type { Metric, Objective, TokenLoss, Tokens } from "./Objective.ts"
import { plain, type PolicyPreset, type PolicySettings } from "./Surrogate.ts"

/** Bound of log ratios: e^20 is far beyond any clip, and finite. */
const bound = 20

const sum = (name: string, value: Value): Metric => ({ name, value, reduce: "sum" })
const max = (name: string, value: Value): Metric => ({ name, value, reduce: "max" })

const mismatch = (graph: Graph, tokens: Tokens): ReadonlyArray<Metric> => {
  const { engineLogprobs, known, logprobs } = tokens
  const d = graph.mul(graph.clip(graph.sub(logprobs, engineLogprobs), -bound, bound), known)
  return [
    sum("mismatch", d),
    sum("mismatch_abs", graph.abs(d)),
    max("mismatch_abs_max", graph.abs(d)),
    sum("mismatch_kl", graph.sub(graph.sub(graph.exp(d), graph.scalar(1)), d)),
    sum("mismatch_tokens", known)
  ]
}

const tokenLoss =
  (preset: PolicyPreset, settings: PolicySettings) =>
  (graph: Graph, tokens: Tokens): TokenLoss => {
    const { engineLogprobs, logprobs, mask, oldLogprobs, refLogprobs } = tokens
    const difference = (a: Value, b: Value) => graph.mul(graph.clip(graph.sub(a, b), -bound, bound), mask)
    const logRatio = difference(logprobs, oldLogprobs)
    const surrogate = preset.surrogate(graph, tokens, logRatio, settings)
    const metrics: Array<Metric> = []
    let loss = surrogate.loss
    const { importanceCap, importanceSampling, kl, klCoef, klImportance } = settings
    if (importanceSampling !== "none") {
      const logWeight = difference(oldLogprobs, engineLogprobs)
      const { capped, weight } = ImportanceSampling.weights(graph, importanceSampling, logWeight, importanceCap)
      loss = graph.mul(loss, weight)
      metrics.push(sum("importance", weight), sum("importance_capped", capped))
    }
    metrics.push(sum("policy", loss))
    if (refLogprobs !== undefined) {
      const estimate = Kl.estimate(graph, kl, difference(logprobs, refLogprobs))
      const penalty = klImportance ? graph.mul(graph.exp(logRatio), estimate) : estimate
      loss = graph.add(loss, graph.scale(penalty, klCoef))
      metrics.push(sum("kl", estimate))
    }
    metrics.push(
      sum("ratio", surrogate.ratio),
      max("ratio_max", surrogate.ratio),
      sum("clipped_low", surrogate.clippedLow),
      sum("clipped_high", surrogate.clippedHigh),
      ...mismatch(graph, tokens)
    )
    return { loss, metrics }
  }

/** The objective of a preset with these settings. */
export const make = (preset: PolicyPreset, settings: PolicySettings): Objective => ({
  ...settings,
  name: preset.name,
  isPolicyGradient: true,
  candidates: "target",
  needsReference: settings.klCoef !== 0,
  needsSequences: preset.needsSequences,
  isAdvantageOnly: settings.klCoef === 0,
  tokenLoss: tokenLoss(preset, settings)
})

/**
 * An objective of your own: a loss per token from the logprobs and advantages, (N, 1). Its mean is that of `grpo`, over
 * a sequence's tokens and then over sequences.
 */
export const custom = (name: string, tokenLoss: (graph: Graph, tokens: Tokens) => Value): Objective => ({
  ...plain,
  name,
  isPolicyGradient: true,
  candidates: "target",
  needsReference: false,
  needsSequences: false,
  isAdvantageOnly: false,
  tokenLoss: (graph, tokens) => ({ loss: tokenLoss(graph, tokens), metrics: [] })
})
