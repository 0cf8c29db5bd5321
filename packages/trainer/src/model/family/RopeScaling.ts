/** Reads rotary positions from `config.json`, and computes their frequencies. */
import { Result } from "effect"
import type { RopeFile } from "./ConfigFile.ts"
import type { Rope, RopeScaling } from "./Traits.ts"

/** Other values of the configuration that scaling depends on. */
export interface Surroundings {
  readonly theta: number
  readonly headDim: number
  readonly maxPositions: number
  /** From the file's top level, where some files have it. */
  readonly originalMaxPositions: number | undefined
  readonly partial: number | undefined
}

export const supported = ["default", "linear", "dynamic", "llama3", "yarn", "longrope"] as const

const kindOf = ({ rope_type, type }: RopeFile): string => {
  const kind = rope_type ?? type ?? "default"
  // Its name in the first models that used it.
  return kind === "su" ? "longrope" : kind
}

/** yarn's factor on cosines and sines. */
const stretched = (factor: number, by = 1): number => (factor <= 1 ? 1 : 0.1 * by * Math.log(factor) + 1)

type Read = Result.Result<RopeScaling | undefined, string>

const yarn = (file: RopeFile, { maxPositions, originalMaxPositions }: Surroundings): Read => {
  const original = originalMaxPositions ?? file.original_max_position_embeddings ?? maxPositions
  const factor = file.factor ?? maxPositions / original
  const { mscale, mscale_all_dim: all } = file
  const magnitude = mscale && all ? stretched(factor, mscale) / stretched(factor, all) : stretched(factor)
  return Result.succeed({
    kind: "yarn",
    factor,
    betaFast: file.beta_fast ?? 32,
    betaSlow: file.beta_slow ?? 1,
    originalMaxPositions: original,
    truncates: file.truncate ?? true,
    magnitude: file.attention_factor ?? magnitude
  })
}

const longrope = (file: RopeFile, width: number, { maxPositions, originalMaxPositions }: Surroundings): Read => {
  const { long_factor: long, short_factor: short } = file
  if (long == null || short == null) return Result.fail("RoPE scaling longrope needs short_factor and long_factor")
  const wrong = [short, long].find(({ length }) => length !== width / 2)
  if (wrong !== undefined) {
    return Result.fail(
      `RoPE scaling longrope has ${wrong.length} factors; heads of ${width} rotated elements need ${width / 2}`
    )
  }
  const original = originalMaxPositions ?? file.original_max_position_embeddings ?? maxPositions
  const factor = file.factor ?? maxPositions / original
  const magnitude = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original))
  return Result.succeed({
    kind: "longrope",
    short,
    long,
    originalMaxPositions: original,
    magnitude: file.attention_factor ?? magnitude
  })
}

const scalingOf = (file: RopeFile, width: number, around: Surroundings): Read => {
  const kind = kindOf(file)
  const { factor, high_freq_factor: high, low_freq_factor: low } = file
  switch (kind) {
    // Dynamic scaling starts beyond the model's positions; longer sequences are rejected.
    case "default":
    case "dynamic":
      return Result.succeed(undefined)
    case "linear":
      return factor == null
        ? Result.fail("RoPE scaling linear needs a factor")
        : Result.succeed({ kind: "linear", factor })
    case "llama3":
      return factor == null || high == null || low == null
        ? Result.fail("RoPE scaling llama3 needs factor, low_freq_factor and high_freq_factor")
        : Result.succeed({
            kind: "llama3",
            factor,
            lowFrequencyFactor: low,
            highFrequencyFactor: high,
            originalMaxPositions:
              around.originalMaxPositions ?? file.original_max_position_embeddings ?? around.maxPositions
          })
    case "yarn":
      return yarn(file, around)
    case "longrope":
      return longrope(file, width, around)
    default:
      return Result.fail(`RoPE scaling "${kind}" is not supported; supported are ${supported.join(", ")}`)
  }
}

/** Reads the rotary positions of a file; the error describes the problem. */
export const read = (file: RopeFile, around: Surroundings): Result.Result<Rope, string> => {
  if (file.mrope_section != null) return Result.fail("image positions (mrope_section) are not supported")
  const partial = file.partial_rotary_factor ?? around.partial ?? 1
  const width = Math.floor(around.headDim * partial)
  if (width < 2 || width % 2 !== 0 || width > around.headDim) {
    return Result.fail(
      `partial_rotary_factor ${partial} rotates ${width} of the ${around.headDim} elements of a head; the number must be even`
    )
  }
  return Result.map(scalingOf(file, width, around), (scaling) => ({
    theta: file.rope_theta ?? around.theta,
    width,
    scaling
  }))
}

/** Range of yarn's ramp among `half` frequencies. */
const rampOf = (
  { theta, width }: Rope,
  { betaFast, betaSlow, originalMaxPositions, truncates }: Extract<RopeScaling, { kind: "yarn" }>
) => {
  const at = (turns: number) => (width * Math.log(originalMaxPositions / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const [low, high] = truncates ? [Math.floor(at(betaFast)), Math.ceil(at(betaSlow))] : [at(betaFast), at(betaSlow)]
  const from = Math.max(low, 0)
  const to = Math.min(high, width - 1)
  return { from, to: from === to ? to + 0.001 : to }
}

/**
 * Radians per position, width / 2 of them: theta^(-2i/width), scaled as configured. A model used for more than the
 * original positions has longrope's long factors in every sequence: a token's factors must not depend on later tokens.
 */
export const frequencies = (rope: Rope, maxPositions: number): Float64Array => {
  const { scaling, theta, width } = rope
  const plain = Float64Array.from({ length: width / 2 }, (_, i) => theta ** ((-2 * i) / width))
  switch (scaling?.kind) {
    case undefined:
      return plain
    case "linear":
      return plain.map((frequency) => frequency / scaling.factor)
    case "longrope": {
      const factors = maxPositions > scaling.originalMaxPositions ? scaling.long : scaling.short
      return plain.map((frequency, i) => frequency / factors[i]!)
    }
    case "yarn": {
      const { from, to } = rampOf(rope, scaling)
      return plain.map((frequency, i) => {
        const divided = Math.min(1, Math.max(0, (i - from) / (to - from)))
        return (frequency / scaling.factor) * divided + frequency * (1 - divided)
      })
    }
    case "llama3":
      return plain.map((frequency) => {
        const { factor, highFrequencyFactor, lowFrequencyFactor, originalMaxPositions } = scaling
        const turns = (originalMaxPositions * frequency) / (2 * Math.PI)
        if (turns < lowFrequencyFactor) return frequency / factor
        if (turns > highFrequencyFactor) return frequency
        const smooth = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor)
        return ((1 - smooth) * frequency) / factor + smooth * frequency
      })
  }
}

/** Factor on cosines and sines. */
export const magnitude = ({ scaling }: Rope): number =>
  scaling?.kind === "yarn" || scaling?.kind === "longrope" ? scaling.magnitude : 1
