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
 */
import type { HostTensor } from "../exec/Executor.ts"

export interface KvShape {
  readonly layers: number
  readonly kvHeads: number
  readonly headDim: number
}

const positionStep = 64

/** Room for this many positions: the next multiple of 64, above 512 the next quarter of a power of two. */
const positionsFor = (positions: number): number => {
  const step = positions <= 512 ? positionStep : 2 ** Math.floor(Math.log2(positions - 1)) / 4
  return Math.max(1, Math.ceil(positions / step)) * step
}

const rowsFor = (rows: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, rows)))

/** Bytes of a cache that holds this many rows of up to this many positions. */
export const bytesFor = ({ headDim, kvHeads, layers }: KvShape, rows: number, positions: number): number =>
  2 * 4 * layers * kvHeads * headDim * rowsFor(rows) * positionsFor(positions)

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
  private rowCapacity = 0
  private positionCapacity = 0

  constructor(shape: KvShape) {
    this.shape = shape
    this.layers = Array.from({ length: shape.layers }, () => emptyLayer)
  }

  get rows(): number {
    return this.lengths.length
  }

  get positions(): number {
    return this.positionCapacity
  }

  get bytes(): number {
    const { headDim, kvHeads, layers } = this.shape
    return 2 * 4 * layers * kvHeads * headDim * this.rowCapacity * this.positionCapacity
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
    return this.rows - 1
  }

  /** Adds an empty row with room for this many positions. */
  addEmpty(positions: number): void {
    this.reserve(this.rows + 1, Math.max(positions, ...this.lengths))
    this.lengths.push(0)
  }

  /** The last row takes the place of this one. */
  remove(row: number): void {
    const last = this.rows - 1
    if (row !== last) {
      this.lengths[row] = this.lengths[last]!
      this.copyRow(this, last, row, this.lengths[last]!)
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
    this.rowCapacity = rows
    this.positionCapacity = positions
  }
}
