/**
 * Paged KV cache of sequences in progress, in memory that the CPU provider reads in place.
 *
 * Per layer one array of keys [P, KV, D, S], transposed for a plain matmul, and one of values [P, KV, S, D]: P pages of
 * S positions, KV heads of size D. A graph run reads the pages in place, with the row of each, and returns the entries
 * of new positions, which `append` writes. Pages and rows are dense: the last one moves into a freed place. Memory
 * grows by about an eighth, and shrinks if three quarters would suffice. Positions beyond a row's length hold finite
 * numbers, which the graph masks.
 *
 * Layers with a state (`CachedDelta`) hold a fixed amount per row, which the outputs of a run replace.
 */
import type { HostTensor } from "../../exec/Executor.ts"
import { type KvShape, pageBytes, pageCapacity, pagesFor, rowCapacity, rowPage, stateBytes } from "./KvShape.ts"
import { PageTable } from "./PageTable.ts"

interface LayerCache {
  readonly keys: Float32Array
  readonly values: Float32Array
}

export class KvCache {
  readonly shape: KvShape
  readonly page: number
  readonly lengths: Array<number> = []
  private readonly layers: Array<LayerCache>
  /** Per layer with a state, [R, size]. */
  private readonly states: Array<Float32Array>
  private readonly pages = new PageTable()
  private rowCapacity = 0
  private pageCapacity = 0

  constructor(shape: KvShape, page = rowPage) {
    this.shape = shape
    this.page = page
    this.layers = Array.from({ length: shape.layers }, () => ({
      keys: new Float32Array(0),
      values: new Float32Array(0)
    }))
    this.states = Array.from({ length: shape.states?.layers ?? 0 }, () => new Float32Array(0))
  }

  get rows(): number {
    return this.lengths.length
  }

  /** Numbers per page, in the keys or values of one layer. */
  private get pageNumbers(): number {
    return this.shape.kvHeads * this.shape.headDim * this.page
  }

  get bytes(): number {
    return this.pageCapacity * pageBytes(this.shape, this.page) + this.rowCapacity * stateBytes(this.shape)
  }

  /** Reserves this many positions per row, with at least the two rows of a run; shrinks the cache if possible. */
  reserve(positions: ReadonlyArray<number>): void {
    for (const [row, count] of positions.entries()) this.pages.take(row, pagesFor(count, this.page))
    this.fit()
  }

  /** Adds a copy of another cache's row. The other's page size must be equal or a multiple. */
  add(from: KvCache, row: number): void {
    const target = this.addRow(from.lengths[row]!)
    this.lengths[target] = from.lengths[row]!
    const parts = from.page / this.page
    for (const [at, page] of this.pages.of(target).entries()) {
      const source = from.pages.of(row)[Math.floor(at / parts)]!
      if (parts === 1) this.copyPage(from, source, page)
      else this.copyPart(from, source, (at % parts) * this.page, page)
    }
    this.copyStates(from, row, target)
  }

  /** Adds an empty row with capacity for this many positions. */
  addEmpty(positions: number): void {
    const row = this.addRow(positions)
    const size = this.shape.states?.size ?? 0
    for (const state of this.states) state.fill(0, row * size, (row + 1) * size)
  }

  /** Removes a row; the last row takes its place. */
  remove(row: number): void {
    this.pages.remove(row, (from, to) => this.copyPage(this, from, to))
    const last = this.rows - 1
    if (row !== last) {
      this.lengths[row] = this.lengths[last]!
      this.copyStates(this, last, row)
    }
    this.lengths.pop()
  }

  /** Feeds of the first `rows` rows; may exceed the rows in use but not the reserved ones. */
  feeds(rows: number): Record<string, HostTensor> {
    const { headDim, kvHeads } = this.shape
    const { at, max, ofRows, rows: pageRows } = this.pages.list(rows)
    const count = pageRows.length
    const numbers = count * this.pageNumbers
    const feeds: Record<string, HostTensor> = {
      page_rows: { dtype: "int32", shape: [count], data: pageRows },
      page_starts: { dtype: "int32", shape: [count], data: at.map((index) => index * this.page) },
      row_pages: { dtype: "int32", shape: [rows, max], data: ofRows }
    }
    for (const [layer, { keys, values }] of this.layers.entries()) {
      feeds[`past_keys.${layer}`] = {
        dtype: "float32",
        shape: [count, kvHeads, headDim, this.page],
        data: keys.subarray(0, numbers)
      }
      feeds[`past_values.${layer}`] = {
        dtype: "float32",
        shape: [count, kvHeads, this.page, headDim],
        data: values.subarray(0, numbers)
      }
    }
    for (const [layer, state] of this.states.entries()) {
      const { size } = this.shape.states!
      feeds[`past_states.${layer}`] = { dtype: "float32", shape: [rows, size], data: state.subarray(0, rows * size) }
    }
    return feeds
  }

