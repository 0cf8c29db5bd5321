/**
 * Low-rank adapters (Hu et al. 2021, 2106.09685): W x + s B A x with A [r, in] and B [out, r], in PEFT's conventions.
 *
 * s = alpha / r, or alpha / sqrt(r) when rank-stabilised (2312.03732). A starts uniform in ±1/sqrt(in) (PEFT's
 * kaiming_uniform with a = sqrt(5)), B at zero: before the first update the adapter changes nothing.
 */
import { type Pieces, run } from "../base/Pieces.ts"
import { uniform } from "../base/CounterRandom.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Parameters from "./Parameters.ts"
import * as Tensors from "./Tensors.ts"

export interface LoraSettings {
  readonly r: number
  readonly alpha: number
  readonly targetModules: ReadonlyArray<string>
  readonly rslora: boolean
}

/** Beyond the width of any model an adapter is not low of rank. */
export const largestRank = 65_536

export const scaleOf = ({ alpha, r, rslora }: LoraSettings): number => alpha / (rslora ? Math.sqrt(r) : r)

export const nameOf = (module: string, part: "A" | "B"): string => `${module}.lora_${part}.weight`

/** PEFT's word for all of them. */
const allLinear = "all-linear"

/** The linear layers that are meant, or what is wrong with the names. */
export const targets = (names: ReadonlyArray<string>): ReadonlyArray<Tensors.Projection> | string => {
  if (names.length === 1 && names[0] === allLinear) return Tensors.projectionNames
  const unknown = names.find((name) => !Object.hasOwn(Tensors.projections, name))
  if (unknown !== undefined) {
    return `there is no linear layer "${unknown}"; there are ${Tensors.projectionNames.join(", ")}, or ${allLinear} alone`
  }
  if (names.length === 0) return `no linear layer is named; there are ${Tensors.projectionNames.join(", ")}`
  return Tensors.projectionNames.filter((name) => names.includes(name))
}

/** A and B of each module, layer by layer. */
export const layout = (
  config: ModelConfig,
  { r }: Pick<LoraSettings, "r">,
  projections: ReadonlyArray<Tensors.Projection>
): Parameters.Layout =>
  Parameters.layout(
    Array.from({ length: config.layers }, (_, layer) =>
      projections.flatMap((projection) => {
        const module = Tensors.moduleName(layer, projection)
        const [out, input] = Tensors.linearShape(config, projection)
        return [
          { name: nameOf(module, "A"), shape: [r, input] },
          { name: nameOf(module, "B"), shape: [out, r] }
        ]
      })
    ).flat()
  )

/** Values before the first update; equal seeds give equal ones. */
export const initial = (layout: Parameters.Layout, seed: number): Float32Array => run(initialPieces(layout, seed))

/** The same in pieces: a million values take 75 ms. */
export function* initialPieces({ size, slots }: Parameters.Layout, seed: number): Pieces<Float32Array> {
  const values = new Float32Array(size)
  for (const [index, slot] of slots.entries()) {
    if (!slot.name.endsWith(".lora_A.weight")) continue
    yield
    const bound = 1 / Math.sqrt(slot.shape[1]!)
    const view = Parameters.view(values, slot)
    for (let at = 0; at < view.length; at++) view[at] = (2 * uniform(seed, index, at) - 1) * bound
  }
  return values
}
