/**
 * Computes logprobs from final hidden states in chunks of tokens, for vocabularies too large to hold all logits.
 *
 * For hidden states h (N, H), output matrix W (V, H), temperatures τ (N) and candidates k with weights q (N, K):
 *
 *     z = W h / τ,   lse = log Σ_v e^z_v,   s = Σ_k q_k (z_k - lse)
 *
 * One candidate of weight 1 makes s the logprob of a token. If W is frozen, s has the gradient
 *
 *     ds/dh = (Σ_k q_k W_k - (Σ_k q_k) Σ_v p_v W_v) / τ,   p = softmax(z)
 *
 * which does not depend on the loss, so it is computed while a chunk's logits are in memory (`gradient: "forward"`):
 * two matmuls with W per token instead of three, and no stored logits. Otherwise the logits are recomputed in the
 * backward pass ("recompute") or stored ("keep"). The entropy H = lse - Σ p z gets a gradient on request, by a third
 * matmul with W in the forward pass; otherwise it is only a metric:
 *
 *     dH/dh = -Σ_v p_v (log p_v + H) W_v / τ
 *
 * If logits are computed by a custom function (capped, with an adapter), gradients go through it ("recompute").
 *
 * The number of chunks is fixed per graph, so a small micro-batch would be split into as many as a large one, and each
 * reads all of W for a few rows. If nothing is differentiated through the chunks, they run in a loop instead
 * (`HeadLoop`), in chunks of `rows`.
 */
import type { Graph } from "../graph/Graph.ts"
import * as HeadLoop from "./HeadLoop.ts"
import type { Value } from "../graph/Value.ts"

export interface HeadOptions {
  /** Number of chunks; must divide N. */
  readonly chunks: number
  /** Rows per chunk of the loop, if one is possible. Default: no loop. */
  readonly rows?: number | undefined
  /** "none" if no gradient is needed. */
  readonly gradient: "forward" | "recompute" | "keep" | "none"
  readonly entropy: boolean
  readonly entropyGradient?: boolean
  /** Custom logits of hidden states, if they are not just products with W; not with gradient "forward". */
  readonly logits?: ((hidden: Value) => Value) | undefined
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
  /** (n, H) dH/dz W */
  readonly entropySlope: Value | undefined
}

interface Wanted {
  readonly entropy: boolean
  readonly entropyGradient: boolean
  readonly slope: boolean
}

interface Part {
  /** h / τ */
  readonly scaled: Value
  /** Custom logits, divided by τ. */
  readonly logits: (() => Value) | undefined
}

const chunk = (graph: Graph, part: Part, head: Value, { ids, weights }: Candidates, target: Wanted): Chunk => {
  const z = part.logits?.() ?? graph.gemm(part.scaled, head, false, true)
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
  const free = target.entropy
    ? graph.sub(lse, graph.div(graph.sum(graph.mul(powers, shifted), [-1], true), total))
    : undefined
  const entropies = free === undefined || target.entropyGradient ? free : graph.stopGradient(free)
  if (!target.slope) return { logprobs, entropies, slope: undefined, entropySlope: undefined }
  const [n, width] = ids.shape
  const hidden = head.shape[1]!
  const rows = graph.gather(head, ids)
  const selected =
    weights === undefined
      ? graph.reshape(rows, [n!, hidden])
      : graph.reshape(graph.matmul(graph.reshape(weights, [n!, 1, width!]), rows), [n!, hidden])
  const expected = graph.div(graph.gemm(powers, head), total)
  const slope = graph.sub(selected, mass === undefined ? expected : graph.mul(expected, mass))
  const entropySlope =
    entropies !== undefined && target.entropyGradient
      ? graph.neg(graph.gemm(graph.mul(graph.div(powers, total), graph.add(graph.sub(shifted, lse), entropies)), head))
      : undefined
  return { logprobs, entropies, slope, entropySlope }
}

/**
 * Ties a chunk's results together, so that they are computed before the next chunk starts: otherwise its logits would
 * be kept for them.
 */
