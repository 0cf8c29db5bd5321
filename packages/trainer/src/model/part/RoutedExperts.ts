/**
 * Packs expert choices recorded at sampling for replay in training (rollout routing replay, Ma et al. 2025, arXiv
 * 2510.11370): sampler and trainer then use the same experts, even for near-ties.
 *
 * At each position L mixture layers chose k experts each. In graphs that is int32 [..., L, k]; stored and sent it is
 * whole int32 words per position, one byte per choice for up to 256 experts and two for more.
 */
import type { ModelConfig } from "../family/Traits.ts"

export interface Routing {
  /** L */
  readonly layers: number
  /** k */
  readonly perToken: number
  readonly experts: number
}

/** Routing of a model; undefined if it has no mixture. */
export const routingOf = ({
  layerTraits,
  mixture
}: Pick<ModelConfig, "layerTraits" | "mixture">): Routing | undefined => {
  const layers = layerTraits.filter(({ isMixture }) => isMixture).length
  return mixture === undefined || layers === 0
    ? undefined
    : { layers, perToken: mixture.perToken, experts: mixture.experts }
}

/** Marks an unrecorded choice: the trainer's own is used. */
export const unknown = -1

const bytesOf = ({ experts }: Routing): 1 | 2 => (experts <= 256 ? 1 : 2)

export const choicesOf = ({ layers, perToken }: Routing): number => layers * perToken

export const wordsOf = (routing: Routing): number => Math.ceil((choicesOf(routing) * bytesOf(routing)) / 4)

const view = (routing: Routing, words: Int32Array): Uint8Array | Uint16Array => {
  const { buffer, byteLength, byteOffset } = words
  return bytesOf(routing) === 1
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : new Uint16Array(buffer, byteOffset, byteLength / 2)
}

export const pack = (routing: Routing, choices: ArrayLike<number>): Int32Array => {
  const each = choicesOf(routing)
  const words = new Int32Array((choices.length / each) * wordsOf(routing))
  const packed = view(routing, words)
  const stride = (wordsOf(routing) * 4) / bytesOf(routing)
  for (let i = 0; i < choices.length; i++) packed[Math.floor(i / each) * stride + (i % each)] = choices[i]!
  return words
}

/** Writes the choices of the first `positions` positions of words to `into`, from its element `at` on. */
export const unpack = (routing: Routing, words: Int32Array, positions: number, into: Int32Array, at: number): void => {
  const each = choicesOf(routing)
  const packed = view(routing, words)
  const stride = (wordsOf(routing) * 4) / bytesOf(routing)
  for (let position = 0; position < positions; position++) {
    for (let i = 0; i < each; i++) into[at + position * each + i] = packed[position * stride + i]!
  }
}

export const joined = (parts: ReadonlyArray<Int32Array>): Int32Array => {
  const whole = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** True if words are those of this many positions of this model, with every choice a valid expert. */
export const fits = (routing: Routing, words: Int32Array, positions: number): boolean => {
  if (words.length !== positions * wordsOf(routing)) return false
  const choices = new Int32Array(positions * choicesOf(routing))
  unpack(routing, words, positions, choices, 0)
  return choices.every((expert) => expert < routing.experts)
}
