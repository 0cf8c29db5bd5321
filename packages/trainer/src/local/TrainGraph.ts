/**
 * Builds one graph for a training step on a micro-batch (forward pass, logprobs, loss, gradient) and a lighter one for
 * logprobs only (old or reference policy).
 *
 * Both accept any (B, T). Logprobs are computed at M positions, a multiple of `chunks`, and are 0 elsewhere: int32
 * `head_ids` (M) lists the positions, `head_slots` (B, T) is each position's index in that list, M if not in it. Other
 * inputs: int32 `input_ids`, `target_ids`, `position_ids`, `segment_ids` (B, T); real `loss_mask`, `token_weights`,
 * `advantages`, `old_logprobs`, `engine_logprobs`, `temperatures` (B, T); if the objective uses them `ref_logprobs` (B,
 * T), `sequence_slots` int32 (S), `partner_ids` int32 and `preferences` (B, T), `teacher_logprobs` (B, T),
 * `entropy_threshold` [], `distill_ids` int32, `distill_weights` (B, T, K), `distill_entropies` (B, T); with
 * `routerReplay` `routed_experts` int32 (B, T, L, k), -1 if the router chooses; with `sharesPrompts` `prompt_ids` and
 * `begins` (`SharedArrays`); `theta` (P), the trainable parameters. `TrainFeeds` makes them from a `MicroBatch`.
 * Outputs: `loss` [] = Σ token_weights · ℓ, `grad` (P), `logprobs` (B, T), `metrics`, a vector in the order of
 * `metrics`.
 *
 * Losses and gradients of a batch's micro-batches add up, and metrics are summed or maximised (`LossNodes.combine`),
 * because the denominators are in `token_weights`. Ids are not checked here: `MicroBatch.pack` does that.
 */
import { gradPieces } from "../graph/Autodiff.ts"
import { Graph } from "../graph/Graph.ts"
import type { DType } from "../graph/DType.ts"
import type { Value } from "../graph/Value.ts"
import { type Pieces, run } from "../base/Pieces.ts"
import * as HeadPositions from "../loss/HeadPositions.ts"
import * as LogprobHead from "../loss/LogprobHead.ts"
import type { Objective } from "../loss/Objective.ts"
import type { Remat } from "../model/Decoder.ts"
import * as Lora from "../model/Lora.ts"
import type { Layout } from "../model/Parameters.ts"
import type { AttentionKind, Policy, PolicyIds, PolicyValues } from "../model/TrainableModel.ts"
import * as LossNodes from "../learn/LossNodes.ts"

export interface TrainGraphOptions {
  /** Values that the backward pass recomputes to save memory; true: whole blocks. Chosen by `MemoryPlan`. */
  readonly remat: boolean | Remat
  readonly attention: AttentionKind
  /** Number of chunks of feed-forward blocks if whole blocks are recomputed; must divide B*T. Default: 1. */
  readonly feedForwardChunks?: number | undefined
  /** Number of chunks in which logits are computed; must divide M. */
  readonly chunks: number
  /** Positions per chunk if chunks may run in a loop, which splits small micro-batches into fewer. Default: no loop. */
  readonly headRows?: number | undefined
  /** Gradient method of the logits. Default: "forward" if the output matrix is frozen, else "recompute". */
  readonly headGradient?: LogprobHead.HeadOptions["gradient"]
  readonly entropy: boolean
  /** Replay the sampler's experts in mixtures; for policies with `routing`. */
  readonly routerReplay?: boolean
  /** For micro-batches that hold prompts once, and policies that can. Default false. */
  readonly sharesPrompts?: boolean
  /** float64 is for gradient checks. */
  readonly real: "float32" | "float64"
}

export const defaults: TrainGraphOptions = { remat: true, attention: "rows", chunks: 1, entropy: true, real: "float32" }

export interface TrainGraph {
  readonly graph: Graph
  readonly objective: Objective
  /** P */
  readonly parameters: number
  readonly metrics: ReadonlyArray<LossNodes.MetricName>
  readonly options: TrainGraphOptions
}

interface Inputs extends PolicyIds {
  readonly targetIds: Value
  readonly inverseTemperatures: Value
  readonly positions: HeadPositions.HeadPositions
}

const flat = (graph: Graph, value: Value): Value => {
  const [rows, length, ...rest] = value.shape
  return graph.reshape(value, [graph.dimMul(rows!, length!), ...(rest.length === 0 ? [1] : rest)])
}