  /**
   * Appends `count` new positions of run row `source` to `row`, which must have capacity. `entries` is [L, 2, B, KV, T,
   * D]: per layer the keys and values of the T positions that a run of B rows computed.
   */
  append(row: number, entries: Float32Array, source: number, batch: number, width: number, count: number): void {
    const first = this.lengths[row]!
    for (let t = 0; t < count;) {
      const within = (first + t) % this.page
      const some = Math.min(count - t, this.page - within)
      const page = this.pages.of(row)[Math.floor((first + t) / this.page)]!
      this.write(page, within, entries, { batch, count: some, source, start: t, width })
      t += some
    }
    this.lengths[row] = first + count
  }

  /** Replaces a row's states with run row `source` of `states` [L, B, size]. */
  replaceStates(row: number, states: Float32Array, source: number, batch: number): void {
    const size = this.shape.states?.size ?? 0
    for (const [layer, state] of this.states.entries()) {
      const at = (layer * batch + source) * size
      state.set(states.subarray(at, at + size), row * size)
    }
  }

  /** Writes positions of a run's entries into a page, from its position `within` on. */
  private write(
    page: number,
    within: number,
    entries: Float32Array,
    { batch, count, source, start, width }: Record<"batch" | "count" | "source" | "start" | "width", number>
  ): void {
    const { headDim, kvHeads } = this.shape
    for (const [layer, { keys, values }] of this.layers.entries()) {
      for (let head = 0; head < kvHeads; head++) {
        const keySource = (((2 * layer * batch + source) * kvHeads + head) * width + start) * headDim
        const valueSource = keySource + batch * kvHeads * width * headDim
        const target = (page * kvHeads + head) * headDim * this.page
        for (let t = 0; t < count; t++) {
          for (let d = 0; d < headDim; d++) {
            keys[target + d * this.page + within + t] = entries[keySource + t * headDim + d]!
          }
        }
        values.set(entries.subarray(valueSource, valueSource + count * headDim), target + within * headDim)
      }
    }
  }

  /** Adds a row with capacity for this many positions; returns its index. */
  private addRow(positions: number): number {
    const row = this.pages.addRow()
    this.lengths.push(0)
    this.pages.take(row, pagesFor(positions, this.page))
    this.fit()
    return row
  }

  private copyPage(from: KvCache, source: number, target: number): void {
    const size = this.pageNumbers
    for (const [layer, { keys, values }] of this.layers.entries()) {
      const other = from.layers[layer]!
      keys.set(other.keys.subarray(source * size, (source + 1) * size), target * size)
      values.set(other.values.subarray(source * size, (source + 1) * size), target * size)
    }
  }

  /** Copies one page's worth of positions, from position `within` of a larger page on. */
  private copyPart(from: KvCache, source: number, within: number, target: number): void {
    const { headDim, kvHeads } = this.shape
    const rows = kvHeads * headDim
    for (const [layer, { keys, values }] of this.layers.entries()) {
      const other = from.layers[layer]!
      for (let i = 0; i < rows; i++) {
        const at = (source * rows + i) * from.page + within
        keys.set(other.keys.subarray(at, at + this.page), (target * rows + i) * this.page)
      }
      for (let head = 0; head < kvHeads; head++) {
        const at = ((source * kvHeads + head) * from.page + within) * headDim
        const part = other.values.subarray(at, at + this.page * headDim)
        values.set(part, (target * kvHeads + head) * this.page * headDim)
      }
    }
  }

  private copyStates(from: KvCache, source: number, target: number): void {
    const size = this.shape.states?.size ?? 0
    for (const [layer, state] of this.states.entries()) {
      state.set(from.states[layer]!.subarray(source * size, (source + 1) * size), target * size)
    }
  }

  private fit(): void {
    const rows = rowCapacity(this.rows)
    const pages = pageCapacity(this.pages.size)
    if (isUnfit(this.pageCapacity, pages)) {
      this.pageCapacity = pages
      const size = pages * this.pageNumbers
      // Layer by layer, so that only one layer is in memory twice.
      for (const [index, { keys, values }] of this.layers.entries()) {
        this.layers[index] = { keys: resized(keys, size), values: resized(values, size) }
      }
    }
    if (isUnfit(this.rowCapacity, rows)) {
      this.rowCapacity = rows
      const size = rows * (this.shape.states?.size ?? 0)
      for (const [index, state] of this.states.entries()) this.states[index] = resized(state, size)
    }
  }
}

const isUnfit = (capacity: number, expected: number): boolean => expected > capacity || 4 * expected <= 3 * capacity

const resized = (numbers: Float32Array, size: number): Float32Array => {
  const other = new Float32Array(size)
  other.set(numbers.subarray(0, size))
  return other
}
