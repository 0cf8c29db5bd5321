/**
 * Adapters as PEFT's folders: `adapter_config.json` and `adapter_model.safetensors` with names under `base_model.model.`.
 *
 * What is written loads in PEFT, vLLM and SGLang. What is read must be a plain LoRA of the same rank and layers as the model's layout;
 * everything else (DoRA, biases, embeddings, other ranks) is refused by name.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import * as Lora from "./Lora.ts"
import { ModelError } from "./ModelError.ts"
import * as Parameters from "./Parameters.ts"
import * as Safetensors from "./Safetensors.ts"

const configFile = "adapter_config.json"
const weightsFile = "adapter_model.safetensors"
const prefix = "base_model.model."

export interface Written {
  readonly layout: Parameters.Layout
  readonly adapter: Lora.LoraSettings
  readonly parameters: Float32Array
  /** Folder or hub id of the frozen model. */
  readonly base: string
  /** Default F32. vLLM and SGLang take either. */
  readonly type?: "F32" | "BF16"
}

/** The linear layers that a layout has adapters on. */
const targetsOf = ({ slots }: Parameters.Layout): ReadonlyArray<string> => [
  ...new Set(slots.map(({ name }) => name.split(".").at(-3) ?? ""))
]

export const write = Effect.fn("Peft.write")(function* (
  folder: string,
  { adapter, base, layout, parameters, type = "F32" }: Written
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const config = {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: base,
    r: adapter.r,
    lora_alpha: adapter.alpha,
    lora_dropout: 0,
    use_rslora: adapter.rslora,
    bias: "none",
    fan_in_fan_out: false,
    inference_mode: true,
    target_modules: targetsOf(layout)
  }
  const failed = Effect.mapError(
    (cause: { readonly message: string }) =>
      new ModelError({
        reason: "damaged",
        model: folder,
        message: `${folder} cannot be written: ${cause.message}`,
        cause
      })
  )
  yield* failed(fs.makeDirectory(folder, { recursive: true }))
  yield* failed(fs.writeFileString(join(folder, configFile), `${JSON.stringify(config, null, 2)}\n`))
  const tensors = layout.slots.map((slot) => ({
    name: `${prefix}${slot.name}`,
    shape: slot.shape,
    values: Parameters.view(parameters, slot)
  }))
  yield* Safetensors.write(join(folder, weightsFile), tensors, type)
})

const File = Schema.Struct({
  peft_type: Schema.String,
  r: Schema.Int,
  lora_alpha: Schema.Finite,
  use_rslora: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  use_dora: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  bias: Schema.optionalKey(Schema.String),
  fan_in_fan_out: Schema.optionalKey(Schema.Boolean),
  modules_to_save: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  rank_pattern: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  alpha_pattern: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
})
const decodeConfig = Schema.decodeUnknownOption(Schema.fromJsonString(File))

const unsupported = (config: typeof File.Type): string | undefined => {
  if (config.peft_type !== "LORA") return `it is ${config.peft_type}, not LORA`
  if (config.use_dora === true) return "DoRA (use_dora) is not built"
  if (config.bias !== undefined && config.bias !== "none") return `trained biases (bias: ${config.bias}) are not built`
  if (config.fan_in_fan_out === true) return "transposed weights (fan_in_fan_out) are not built"
  if ((config.modules_to_save ?? []).length > 0)
    return `whole modules (${config.modules_to_save!.join(", ")}) are not built`
  const patterns = { ...config.rank_pattern, ...config.alpha_pattern }
  if (Object.keys(patterns).length > 0) return "ranks or alphas that differ by layer are not built"
  return undefined
}

/** The settings and the values of an adapter, flat in the layout of the model it is for. */
export const read = Effect.fn("Peft.read")(function* (
  folder: string,
  { adapter, layout }: { readonly adapter: Lora.LoraSettings; readonly layout: Parameters.Layout }
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) =>
    new ModelError({ reason, model: folder, message: `${folder}: ${message}` })
  const text = yield* Effect.mapError(fs.readFileString(join(folder, configFile)), () =>
    fail("missing", `there is no ${configFile}: this is no folder of an adapter`)
  )
  const config = Option.getOrUndefined(decodeConfig(text))
  if (config === undefined) return yield* fail("damaged", `${configFile} is not PEFT's`)
  const problem = unsupported(config)
  if (problem !== undefined) return yield* fail("unsupported", problem)
  const found: Lora.LoraSettings = {
    ...adapter,
    r: config.r,
    alpha: config.lora_alpha,
    rslora: config.use_rslora === true
  }
  if (config.r !== adapter.r) return yield* fail("mismatch", `its rank is ${config.r}, the model's ${adapter.r}`)
  if (Lora.scaleOf(found) !== Lora.scaleOf(adapter)) {
    return yield* fail(
      "mismatch",
      `its scale is ${Lora.scaleOf(found)}, the model's ${Lora.scaleOf(adapter)}: set alpha and rslora alike`
    )
  }
  const { tensors } = yield* Safetensors.head(join(folder, weightsFile))
  const parameters = new Float32Array(layout.size)
  for (const slot of layout.slots) {
    const entry = tensors.get(`${prefix}${slot.name}`)
    if (entry === undefined)
      return yield* fail("missing", `${prefix}${slot.name} is not there: the adapter is on other layers`)
    if (entry.shape.join() !== slot.shape.join()) {
      return yield* fail(
        "mismatch",
        `${slot.name} is [${entry.shape.join(", ")}], the model needs [${slot.shape.join(", ")}]`
      )
    }
    Parameters.view(parameters, slot).set(yield* Safetensors.floats(entry))
  }
  const names = new Set(layout.slots.map(({ name }) => `${prefix}${name}`))
  const extra = [...tensors.keys()].find((name) => !names.has(name))
  if (extra !== undefined) return yield* fail("mismatch", `${extra} is there, and has no place in the model's adapter`)
  return parameters
})
