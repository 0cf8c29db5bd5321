/**
 * Keys and values of sequences in progress, in the memory the CPU provider reads in place.
 *
 * For each layer one array of keys [R, KV, D, S] and one of values [R, KV, S, D] (R rows, KV heads of keys and values,
 * D their size, S positions). A graph run takes the first rows as they lie, without a copy, and hands back only the
 * entries of its new positions, which `append` writes into place: no step copies the cache. Keys lie transposed, so
 * that scores are a plain product of matrices. Rows are dense: the last moves into the place of one that is removed. S
 * grows by about a quarter, R by doubling, and both shrink where much less would do. S is a multiple of 64, so that
 * sums over positions are added up in the same order whatever S is. Positions beyond a row's length hold zeros or what
 * an earlier row left: finite numbers, which the graph masks.
 *
 * Of layers that have a state instead (`CachedDelta`), each row has as many numbers whatever its length: a run takes
 * them as they are, and its own replace them.
 */
import type { HostTensor } from "../exec/Executor.ts"
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
const stateBytes = ({ states }: KvShape): number => (states === undefined ? 0 : 4 * states.layers * states.size)

const positionStep = 64

/** Room for this many positions: the next multiple of 64, above 512 the next quarter of a power of two. */
const positionsFor = (positions: number): number => {
  const step = positions <= 512 ? positionStep : 2 ** Math.floor(Math.log2(positions - 1)) / 4
  return Math.max(1, Math.ceil(positions / step)) * step
}

const rowsFor = (rows: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, rows)))

/** Bytes of a cache that holds this many rows of up to this many positions. */
export const bytesFor = (shape: KvShape, rows: number, positions: number): number =>
  rowsFor(rows) * (2 * 4 * shape.layers * shape.kvHeads * shape.headDim * positionsFor(positions) + stateBytes(shape))

/** Keys and values of one layer, with room for this many positions in each row. */
interface LayerCache {
  readonly positions: number
  readonly keys: Float32Array
  readonly values: Float32Array
}

const emptyLayer: LayerCache = { positions: 0, keys: new Float32Array(0), values: new Float32Array(0) }

/** Copies the first `length` positions of a row. */
const copyRow = (
  { headDim, kvHeads }: KvShape,
  from: LayerCache,
  source: number,
  to: LayerCache,
  target: number,
  length: number
): void => {
  for (let head = 0; head < kvHeads; head++) {
    const a = (source * kvHeads + head) * headDim
    const b = (target * kvHeads + head) * headDim
    for (let d = 0; d < headDim; d++) {
      const start = (a + d) * from.positions
      to.keys.set(from.keys.subarray(start, start + length), (b + d) * to.positions)
    }
    const start = a * from.positions
    to.values.set(from.values.subarray(start, start + length * headDim), b * to.positions)
  }
}

export class KvCache {
  readonly shape: KvShape
  /** Tokens held by each row. */
  readonly lengths: Array<number> = []
  private readonly layers: Array<LayerCache>
  /** Of each layer with a state, [R, size]. */
  private readonly states: Array<Float32Array>
  private rowCapacity = 0
  private positionCapacity = 0

  constructor(shape: KvShape) {
    this.shape = shape
    this.layers = Array.from({ length: shape.layers }, () => emptyLayer)
    this.states = Array.from({ length: shape.states?.layers ?? 0 }, () => new Float32Array(0))
  }

  get rows(): number {
    return this.lengths.length
  }

  get positions(): number {
    return this.positionCapacity
  }

  get bytes(): number {
    const { headDim, kvHeads, layers } = this.shape
    const positions = 2 * 4 * layers * kvHeads * headDim * this.positionCapacity
    return this.rowCapacity * (positions + stateBytes(this.shape))
  }

  /** Makes room for this many rows and positions, and gives back what is far too much. */
  reserve(rows: number, positions: number): void {
    const wantedRows = rowsFor(rows)
    const wantedPositions = positionsFor(positions)
    const isSmall = wantedRows > this.rowCapacity || wantedPositions > this.positionCapacity
    const isLarge = 4 * wantedRows <= this.rowCapacity || 2 * wantedPositions <= this.positionCapacity
    if (isSmall || isLarge) this.resize(wantedRows, wantedPositions)
  }

  /** Adds a row that holds the first tokens of a row of another cache. */
  add(from: KvCache, row: number): number {
    const length = from.lengths[row]!
    this.reserve(this.rows + 1, Math.max(length, ...this.lengths))
    this.lengths.push(length)
    this.copyRow(from, row, this.rows - 1, length)
    this.copyStates(from, row, this.rows - 1)
    return this.rows - 1
  }

