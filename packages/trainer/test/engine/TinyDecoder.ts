/** A decoder small enough to run a thousand times in a test, with weights that are a function of a seed. */
import { Effect, Result } from "effect"
import type { ExecutorShape } from "../../src/exec/Executor.ts"
import { Graph } from "../../src/graph/Graph.ts"
import { toOnnx } from "../../src/graph/Onnx.ts"
import * as Decoder from "../../src/model/Decoder.ts"
import * as ModelConfig from "../../src/model/ModelConfig.ts"
import { packedAttention } from "../../src/model/Model.ts"
import * as Parameters from "../../src/model/Parameters.ts"
import * as Tensors from "../../src/model/Tensors.ts"
import * as CounterRandom from "../../src/base/CounterRandom.ts"
import type { DecodableModel } from "../../src/model/DecodableModel.ts"

export const config = Result.getOrThrow(
  ModelConfig.parse({
    model_type: "qwen3",
    hidden_act: "silu",
    vocab_size: 29,
    hidden_size: 32,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
    intermediate_size: 48,
    max_position_embeddings: 1024,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    tie_word_embeddings: true,
    eos_token_id: 0
  })
)

/** All weights are parameters. */
export const withConfig = (config: ModelConfig.ModelConfig): DecodableModel => ({
  config,
  layout: Parameters.layout(Tensors.all(config)),
  build: (graph, trainable, inputs) =>
    Decoder.build(graph, config, { tensor: (name) => trainable(name)!, lowRank: () => undefined }, inputs)
})

export const model = withConfig(config)

/** Norms are 1, all else uniform, wide enough that the next token depends on many before it. */
export const parameters = (seed: number, { layout } = model): Float32Array => {
  const values = new Float32Array(layout.size)
  for (const { name, offset, shape, size } of layout.slots) {
    const width = name.includes("embed") ? 0.4 : 2 / Math.sqrt(shape.at(-1)!)
    for (let i = offset; i < offset + size; i++) {
      values[i] = shape.length === 1 ? 1 : width * (2 * CounterRandom.uniform(seed, 1, i) - 1)
    }
  }
  return values
}

/** log softmax(logits / temperature) after each position of a sequence, (T, V), as training computes it. */
export const logprobs = Effect.fnUntraced(function* (
  executor: ExecutorShape,
  theta: Float32Array,
  tokens: ReadonlyArray<number>,
  temperature = 1
) {
  const graph = new Graph()
  const ids = (name: string) => graph.input(name, "int32", ["B", "T"])
  const [inputIds, positionIds, segmentIds] = [ids("input_ids"), ids("position_ids"), ids("segment_ids")]
  const slots = new Map(model.layout.slots.map(({ name, shape }) => [name, graph.input(name, "float32", shape)]))
  const attention = packedAttention(graph, segmentIds, positionIds)
  const { head, hidden } = model.build(graph, (name) => slots.get(name), { inputIds, positionIds, attention })
  graph.output("logprobs", graph.logSoftmax(graph.scale(graph.gemm(hidden, head, false, true), 1 / temperature)))
  const program = yield* executor.load(toOnnx(graph))
  const row = (values: Iterable<number>) =>
    ({ dtype: "int32", shape: [1, tokens.length], data: Int32Array.from(values) }) as const
  const weights = Object.fromEntries(
    model.layout.slots.map((slot) => [
      slot.name,
      { dtype: "float32", shape: slot.shape, data: Parameters.view(theta, slot) } as const
    ])
  )
  const { host } = yield* program.run({
    ...weights,
    input_ids: row(tokens),
    position_ids: row(tokens.keys()),
    segment_ids: row(tokens.map(() => 0))
  })
  const flat = host["logprobs"]!.data as Float32Array
  return tokens.map((_, t) => flat.subarray(t * config.vocabSize, (t + 1) * config.vocabSize))
})