/** A floating-point (B, T) input as (N, 1). */
const column = (graph: Graph, name: string): Value => flat(graph, graph.input(name, graph.real, ["B", "T"]))

const ids = (graph: Graph, name: string, dtype: DType = "int32"): Value => graph.input(name, dtype, ["B", "T"])

const commonInputs = (
  graph: Graph,
  { routing }: Policy,
  {
    attention,
    feedForwardChunks,
    remat,
    routerReplay = false,
    sharesPrompts = false
  }: Pick<PolicyIds, "attention" | "feedForwardChunks" | "remat"> & Partial<TrainGraphOptions>
): Inputs => ({
  inputIds: ids(graph, "input_ids"),
  targetIds: ids(graph, "target_ids"),
  positionIds: ids(graph, "position_ids"),
  segmentIds: ids(graph, "segment_ids"),
  ...(sharesPrompts && { shared: { promptIds: ids(graph, "prompt_ids"), begins: ids(graph, "begins") } }),
  inverseTemperatures: graph.div(graph.scalar(1), column(graph, "temperatures")),
  positions: HeadPositions.make(
    graph,
    graph.input("head_ids", "int32", ["M"]),
    graph.reshape(ids(graph, "head_slots"), [graph.dimMul("B", "T")])
  ),
  remat,
  feedForwardChunks,
  attention,
  ...(routerReplay &&
    routing !== undefined && {
      routedExperts: graph.input("routed_experts", "int32", ["B", "T", routing.layers, routing.perToken])
    })
})

/** The parameters of a layout as slices of the input `theta`. */
const slices = (graph: Graph, { size, slots }: Layout): ReadonlyMap<string, Value> => {
  const theta = graph.input("theta", graph.real, [size])
  return new Map(
    slots.map(({ name, offset, shape, size }) => [
      name,
      graph.reshape(graph.slice(theta, 0, offset, offset + size), shape)
    ])
  )
}

/**
 * Sums over the trained tokens of each sequence. A one-hot (B, T, S) matrix assigns tokens to the sequences of their
 * row; S is the size of the input `sequence_slots` = 0, 1, …, S - 1.
 */
const sequenceSums = (graph: Graph, segmentIds: Value, mask: Value) => {
  const slots = graph.reshape(graph.input("sequence_slots", "int32", ["S"]), [1, 1, "S"])
  const belonging = (ids: Value) => graph.cast(graph.equal(graph.reshape(ids, ["B", "T", 1]), slots), graph.real)
  const belongs = belonging(segmentIds)
  const members = graph.mul(belongs, graph.reshape(mask, ["B", "T", 1]))
  const across = graph.transpose(members, [0, 2, 1])
  const spread = (sums: Value, like: Value, to = belongs) => graph.reshape(graph.matmul(to, sums), like.shape)
  const sums = (values: Value) => graph.matmul(across, graph.reshape(values, ["B", "T", 1]))
  const counts = graph.max(graph.reshape(graph.sum(members, [1]), ["B", "S", 1]), graph.scalar(1))
  return {
    sum: (values: Value) => spread(sums(values), values),
    mean: (values: Value) => spread(graph.div(sums(values), counts), values),
    /** `partnerIds` (B, T): the partner, in the same row, of each position's sequence. */
    partnerSum: (partnerIds: Value) => {
      const partners = belonging(partnerIds)
      return (values: Value) => spread(sums(values), values, partners)
    }
  }
}

const candidatesOf = (graph: Graph, { candidates }: Objective, targetIds: Value): LogprobHead.Candidates =>
  candidates === "target"
    ? { ids: flat(graph, targetIds), weights: undefined }
    : {
        ids: flat(graph, graph.input("distill_ids", "int32", ["B", "T", "K"])),
        weights: flat(graph, graph.input("distill_weights", graph.real, ["B", "T", "K"]))
      }

/** Logprobs of the selected positions, 0 at the others. */
const logprobsOf = (
  graph: Graph,
  { head, hidden, logits }: PolicyValues,
  { inverseTemperatures, positions }: Inputs,
  { ids, weights }: LogprobHead.Candidates,
  options: LogprobHead.HeadOptions
): LogprobHead.HeadValues => {
  const { entropies, logprobs } = LogprobHead.logprobs(
    graph,
    positions.take(hidden),
    head,
    { ids: positions.take(ids), weights: weights && positions.take(weights) },
    positions.take(inverseTemperatures),
    {
      ...options,
      logits,
      gradient: logits !== undefined && options.gradient === "forward" ? "recompute" : options.gradient
    }
  )
  return { logprobs: positions.spread(logprobs), entropies: entropies && positions.spread(entropies) }
}

