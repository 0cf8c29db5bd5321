/**
 * Builds the graph that the engine runs: new positions of several sequences against a cache, with logits on request.
 *
 * One graph serves prefill and decoding, so that the weights are held once. Inputs: int32 `input_ids`, `position_ids`
 * (B, T), `past_lengths` (B), `output_positions` (R); float32 `inverse_temperatures` (R); per layer `past_keys.<l>` (P,
 * KV, D, S) and `past_values.<l>` (P, KV, S, D); int32 `page_rows` and `page_starts` (P), `row_pages` (B, M)
 * (`CachedAttention`); one float32 input per trainable tensor, under its name. Models with stateful layers
 * (`CachedDelta`) also have int32 `counts` (B) and `past_states.<l>` (B, size). L and l count the layers with keys and
 * values, or those with states, each type from 0.
 *
 * Outputs: `logits` (R, V), `entries` (L, 2, B, KV, T, D); for models with states `states` (L, B, size); if expert
 * choices are recorded `routed_experts` (B, T, mixtures, k); for large vocabularies `maxima` and `sums` (R, V / block)
 * as in `Sampler.Row`.
 */
import { Graph } from "../graph/Graph.ts"
import { type OnnxModel, toOnnxPieces } from "../graph/Onnx.ts"
import type { Shape } from "../graph/Shape.ts"
import type { Value } from "../graph/Value.ts"
import { type Pieces, run } from "../base/Pieces.ts"
import type { DecodableModel } from "../model/DecodableModel.ts"
import * as Decoder from "../model/Decoder.ts"
import type { Layout } from "../model/Parameters.ts"
import { type Routing, routingOf } from "../model/part/RoutedExperts.ts"
import * as Scores from "../model/part/Scores.ts"
import * as CachedAttention from "./cache/CachedAttention.ts"
import * as CachedDelta from "./cache/CachedDelta.ts"
import * as KvShape from "./cache/KvShape.ts"
import * as Sampler from "./Sampler.ts"

/** Input of the engine's thread: plain data. */
export interface DecodeModel {
  readonly onnx: OnnxModel
  readonly parameters: number
  readonly shape: KvShape.KvShape
  readonly vocabulary: number
  readonly maxPositions: number
  readonly layout: Layout
  /** Routing of the recorded expert choices. */
  readonly routing?: Routing | undefined
}

export interface Options {
  /** Record the experts of every token, if the model has mixtures. Default false. */
  readonly recordsExperts?: boolean
}

const outputBlocks = (graph: Graph, logits: Value, inverseTemperatures: Value): void => {
  const vocabulary = Number(logits.shape[1])
  const size = Sampler.blockSize(vocabulary)
  const blocks = graph.reshape(logits, ["R", vocabulary / size, size])
  const maxima = graph.amax(blocks, [-1], true)
  const differences = graph.sub(blocks, graph.amax(maxima, [1], true))
  graph.output("maxima", graph.reshape(maxima, ["R", vocabulary / size]))
  const weights = graph.exp(graph.mul(differences, graph.reshape(inverseTemperatures, ["R", 1, 1])))
  graph.output("sums", graph.sum(weights, [-1]))
}

const elements = (shape: Shape): number => shape.reduce<number>((product, dim) => product * Number(dim), 1)

export const make = (model: DecodableModel, options?: Options): DecodeModel => run(makePieces(model, options))

/** Builds the graph in steps that yield to the event loop. */
export function* makePieces(model: DecodableModel, { recordsExperts = false }: Options = {}): Pieces<DecodeModel> {
  const graph = new Graph()
  const { config, layout } = model
  const { headDim, kvHeads, layerTraits, maxPositions, vocabSize: vocabulary } = config
  const shape = KvShape.shapeOf(config)
  const placeOf = (layer: number) =>
    layerTraits.slice(0, layer).filter(({ isDelta }) => isDelta === layerTraits[layer]!.isDelta).length
  const inputIds = graph.input("input_ids", "int32", ["B", "T"])
  const positionIds = graph.input("position_ids", "int32", ["B", "T"])
  const lengths = graph.input("past_lengths", "int32", ["B"])
  const outputs = graph.input("output_positions", "int32", ["R"])
  const inverse = graph.input("inverse_temperatures", "float32", ["R"])
  const parameters = new Map(layout.slots.map(({ name, shape }) => [name, graph.input(name, "float32", shape)]))
  const past = Array.from({ length: shape.layers }, (_, layer) => ({
    pastKeys: graph.input(`past_keys.${layer}`, "float32", ["P", kvHeads, headDim, "S"]),
    pastValues: graph.input(`past_values.${layer}`, "float32", ["P", kvHeads, "S", headDim])
  }))
  const pages: CachedAttention.Pages = {
    rows: graph.input("page_rows", "int32", ["P"]),
    starts: graph.input("page_starts", "int32", ["P"]),
    ofRows: graph.input("row_pages", "int32", ["B", "M"])
  }
  const places = CachedAttention.places(graph, pages)
  const masks = Scores.byWindow((window) => CachedAttention.masks(graph, lengths, pages, "S", "T", window))
  const entries: Array<Value> = []
  const attention: Decoder.Attention = (traits, queries, keys, values) => {
    for (const part of [keys, values]) entries.push(graph.reshape(part, [1, "B", kvHeads, "T", headDim]))
    const operands = { ...past[placeOf(traits.layer)]!, queries, keys, values }
    return CachedAttention.attend(graph, operands, places, masks(traits.window), traits)
  }
  const states: Array<Value> = []
  const before = Array.from({ length: shape.states?.layers ?? 0 }, (_, layer) =>
    graph.input(`past_states.${layer}`, "float32", ["B", shape.states!.size])
  )
  const recurrence =
    shape.states &&
    CachedDelta.make(graph, {
      config,
      counts: graph.input("counts", "int32", ["B"]),
      stateOf: (layer) => before[placeOf(layer)]!,
      keep: (_, state) => void states.push(graph.reshape(state, [1, ...state.shape])),
      width: "T"
    })
  const routing = recordsExperts ? routingOf(config) : undefined
  const selected: Array<Value> = []
  const built = model.build(graph, (name) => parameters.get(name), {
    inputIds,
    positionIds,
    attention,
    recurrence,
    ...(routing && { routes: { hear: (_, ids) => void selected.push(graph.cast(ids, "int32")) } })
  })
  const logits = Decoder.logits(graph, built, graph.gather(built.hidden, outputs))
  graph.output("logits", logits)
  if (vocabulary > Sampler.smallVocabulary) outputBlocks(graph, logits, inverse)
  graph.output("entries", graph.concat(entries, 0))
  if (states.length > 0) graph.output("states", graph.concat(states, 0))
  if (routing !== undefined) {
    const { layers, perToken } = routing
    graph.output("routed_experts", graph.reshape(graph.concat(selected, 1), ["B", "T", layers, perToken]))
  }
  yield
  const frozen = graph.initializers.reduce((sum, { value }) => sum + elements(value.shape), 0)
  return {
    onnx: yield* toOnnxPieces(graph),
    parameters: frozen + layout.size,
    shape,
    vocabulary,
    maxPositions,
    layout,
    ...(routing && { routing })
  }
}
