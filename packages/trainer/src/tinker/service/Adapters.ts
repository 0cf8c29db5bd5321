/**
 * Creates adapters of several kinds on one base model: they share its weights, and every kind has its own layout.
 *
 * The sampler runs one graph for all of them, with adapters of the largest rank on every layer: smaller ones are padded
 * with zeros, and B is multiplied by the ratio of scales. The product is the same.
 */
import * as Pieces from "../../base/Pieces.ts"
import * as Lora from "../../model/Lora.ts"
import type { Model } from "../../model/Model.ts"
import type { ModelConfig } from "../../model/ModelConfig.ts"
import * as Parameters from "../../model/Parameters.ts"
import * as Peft from "../../model/Peft.ts"
import * as Tensors from "../../model/Tensors.ts"

export interface Kind {
  readonly rank: number
  readonly trainAttn: boolean
  readonly trainMlp: boolean
}

export interface Adapted extends Model {
  readonly adapter: Lora.LoraSettings
  readonly kind: Kind
}

export const modulesOf = (config: ModelConfig, { trainAttn, trainMlp }: Kind): ReadonlyArray<Tensors.Projection> =>
  Tensors.adaptable(config).filter((name) => (Tensors.projections[name] === "mlp" ? trainMlp : trainAttn))

export const adapt = (base: Model, kind: Kind, alpha: number): Adapted => {
  const projections = modulesOf(base.config, kind)
  const adapter = { r: kind.rank, alpha, rslora: false, targetModules: projections }
  const layout = Lora.layout(base.config, adapter)
  return {
    ...base,
    kind,
    layout,
    adapter,
    initial: new Float32Array(0),
    write: (folder, parameters) =>
      Peft.write(folder, { layout, adapter, parameters, base: base.name, textOf: base.config.textOf })
  }
}

/** Initial values of an adapter, deterministic by seed. */
export const initial = ({ layout }: Adapted, seed: number) => Pieces.yielding(() => Lora.initialPieces(layout, seed))

/** Copies an adapter into a layout with at least its rank and layers. */
export const widen = (from: Adapted, parameters: Float32Array, to: Adapted): Float32Array => {
  const wide = new Float32Array(to.layout.size)
  const factor = Lora.scaleOf(from.adapter) / Lora.scaleOf(to.adapter)
  const slots = new Map(to.layout.slots.map((slot) => [slot.name, slot]))
  for (const slot of from.layout.slots) {
    const source = Parameters.view(parameters, slot)
    // Every layer of a smaller adapter is one of the larger.
    const target = Parameters.view(wide, slots.get(slot.name)!)
    if (slot.name.endsWith(".lora_A.weight")) {
      target.set(source)
      continue
    }
    const { rank } = from.kind
    for (let at = 0; at < source.length; at++) {
      target[Math.floor(at / rank) * to.kind.rank + (at % rank)] = source[at]! * factor
    }
  }
  return wide
}