const headOptions = (
  { chunks, entropy, headGradient, headRows }: TrainGraphOptions,
  { needsEntropies }: Objective,
  isFrozen: boolean
): LogprobHead.HeadOptions => ({
  chunks,
  rows: headRows,
  entropy: entropy || needsEntropies,
  entropyGradient: needsEntropies,
  gradient: headGradient ?? (isFrozen ? "forward" : "recompute")
})

export const build = (policy: Policy, objective: Objective, options: TrainGraphOptions = defaults): TrainGraph =>
  run(buildPieces(policy, objective, options))

/** Like `build`, in steps that yield to the event loop. */
export function* buildPieces(policy: Policy, objective: Objective, options: TrainGraphOptions): Pieces<TrainGraph> {
  const graph = new Graph(options.real)
  const inputs = commonInputs(graph, policy, options)
  const parameters = slices(graph, policy.layout)
  const built = policy.build(graph, (name) => parameters.get(name), inputs)
  yield
  const isFrozen = ![...parameters.values()].includes(built.head)
  const candidates = candidatesOf(graph, objective, inputs.targetIds)
  const values = logprobsOf(graph, built, inputs, candidates, headOptions(options, objective, isFrozen))
  const { entropies, logprobs } = values
  const mask = column(graph, "loss_mask")
  let made: ReturnType<typeof sequenceSums> | undefined
  const sequences = () => (made ??= sequenceSums(graph, inputs.segmentIds, mask))
  const { figures, loss, metrics } = LossNodes.build(graph, objective, {
    logprobs,
    entropies,
    mask,
    column: (name) => column(graph, name),
    sequences,
    pairs: () => ({
      partnerSum: sequences().partnerSum(ids(graph, "partner_ids")),
      preference: column(graph, "preferences")
    })
  })
  const slots = policy.layout.slots
  const gradients = yield* gradPieces(
    graph,
    loss,
    slots.map(({ name }) => parameters.get(name)!)
  )
  const flatGradient = graph.concat(
    gradients.map((gradient, i) => graph.reshape(gradient, [slots[i]!.size])),
    0
  )
  graph.output("loss", loss)
  graph.output("grad", flatGradient)
  graph.output("logprobs", graph.reshape(logprobs, ["B", "T"]))
  graph.output("metrics", figures)
  return {
    graph,
    objective,
    parameters: policy.layout.size,
    metrics,
    options
  }
}

/**
 * Builds the graph of logprobs only: `logprobs` (B, T), from the ids, `temperatures` and `theta`; and `entropies` (B,
 * T) on request.
 */
export const buildLogprobs = (
  policy: Policy,
  {
    attention,
    chunks,
    entropy = false,
    headRows,
    real,
    routerReplay = false,
    sharesPrompts = false
  }: Pick<TrainGraphOptions, "attention" | "chunks" | "real"> &
    Partial<Pick<TrainGraphOptions, "entropy" | "headRows" | "routerReplay" | "sharesPrompts">> = {
    ...defaults,
    entropy: false
  }
): Graph => {
  const graph = new Graph(real)
  const inputs = commonInputs(graph, policy, { attention, remat: false, routerReplay, sharesPrompts })
  const parameters = slices(graph, policy.layout)
  const built = policy.build(graph, (name) => parameters.get(name), inputs)
  const candidates = { ids: flat(graph, inputs.targetIds), weights: undefined }
  const { entropies, logprobs } = logprobsOf(graph, built, inputs, candidates, {
    chunks,
    rows: headRows,
    entropy,
    gradient: "none"
  })
  graph.output("logprobs", graph.reshape(logprobs, ["B", "T"]))
  if (entropies !== undefined) graph.output("entropies", graph.reshape(entropies, ["B", "T"]))
  return graph
}

/**
 * Parameters of the reference policy: the base model without its adapter (lora_B = 0). Undefined if the layout is not
 * an adapter's.
 */
export const withoutAdapter = ({ size, slots }: Layout, theta: Float32Array): Float32Array | undefined => {
  if (!Lora.isPlain({ size, slots }) || theta.length !== size) return undefined
  const reference = theta.slice()
  for (const { name, offset, size } of slots) {
    if (name.endsWith(".lora_B.weight")) reference.fill(0, offset, offset + size)
  }
  return reference
}
