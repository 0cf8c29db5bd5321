/**
 * Reads and writes adapters as PEFT folders: `adapter_config.json` and `adapter_model.safetensors`, names under
 * `base_model.model.`. Plain LoRA on block layers also loads in vLLM and SGLang. Rank and modules of a read adapter
 * must match the model's layout; unsupported options (biases, ranks that differ by layer) are rejected by name.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import * as TextPart from "./family/TextPart.ts"
import * as Lora from "./Lora.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import { ModelError, unwritten } from "./file/ModelError.ts"
import * as ModelFolder from "./ModelFolder.ts"
import * as Parameters from "./Parameters.ts"
import * as Safetensors from "./file/Safetensors.ts"
import * as Tensors from "./Tensors.ts"
import * as WeightFiles from "./file/WeightFiles.ts"

const configFile = ModelFolder.adapterFile
const weightsFile = "adapter_model.safetensors"
const prefix = "base_model.model."

export interface Written {
  readonly layout: Parameters.Layout
  readonly adapter: Lora.LoraSettings
  readonly parameters: Float32Array
  /** Folder or hub id of the frozen model. */
  readonly base: string
  /** Set for the text part of a multimodal model: names are those of the whole model's modules. */
  readonly textOf?: ModelConfig["textOf"]
  /** Default F32. vLLM and SGLang support both. */
  readonly type?: "F32" | "BF16"
}

/** Maps names of an adapter on a multimodal model to names in the text part. */
const plainName = (name: string): string =>
  name.startsWith(prefix) ? `${prefix}${TextPart.plainName(name.slice(prefix.length))}` : name

/** `q_proj` of `model.layers.0.self_attn.q_proj`. */
const lastOf = (module: string): string => module.split(".").at(-1) ?? ""

/** Modules with an adapter, and modules saved in full, among these tensors. */
const modulesIn = (names: Iterable<string>) => {
  const adapted = new Set<string>()
  const saved = new Set<string>()
  for (const name of names) {
    const part = Lora.partOf(name)
    if (part === undefined) saved.add(lastOf(name.replace(/\.weight$/, "")))
    else adapted.add(lastOf(part.module))
  }
  return { adapted: [...adapted], saved: [...saved] }
}

/** Names and shapes [V, H] of the embedding and output matrix, if they have adapters. */
const frozenBeside = ({ slots }: Parameters.Layout) =>
  [Tensors.embeddingModule, Tensors.headModule].flatMap((module) => {
    const shapeOf = (part: "A" | "B") => slots.find(({ name }) => name === Lora.nameOf(module, part))?.shape
    const [a, b] = [shapeOf("A"), shapeOf("B")]
    if (a === undefined || b === undefined) return []
    return [{ module, shape: module === Tensors.embeddingModule ? [a[1], b[0]] : [b[0], a[1]] }]
  })

/** The configuration is written last, so a folder that has it is complete. */
export const write = Effect.fn("Peft.write")(
  function* (folder: string, { adapter, base, layout, parameters, textOf, type = "F32" }: Written) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    yield* fs.makeDirectory(folder, { recursive: true })
    const tensors = layout.slots.map((slot) => ({
      name: `${prefix}${TextPart.nameInWhole(textOf, slot.name)}`,
      shape: slot.shape,
      values: Parameters.view(parameters, slot)
    }))
    yield* Safetensors.write(join(folder, weightsFile), tensors, type)
    const { adapted, saved } = modulesIn(layout.slots.map(({ name }) => name))
    const others = TextPart.otherModules(textOf)
    const config = {
      peft_type: "LORA",
      task_type: "CAUSAL_LM",
      base_model_name_or_path: base,
      r: adapter.r,
      lora_alpha: adapter.alpha,
      lora_dropout: 0,
      use_rslora: adapter.rslora,
      use_dora: adapter.dora === true,
      bias: "none",
      fan_in_fan_out: false,
      inference_mode: true,
      target_modules: adapted,
      ...(others !== undefined && { exclude_modules: others }),
      modules_to_save: saved.length > 0 ? saved : null
    }
    yield* fs.writeFileString(join(folder, configFile), `${JSON.stringify(config, null, 2)}\n`)
  },
  (effect, folder) => Effect.mapError(effect, unwritten(folder))
)

const File = Schema.Struct({
  peft_type: Schema.String,
  r: Schema.Int,
  lora_alpha: Schema.Finite,
  use_rslora: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  use_dora: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  modules_to_save: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  target_modules: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.String)])))
})
const decodeConfig = Schema.decodeUnknownOption(Schema.fromJsonString(File))
const decodeKeys = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/** Keys that do not affect a trained adapter's numbers: read above, only for training, or informational. */
const harmless = new Set([
  ...Object.keys(File.fields),
  "auto_mapping",
  "base_model_name_or_path",
  "ensure_weight_tying",
  // The weights file determines which layers are adapted.
  "exclude_modules",
  "inference_mode",
  "lora_dropout",
  "megatron_core",
  "peft_version",
  "qalora_group_size",
  "revision",
  "runtime_config",
  "task_type"
])

/**
 * Initializations that leave the frozen weights unchanged. PiSSA, OLoRA and others change them when the adapter is
 * loaded.
 */
const plainStarts = new Set<unknown>([true, false, "gaussian"])

const isOff = (value: unknown): boolean =>
  value === null ||
  value === false ||
  value === "none" ||
  (typeof value === "object" && Object.keys(value).length === 0)

