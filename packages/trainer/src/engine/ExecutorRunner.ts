/** Implements `ModelRunner` on an executor, with one resident tensor per parameter as weights. */
import { Effect, type Scope } from "effect"
import type { ExecutorError, ExecutorShape, HostTensor, DeviceTensor } from "../exec/Executor.ts"
import type { DecodeModel } from "./DecodeGraph.ts"
import type { RunInput, RunOutput, ModelRunner } from "./ModelRunner.ts"
import { pack, type Routing, wordsOf } from "../model/part/RoutedExperts.ts"
import * as Sampler from "./Sampler.ts"

export type Weights = Readonly<Record<string, DeviceTensor>>

const int32 = (data: Int32Array, shape: ReadonlyArray<number>): HostTensor => ({ dtype: "int32", shape, data })

/**
 * Loads the model into an executor. Constant matrices are prepacked: matmuls of few rows, as in decoding, are about
 * twice as fast, at the cost of a copy of the weights.
 */
export const make = Effect.fnUntraced(function* (
  executor: ExecutorShape,
  model: DecodeModel
): Effect.fn.Return<ModelRunner<Weights>, ExecutorError, Scope.Scope> {
  const program = yield* executor.load(model.onnx, { prepack: true })
  const { layout, maxPositions, routing, shape, vocabulary } = model
  return {
    shape,
    vocabulary,
    run: (weights, input) =>
      Effect.map(program.run({ ...weights, ...feeds(input, maxPositions) }), ({ host }) =>
        output(input, vocabulary, routing, host)
      ),
    put: (parameters) =>
      Effect.map(
        Effect.forEach(layout.slots, ({ name, offset, shape, size }) =>
          Effect.map(
            executor.put({ dtype: "float32", shape, data: parameters.slice(offset, offset + size) }),
            (resident) => [name, resident] as const
          )
        ),
        (entries): Weights => Object.fromEntries(entries)
      ),
    free: (weights) => Effect.forEach(Object.values(weights), (weight) => executor.free(weight), { discard: true })
  }
})

const feeds = (
  { cache, counts, inverseTemperatures, outputs, rows, tokens, width }: RunInput,
  maxPositions: number
): Record<string, HostTensor> => {
  const lengths = new Int32Array(rows)
  const positions = new Int32Array(rows * width)
  for (let row = 0; row < rows; row++) {
    lengths[row] = cache.lengths[row] ?? 0
    // Padding may exceed the last valid position.
    for (let t = 0; t < width; t++) positions[row * width + t] = Math.min(lengths[row]! + t, maxPositions - 1)
  }
  return {
    input_ids: int32(tokens, [rows, width]),
    position_ids: int32(positions, [rows, width]),
    past_lengths: int32(lengths, [rows]),
    output_positions: int32(outputs, [outputs.length]),
    ...(cache.shape.states && { counts: int32(counts, [rows]) }),
    inverse_temperatures: { dtype: "float32", shape: [outputs.length], data: inverseTemperatures },
    ...cache.feeds(rows)
  }
}

const output = (
  { inverseTemperatures }: RunInput,
  vocabulary: number,
  routing: Routing | undefined,
  host: Readonly<Record<string, HostTensor>>
): RunOutput => {
  // The graph's outputs are float32.
  const numbers = (name: string) => host[name]!.data as Float32Array
  const [logits, entries] = [numbers("logits"), numbers("entries")]
  const states = host["states"]?.data as Float32Array | undefined
  const routed = routing && {
    words: wordsOf(routing),
    // An int32 output of the graph.
    data: pack(routing, host["routed_experts"]!.data as Int32Array)
  }
  const logitsOf = (i: number) => logits.subarray(i * vocabulary, (i + 1) * vocabulary)
  if (vocabulary <= Sampler.smallVocabulary) {
    return {
      rows: Array.from(inverseTemperatures, (inverse, i) => Sampler.row(logitsOf(i), inverse)),
      entries,
      states,
      routed
    }
  }
  const [maxima, sums] = [numbers("maxima"), numbers("sums")]
  const blocks = maxima.length / inverseTemperatures.length
  const rows = Array.from(inverseTemperatures, (inverseTemperature, i): Sampler.Row => ({
    logits: logitsOf(i),
    inverseTemperature,
    maxima: maxima.subarray(i * blocks, (i + 1) * blocks),
    sums: sums.subarray(i * blocks, (i + 1) * blocks)
  }))
  return { rows, entries, states, routed }
}