const tied = (graph: Graph, chunk: Chunk, { entropyGradient }: Wanted): Chunk => {
  const { entropies, entropySlope, logprobs, slope } = chunk
  const optional = [entropies, slope, entropySlope].filter((value) => value !== undefined)
  if (optional.length === 0) return chunk
  const tiedValues = graph.together([logprobs, ...optional])
  const of = (value: Value | undefined) => (value === undefined ? undefined : tiedValues[1 + optional.indexOf(value)])
  const own = of(entropies)
  return {
    logprobs: tiedValues[0]!,
    entropies: own === undefined || entropyGradient ? own : graph.stopGradient(own),
    slope: of(slope),
    entropySlope: of(entropySlope)
  }
}

/** Computes logprobs chunk by chunk. `head` must be a constant if `gradient` is "forward". */
export const logprobs = (
  graph: Graph,
  hidden: Value,
  head: Value,
  candidates: Candidates,
  inverseTemperatures: Value,
  { chunks, entropy, entropyGradient = false, gradient, logits, rows }: HeadOptions
): HeadValues => {
  const tokens = hidden.shape[0]!
  const needs = { entropy, entropyGradient, slope: gradient === "forward" }
  const parts = (value: Value): ReadonlyArray<Value> => (chunks === 1 ? [value] : graph.split(value, 0, chunks))
  const joined = (values: ReadonlyArray<Value>): Value => (chunks === 1 ? values[0]! : graph.concat(values, 0, tokens))
  const scaled = graph.mul(hidden, inverseTemperatures)
  const hiddenParts = logits && parts(hidden)
  const inverseParts = logits && parts(inverseTemperatures)
  const idParts = parts(candidates.ids)
  const weightParts = candidates.weights === undefined ? undefined : parts(candidates.weights)
  const chunkOf = (scaled: Value, i: number) =>
    tied(
      graph,
      chunk(
        graph,
        {
          scaled,
          logits: logits && (() => graph.mul(logits(hiddenParts![i]!), inverseParts![i]!))
        },
        head,
        { ids: idParts[i]!, weights: weightParts?.[i] },
        needs
      ),
      needs
    )
  const isLooped =
    rows !== undefined && logits === undefined && !entropyGradient && (gradient === "forward" || gradient === "none")
  const looped = (): Chunk => {
    const { ids, weights } = candidates
    const operands = [scaled, ids, ...(weights === undefined ? [] : [weights])]
    const values = HeadLoop.over(graph, rows!, head, operands, (inner, ownHead, [part, ...own]) => {
      const made = chunk(inner, { scaled: part!, logits: undefined }, ownHead, { ids: own[0]!, weights: own[1] }, needs)
      return [made.logprobs, made.entropies, made.slope].filter((value) => value !== undefined)
    })
    return {
      logprobs: values[0]!,
      entropies: entropy ? values[1]! : undefined,
      slope: needs.slope ? values.at(-1)! : undefined,
      entropySlope: undefined
    }
  }
  if (isLooped && gradient === "none") return looped()
  const collect = (values: ReadonlyArray<Chunk>) => ({
    logprobs: joined(values.map(({ logprobs }) => logprobs)),
    entropies: entropy ? joined(values.map(({ entropies }) => entropies!)) : undefined
  })
  if (gradient !== "forward") {
    const values = parts(scaled).map((part, i) =>
      gradient === "recompute" && chunks > 1
        ? graph.checkpoint([hiddenParts?.[i] ?? part], () => chunkOf(part, i))
        : chunkOf(part, i)
    )
    return collect(values)
  }
  let watched: Value | undefined
  const [logprobs, entropies] = graph.customGradient([scaled], () => {
    const values = isLooped ? [looped()] : parts(scaled).map(chunkOf)
    const whole = isLooped ? values[0]! : collect(values)
    const slope = isLooped ? values[0]!.slope! : joined(values.map((value) => value.slope!))
    const entropySlope = entropyGradient ? joined(values.map((value) => value.entropySlope!)) : undefined
    watched = whole.entropies
    return {
      outputs: [whole.logprobs, ...(entropySlope === undefined ? [] : [whole.entropies!])],
      backward: ([ofLogprobs, ofEntropies], { recall }) => {
        const first = ofLogprobs && graph.mul(ofLogprobs, recall(slope))
        const second = ofEntropies && entropySlope && graph.mul(ofEntropies, recall(entropySlope))
        return [first && second ? graph.add(first, second) : (first ?? second)]
      }
    }
  })
  return { logprobs: logprobs!, entropies: entropies ?? watched }
}
