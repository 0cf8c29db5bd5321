/**
 * Reads the sizes of a model of any architecture from `config.json`, by the names that configurations use: enough to
 * train it on an engine that has the architecture, where ours has not, and to estimate its memory.
 */
import { Effect, Option, Schema } from "effect"
import * as ModelFolder from "./ModelFolder.ts"
import { ModelError } from "./file/ModelError.ts"
import * as Safetensors from "./file/Safetensors.ts"
import * as WeightFiles from "./file/WeightFiles.ts"

export interface ModelSizes {
  readonly vocabSize: number
  readonly hiddenSize: number
  /** Unlimited if the configuration has none. */
  readonly maxPositions: number
  readonly layers: number
  /** Widest feed-forward layer that a token passes, its experts together. */
  readonly intermediateSize: number
  /** Elements of all tensors in the weight files; undefined without such files. */
  readonly parameters: number | undefined
}

const Sizes = Schema.Record(Schema.String, Schema.Unknown)

/** The first of these fields that is a positive integer. */
const sizeOf = (config: typeof Sizes.Type, names: ReadonlyArray<string>): number | undefined =>
  names.map((name) => config[name]).find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0)

const intermediateOf = (config: typeof Sizes.Type, hiddenSize: number): number => {
  const dense = sizeOf(config, ["intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"])
  const ofExpert = sizeOf(config, ["moe_intermediate_size", "expert_intermediate_size"])
  const perToken = sizeOf(config, ["num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk"]) ?? 1
  // The width that GPT's family takes without a setting.
  return Math.max(dense ?? 4 * hiddenSize, perToken * (ofExpert ?? (perToken > 1 ? (dense ?? 0) : 0)))
}

const parametersOf = Effect.fnUntraced(function* (folder: string) {
  const files = yield* WeightFiles.paths(folder).pipe(
    Effect.catchIf(
      ({ reason }) => reason === "missing",
      () => Effect.succeed([])
    )
  )
  if (files.length === 0) return undefined
  const heads = yield* Effect.forEach(files, Safetensors.head)
  return heads
    .flatMap(({ tensors }) => [...tensors.values()])
    .reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0)
})

export const read = Effect.fn("ModelSizes.read")(function* (folder: string) {
  const { json } = yield* ModelFolder.readConfigFile(folder)
  const decode = Schema.decodeUnknownOption(Sizes)
  const whole = Option.getOrElse(decode(json), (): typeof Sizes.Type => ({}))
  const config = Option.getOrElse(decode(whole["text_config"]), () => whole)
  const vocabSize = sizeOf(config, ["vocab_size"])
  const hiddenSize = sizeOf(config, ["hidden_size", "n_embd", "d_model", "dim"])
  if (vocabSize === undefined || hiddenSize === undefined) {
    const field = vocabSize === undefined ? "vocab_size" : "hidden_size"
    return yield* new ModelError({
      reason: "unsupported",
      model: folder,
      message: `${folder}/${ModelFolder.configFile} has no ${field}`
    })
  }
  const positions = ["max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length"]
  return {
    vocabSize,
    hiddenSize,
    maxPositions: sizeOf(config, positions) ?? Number.MAX_SAFE_INTEGER,
    layers: sizeOf(config, ["num_hidden_layers", "n_layer", "num_layers", "n_layers"]) ?? 1,
    intermediateSize: intermediateOf(config, hiddenSize),
    parameters: yield* parametersOf(folder)
  } satisfies ModelSizes
})