const unsupported = (keys: { readonly [key: string]: unknown }): string | undefined => {
  if (keys["peft_type"] !== "LORA") return `it is ${JSON.stringify(keys["peft_type"])}, not LORA`
  for (const [key, value] of Object.entries(keys)) {
    if (harmless.has(key) || isOff(value) || (key === "init_lora_weights" && plainStarts.has(value))) continue
    return `its option ${key} = ${JSON.stringify(value)} is not supported; LoRA with one rank and alpha is, also with use_rslora, use_dora and modules_to_save`
  }
  return undefined
}

const adaptedModules = Effect.fnUntraced(function* (file: string) {
  const { tensors } = yield* Safetensors.head(file)
  return modulesIn(tensors.keys()).adapted
})

export const readSettings = Effect.fn("Peft.readSettings")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) =>
    new ModelError({ reason, model: folder, message: `${folder}: ${message}` })
  if (!(yield* Effect.orElseSucceed(fs.exists(join(folder, configFile)), () => false))) {
    return yield* fail("missing", `${configFile} not found: this is not an adapter folder`)
  }
  const text = yield* WeightFiles.readText(join(folder, configFile))
  const keys = decodeKeys(text)
  if (Option.isNone(keys)) return yield* fail("damaged", `${configFile} is not a JSON object`)
  const problem = unsupported(keys.value)
  if (problem !== undefined) return yield* fail("unsupported", problem)
  const config = Option.getOrUndefined(decodeConfig(text))
  if (config === undefined) {
    return yield* fail("damaged", `${configFile} lacks valid r, lora_alpha or target_modules`)
  }
  const { lora_alpha: alpha, modules_to_save: saved, r, target_modules: named, use_dora, use_rslora } = config
  // SkyRL writes none, and a string is a name pattern: the weights then determine the layers.
  const isNamed = named === Lora.allLinear || Array.isArray(named)
  const modules = isNamed ? named : yield* adaptedModules(join(folder, weightsFile))
  const targetModules = Lora.known(typeof modules === "string" ? [modules] : modules)
  if (typeof targetModules === "string") return yield* fail("unsupported", `target_modules: ${targetModules}`)
  if (r < 1 || r > Lora.maxRank) {
    return yield* fail("damaged", `its rank is ${r}; a rank is a whole number from 1 to ${Lora.maxRank}`)
  }
  const settings: Lora.LoraSettings = {
    r,
    alpha,
    rslora: use_rslora === true,
    targetModules,
    ...(use_dora === true && { dora: true }),
    ...(saved != null && saved.length > 0 && { modulesToSave: saved })
  }
  return settings
})

/** Reads an adapter's values, flat in the model's layout; rank, scale and layers must match the model's. */
export const read = Effect.fn("Peft.read")(function* (
  folder: string,
  { adapter, layout }: { readonly adapter: Lora.LoraSettings; readonly layout: Parameters.Layout }
) {
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) =>
    new ModelError({ reason, model: folder, message: `${folder}: ${message}` })
  const found = yield* readSettings(folder)
  if (found.r !== adapter.r) return yield* fail("mismatch", `its rank is ${found.r}, the model's ${adapter.r}`)
  if ((found.dora === true) !== (adapter.dora === true)) {
    return yield* fail("mismatch", `it is ${found.dora === true ? "with" : "without"} DoRA, the model's adapter is not`)
  }
  if (Lora.scaleOf(found) !== Lora.scaleOf(adapter)) {
    return yield* fail(
      "mismatch",
      `its scale is ${Lora.scaleOf(found)}, the model's ${Lora.scaleOf(adapter)}: set alpha and rslora alike`
    )
  }
  const { tensors: written } = yield* Safetensors.head(join(folder, weightsFile))
  const tensors = new Map([...written].map(([name, entry]) => [plainName(name), entry]))
  const parameters = new Float32Array(layout.size)
  for (const slot of layout.slots) {
    const entry = tensors.get(`${prefix}${slot.name}`)
    if (entry === undefined)
      return yield* fail("missing", `${prefix}${slot.name} is missing: the adapter is on other layers`)
    if (entry.shape.join() !== slot.shape.join()) {
      return yield* fail(
        "mismatch",
        `${slot.name} is [${entry.shape.join(", ")}], the model needs [${slot.shape.join(", ")}]`
      )
    }
    const at = yield* Safetensors.firstNotFinite(entry)
    if (at !== undefined) return yield* fail("damaged", `${slot.name} is NaN or infinite at element ${at}`)
    Parameters.view(parameters, slot).set(yield* Safetensors.floats(entry))
  }
  const names = new Set(layout.slots.map(({ name }) => `${prefix}${name}`))
  for (const { module, shape } of frozenBeside(layout)) {
    // PEFT also writes the frozen matrix of an adapted embedding: its size at least must match the model's.
    const name = `${prefix}${module}.base_layer.weight`
    const entry = tensors.get(name)
    if (entry !== undefined && entry.shape.join() !== shape.join()) {
      return yield* fail("mismatch", `${name} is [${entry.shape.join(", ")}], the model's [${shape.join(", ")}]`)
    }
    names.add(name)
  }
  const extra = [...tensors.keys()].find((name) => !names.has(name))
  if (extra !== undefined)
    return yield* fail("mismatch", `unexpected tensor ${extra}: the model's adapter does not have it`)
  return parameters
})
