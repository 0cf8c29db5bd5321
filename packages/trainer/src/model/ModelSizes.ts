/**
 * Reads the sizes of a model of any architecture from `config.json`, by the names that configurations use: enough to
 * train it on an engine that has the architecture, where ours has not.
 */
import { Effect, Option, Schema } from "effect"
import * as ModelFolder from "./ModelFolder.ts"
import { ModelError } from "./ModelError.ts"

const Sizes = Schema.Record(Schema.String, Schema.Unknown)

/** The first of these fields that is a positive integer. */
const sizeOf = (config: typeof Sizes.Type, names: ReadonlyArray<string>): number | undefined =>
  names.map((name) => config[name]).find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0)

/** Sizes of a model of any architecture, by the names that configurations use; without positions they are unlimited. */
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
  return { vocabSize, hiddenSize, maxPositions: sizeOf(config, positions) ?? Number.MAX_SAFE_INTEGER }
})
