/**
 * Computes KV-cache memory sizes: page sizes, and bytes of the caches made of them (`KvCache`), as used for admission
 * and memory plans. Memory grows by about an eighth.
 */
import type { ModelConfig } from "../../model/ModelConfig.ts"
import * as CachedDelta from "./CachedDelta.ts"

export interface KvShape {
  /** Number of layers with keys and values. */
  readonly layers: number
  readonly kvHeads: number
  readonly headDim: number
  /** Layers with a state: their number, and the numbers per row in each. */
  readonly states?: { readonly layers: number; readonly size: number } | undefined
}

export const shapeOf = (
  config: Pick<ModelConfig, "headDim" | "kvHeads" | "layers" | "layerTraits" | "delta">
): KvShape => {
  const { headDim, kvHeads } = config
  const { behind, memory } = CachedDelta.sizesOf(config)
  const deltas = config.layerTraits.filter(({ isDelta }) => isDelta).length
  return {
    headDim,
    kvHeads,
    layers: config.layers - deltas,
    ...(deltas > 0 && { states: { layers: deltas, size: behind + memory } })
  }
}

export const stateBytes = ({ states }: KvShape): number => (states === undefined ? 0 : 4 * states.layers * states.size)

/** Positions per page of sampled rows; half a page per row is unused on average. */
export const rowPage = 64

/** Positions per page of a prompt, which is prefilled a hundred tokens at a time: larger pages are faster there. */
export const promptPage = 256

export const pagesFor = (positions: number, page = rowPage): number => Math.ceil(positions / page)

/** Rounds up to an eighth of a power of two, so that growing arrays are seldom copied. */
const capacityFor = (count: number): number => {
  const step = Math.max(1, 2 ** Math.floor(Math.log2(Math.max(1, count - 1))) / 8)
  return Math.ceil(count / step) * step
}

/** Page and row capacities. A run takes at least two rows and one page. */
export const pageCapacity = (pages: number): number => capacityFor(Math.max(1, pages))
export const rowCapacity = (rows: number): number => capacityFor(Math.max(2, rows))

export const pageBytes = ({ headDim, kvHeads, layers }: KvShape, page: number): number =>
  2 * 4 * layers * kvHeads * headDim * page

/** Bytes of a cache with this many rows and total pages. */
export const bytesOf = (shape: KvShape, rows: number, pages: number, page = rowPage): number =>
  pageCapacity(pages) * pageBytes(shape, page) + rowCapacity(rows) * stateBytes(shape)

/** Bytes of a cache whose rows hold this many positions. */
export const bytesFor = (shape: KvShape, positions: ReadonlyArray<number>, page = rowPage): number =>
  bytesOf(
    shape,
    positions.length,
    positions.reduce((sum, count) => sum + pagesFor(count, page), 0),
    page
  )
