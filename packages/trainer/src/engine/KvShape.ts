/**
 * What keys and values of a model take: sizes of pages, and bytes of the caches that are made of them (`KvCache`), as
 * admission promises them and plans of memory count them. Memory grows by about an eighth.
 */
import type { ModelConfig } from "../model/ModelConfig.ts"
import * as CachedDelta from "./CachedDelta.ts"

export interface KvShape {
  /** Of those that have keys and values. */
  readonly layers: number
  readonly kvHeads: number
  readonly headDim: number
  /** Of those that have a state: how many, and a row's numbers in each. */
  readonly states?: { readonly layers: number; readonly size: number } | undefined
}

/** What a model's layers need. */
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

/** Bytes of the states of a row. */
export const stateBytes = ({ states }: KvShape): number => (states === undefined ? 0 : 4 * states.layers * states.size)

/** Positions of a page where rows are sampled: what a row takes too much is half of one, on average. */
export const rowPage = 64

/** Of a prompt, which goes through the model a hundred tokens at a time: for those, larger pages are faster. */
export const promptPage = 256

/** Pages that hold so many positions. */
export const pagesFor = (positions: number, page = rowPage): number => Math.ceil(positions / page)

/** The next eighth of a power of two, so that what grows is seldom copied. */
const capacityFor = (count: number): number => {
  const step = Math.max(1, 2 ** Math.floor(Math.log2(Math.max(1, count - 1))) / 8)
  return Math.ceil(count / step) * step
}

/** Pages and rows that there is room for. A run takes at least two rows and one page. */
export const pageCapacity = (pages: number): number => capacityFor(Math.max(1, pages))
export const rowCapacity = (rows: number): number => capacityFor(Math.max(2, rows))

/** Of one page. */
export const pageBytes = ({ headDim, kvHeads, layers }: KvShape, page: number): number =>
  2 * 4 * layers * kvHeads * headDim * page

/** Bytes of a cache of so many rows with so many pages in all. */
export const bytesOf = (shape: KvShape, rows: number, pages: number, page = rowPage): number =>
  pageCapacity(pages) * pageBytes(shape, page) + rowCapacity(rows) * stateBytes(shape)

/** Bytes of a cache whose rows have room for so many positions. */
export const bytesFor = (shape: KvShape, positions: ReadonlyArray<number>, page = rowPage): number =>
  bytesOf(
    shape,
    positions.length,
    positions.reduce((sum, count) => sum + pagesFor(count, page), 0),
    page
  )
