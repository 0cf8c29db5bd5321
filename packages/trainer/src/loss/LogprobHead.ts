/**
 * From final hidden states to log-probabilities, over a vocabulary too large to hold all logits: tokens go in chunks.
 *
 * For hidden states h (N, H), output matrix W (V, H), temperatures τ (N) and candidates k with weights q (N, K):
 *
 *     z = W h / τ,   lse = log Σ_v e^z_v,   s = Σ_k q_k (z_k - lse)
 *
 * One candidate of weight 1 makes s the log-probability of a token. Where W is frozen, s has the gradient
 *
 *     ds/dh = (Σ_k q_k W_k - (Σ_k q_k) Σ_v p_v W_v) / τ,   p = softmax(z)
 *
 * which depends on no loss, so it is computed while a chunk's logits are at hand (`gradient: "forward"`): two products
 * with W per token instead of three, and no logits are kept. Else the logits are computed again in the backward pass
 * ("recompute"), or kept ("keep"). The entropy lse - Σ p z has no gradient; it is a figure to watch.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"

export interface HeadOptions {
  /** Number of chunks; must divide N. */
  readonly chunks: number
  readonly gradient: "forward" | "recompute" | "keep"
  readonly entropy: boolean
}

export interface Candidates {
  /** (N, K) int32 */
  readonly ids: Value
  /** (N, K); one candidate of weight 1 if absent. */
  readonly weights: Value | undefined
}

export interface HeadValues {
  /** (N, 1) s */
  readonly logprobs: Value
  /** (N, 1) nats */
  readonly entropies: Value | undefined
}

interface Chunk extends HeadValues {
  /** (n, H) ds/dz W */
  readonly slope: Value | undefined
}

const chunk = (
  graph: Graph,
  scaled: Value,
  head: Value,
  { ids, weights }: Candidates,
  withEntropy: boolean,
  withSlope: boolean
): Chunk => {
  const z = graph.gemm(scaled, head, false, true)
  const top = graph.amax(z, [-1], true)
  const shifted = graph.sub(z, graph.stopGradient(top))
  const powers = graph.exp(shifted)
  const total = graph.sum(powers, [-1], true)
  const lse = graph.log(total)
  const picked = graph.gatherLast(shifted, ids)
  const mass = weights === undefined ? undefined : graph.sum(weights, [-1], true)
  const logprobs =
    weights === undefined || mass === undefined
      ? graph.sub(picked, lse)
      : graph.sub(graph.sum(graph.mul(weights, picked), [-1], true), graph.mul(mass, lse))
  const entropies = withEntropy
    ? graph.stopGradient(graph.sub(lse, graph.div(graph.sum(graph.mul(powers, shifted), [-1], true), total)))
    : undefined
  if (!withSlope) return tied(graph, { logprobs, entropies, slope: undefined })
  const [n, width] = ids.shape
  const hidden = head.shape[1]!
  const rows = graph.gather(head, ids)
  const chosen =
    weights === undefined
      ? graph.reshape(rows, [n!, hidden])
      : graph.reshape(graph.matmul(graph.reshape(weights, [n!, 1, width!]), rows), [n!, hidden])
  const expected = graph.div(graph.gemm(powers, head), total)
  const slope = graph.sub(chosen, mass === undefined ? expected : graph.mul(expected, mass))
  return tied(graph, { logprobs, entropies, slope })
}

/** What a chunk leaves behind, computed before the next chunk begins: else its logits would be kept for it. */
const tied = (graph: Graph, { entropies, logprobs, slope }: Chunk): Chunk => {
  if (entropies === undefined && slope === undefined) return { logprobs, entropies, slope }
  const optional = [entropies, slope].filter((value) => value !== undefined)
  const [first, ...others] = graph.together([logprobs, ...optional])
  return {
    logprobs: first!,
    entropies: entropies === undefined ? undefined : graph.stopGradient(others[0]!),
    slope: slope === undefined ? undefined : others.at(-1)
  }
}

/** The log-probabilities, chunk by chunk. `head` must be a constant where `gradient` is "forward". */
export const logprobs = (
  graph: Graph,
  hidden: Value,
  head: Value,
  candidates: Candidates,
  inverseTemperatures: Value,
  { chunks, entropy, gradient }: HeadOptions
): HeadValues => {
  const tokens = hidden.shape[0]!
  const parts = (value: Value): ReadonlyArray<Value> => (chunks === 1 ? [value] : graph.split(value, 0, chunks))
  const joined = (values: ReadonlyArray<Value>): Value => (chunks === 1 ? values[0]! : graph.concat(values, 0, tokens))
  const scaled = graph.mul(hidden, inverseTemperatures)
  const idParts = parts(candidates.ids)
  const weightParts = candidates.weights === undefined ? undefined : parts(candidates.weights)
  const chunkOf = (part: Value, i: number) =>
    chunk(graph, part, head, { ids: idParts[i]!, weights: weightParts?.[i] }, entropy, gradient === "forward")
  const collect = (values: ReadonlyArray<Chunk>) => ({
    logprobs: joined(values.map(({ logprobs }) => logprobs)),
    entropies: entropy ? joined(values.map(({ entropies }) => entropies!)) : undefined
  })
  if (gradient !== "forward") {
    const values = parts(scaled).map((part, i) =>
      gradient === "recompute" && chunks > 1 ? graph.checkpoint([part], () => chunkOf(part, i)) : chunkOf(part, i)
    )
    return collect(values)
  }
  let entropies: Value | undefined
  const [logprobs] = graph.customGradient([scaled], () => {
    const values = parts(scaled).map(chunkOf)
    const whole = collect(values)
    const slope = joined(values.map((value) => value.slope!))
    entropies = whole.entropies
    return {
      outputs: [whole.logprobs],
      backward: ([gradient], { recall }) => [gradient === undefined ? undefined : graph.mul(gradient, recall(slope))]
    }
  })
  return { logprobs: logprobs!, entropies }
}