  /** Adds an empty row with room for this many positions. */
  addEmpty(positions: number): void {
    this.reserve(this.rows + 1, Math.max(positions, ...this.lengths))
    this.lengths.push(0)
    const size = this.shape.states?.size ?? 0
    for (const state of this.states) state.fill(0, (this.rows - 1) * size, this.rows * size)
  }

  /** The last row takes the place of this one. */
  remove(row: number): void {
    const last = this.rows - 1
    if (row !== last) {
      this.lengths[row] = this.lengths[last]!
      this.copyRow(this, last, row, this.lengths[last]!)
      this.copyStates(this, last, row)
    }
    this.lengths.pop()
  }

  /** Feeds of the first `rows` rows, up to all positions; `rows` may exceed those in use, not those reserved. */
  feeds(rows: number): Record<string, HostTensor> {
    const { headDim, kvHeads } = this.shape
    const size = kvHeads * headDim * this.positionCapacity
    const feeds: Record<string, HostTensor> = {}
    for (const [layer, { keys, values }] of this.layers.entries()) {
      const shape = [rows, kvHeads, headDim, this.positionCapacity]
      feeds[`past_keys.${layer}`] = { dtype: "float32", shape, data: keys.subarray(0, rows * size) }
      feeds[`past_values.${layer}`] = {
        dtype: "float32",
        shape: [rows, kvHeads, this.positionCapacity, headDim],
        data: values.subarray(0, rows * size)
      }
    }
    for (const [layer, state] of this.states.entries()) {
      const { size: numbers } = this.shape.states!
      feeds[`past_states.${layer}`] = {
        dtype: "float32",
        shape: [rows, numbers],
        data: state.subarray(0, rows * numbers)
      }
    }
    return feeds
  }

  /**
   * Writes `count` new positions of run row `source` after those of `row`. `entries` is [L, 2, B, KV, T, D]: of each
   * layer the keys and the values of the T positions that a run of B rows computed.
   */
  append(row: number, entries: Float32Array, source: number, batch: number, width: number, count: number): void {
    const { headDim, kvHeads } = this.shape
    const capacity = this.positionCapacity
    const at = this.lengths[row]!
    for (const [layer, { keys, values }] of this.layers.entries()) {
      for (let head = 0; head < kvHeads; head++) {
        const keySource = ((2 * layer * batch + source) * kvHeads + head) * width * headDim
        const valueSource = keySource + batch * kvHeads * width * headDim
        const target = (row * kvHeads + head) * headDim * capacity
        for (let t = 0; t < count; t++) {
          for (let d = 0; d < headDim; d++) keys[target + d * capacity + at + t] = entries[keySource + t * headDim + d]!
        }
        const block = entries.subarray(valueSource, valueSource + count * headDim)
        values.set(block, target + at * headDim)
      }
    }
    this.lengths[row] = at + count
  }

  /** Takes a row's states from `states` [L, B, size], of run row `source`. */
  replaceStates(row: number, states: Float32Array, source: number, batch: number): void {
    const size = this.shape.states?.size ?? 0
    for (const [layer, state] of this.states.entries()) {
      const at = (layer * batch + source) * size
      state.set(states.subarray(at, at + size), row * size)
    }
  }

  private copyStates(from: KvCache, source: number, target: number): void {
    const size = this.shape.states?.size ?? 0
    for (const [layer, state] of this.states.entries()) {
      state.set(from.states[layer]!.subarray(source * size, (source + 1) * size), target * size)
    }
  }

  private copyRow(from: KvCache, source: number, target: number, length: number): void {
    for (const [index, layer] of this.layers.entries()) {
      copyRow(this.shape, from.layers[index]!, source, layer, target, length)
    }
  }

  /** Layer by layer, so that only one layer is held twice. */
  private resize(rows: number, positions: number): void {
    const size = rows * this.shape.kvHeads * this.shape.headDim * positions
    for (const [index, old] of this.layers.entries()) {
      const layer = { positions, keys: new Float32Array(size), values: new Float32Array(size) }
      for (const [row, length] of this.lengths.entries()) copyRow(this.shape, old, row, layer, row, length)
      this.layers[index] = layer
    }
    const numbers = rows * (this.shape.states?.size ?? 0)
    for (const [index, old] of this.states.entries()) {
      if (old.length === numbers) continue
      const state = new Float32Array(numbers)
      state.set(old.subarray(0, numbers))
      this.states[index] = state
    }
    this.rowCapacity = rows
    this.positionCapacity = positions
  }
}
