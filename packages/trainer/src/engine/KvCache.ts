/**
 * Keys and values of sequences in progress, in the memory the CPU provider reads in place.
 *
 * For each layer one array of keys [P, KV, D, S] and one of values [P, KV, S, D]: P pages of S positions, KV heads of
 * keys and values, D their size. A row holds as many pages as its positions need, wherever they lie, so that a short
 * one takes and costs nothing of a long one. A graph run takes the pages as they lie, without a copy, with the row of
 * each, and hands back only the entries of its new positions, which `append` writes into place. Keys lie transposed, so
 * that scores are a plain product of matrices. Pages and rows are dense: the last moves into the place of one that
 * goes. Memory grows by about an eighth, and shrinks where three quarters would do. Positions beyond a row's length
 * hold zeros or what an earlier row left: finite numbers, which the graph masks.
 *
 * Of layers that have a state instead (`CachedDelta`), each row has as many numbers whatever its length: a run takes
 * them as they are, and its own replace them.
 */
import type { HostTensor } from "../exec/Executor.ts"
import { type KvShape, pageBytes, pageCapacity, pagesFor, rowCapacity, rowPage, stateBytes } from "./KvShape.ts"
import { PageTable } from "./PageTable.ts"

/** Keys and values of the pages of one layer. */
interface LayerCache {
  readonly keys: Float32Array
  readonly values: Float32Array
}

export class KvCache {
  readonly shape: KvShape
  /** Positions of a page. */
  readonly page: number
  /** Tokens held by each row. */
  readonly lengths: Array<number> = []
  private readonly layers: Array<LayerCache>
  /** Of each layer with a state, [R, size]. */
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

  /** Of a page, in the keys or values of one layer. */
  private get pageNumbers(): number {
    return this.shape.kvHeads * this.shape.headDim * this.page
  }

  get bytes(): number {
    return this.pageCapacity * pageBytes(this.shape, this.page) + this.rowCapacity * stateBytes(this.shape)
  }

  /** Room for so many positions of each row, in at least the two rows of a run; gives back what is too much. */
  reserve(positions: ReadonlyArray<number>): void {
    for (const [row, count] of positions.entries()) this.pages.take(row, pagesFor(count, this.page))
    this.fit()
  }

  /** Adds a row that holds what a row of another cache does, whose pages are as large or some times as large. */
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

  /** Adds an empty row with room for this many positions. */
  addEmpty(positions: number): void {
    const row = this.addRow(positions)
    const size = this.shape.states?.size ?? 0
    for (const state of this.states) state.fill(0, row * size, (row + 1) * size)
  }

  /** The last row takes the place of this one. */
  remove(row: number): void {
    this.pages.remove(row, (from, to) => this.copyPage(this, from, to))
    const last = this.rows - 1
    if (row !== last) {
      this.lengths[row] = this.lengths[last]!
      this.copyStates(this, last, row)
    }
    this.lengths.pop()
  }

  /** Feeds of the first `rows` rows; `rows` may exceed those in use, not those reserved. */
  feeds(rows: number): Record<string, HostTensor> {
    const { headDim, kvHeads } = this.shape
    const { at, most, ofRows, rows: pageRows } = this.pages.list(rows)
    const count = pageRows.length
    const numbers = count * this.pageNumbers
    const feeds: Record<string, HostTensor> = {
      page_rows: { dtype: "int32", shape: [count], data: pageRows },
      page_starts: { dtype: "int32", shape: [count], data: at.map((index) => index * this.page) },
      row_pages: { dtype: "int32", shape: [rows, most], data: ofRows }
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
   * Writes `count` new positions of run row `source` after those of `row`, which has room for them. `entries` is [L, 2,
   * B, KV, T, D]: of each layer the keys and the values of the T positions that a run of B rows computed.
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

  /** Takes a row's states from `states` [L, B, size], of run row `source`. */
  replaceStates(row: number, states: Float32Array, source: number, batch: number): void {
    const size = this.shape.states?.size ?? 0
    for (const [layer, state] of this.states.entries()) {
      const at = (layer * batch + source) * size
      state.set(states.subarray(at, at + size), row * size)
    }
  }

  /** Positions of a run's entries into a page, from its position `within` on. */
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

  /** The number of a new row with room for this many positions. */
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

  /** As many positions as a page has, from position `within` of a larger one on. */
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

  /** Memory for what is in use. */
  private fit(): void {
    const rows = rowCapacity(this.rows)
    const pages = pageCapacity(this.pages.size)
    if (isUnfit(this.pageCapacity, pages)) {
      this.pageCapacity = pages
      const size = pages * this.pageNumbers
      // Layer by layer, so that only one layer is held twice.
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

const isUnfit = (capacity: number, wanted: number): boolean => wanted > capacity || 4 * wanted <= 3 * capacity

const resized = (numbers: Float32Array, size: number): Float32Array => {
  const other = new Float32Array(size)
  other.set(numbers.subarray(0, size))
  return other
}
