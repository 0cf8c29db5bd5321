/**
 * Tracks the pages of each row of a cache: pure bookkeeping, without numbers.
 *
 * Pages and rows are dense: the last one takes the place of a removed one. A page belongs to one row.
 */

/** A page's row, and its index among the row's pages. */
interface PageRef {
  readonly row: number
  readonly at: number
}

/** Page tables for a run of B rows with P pages. */
export interface Listing {
  /** [P] */
  readonly rows: Int32Array
  /** [P]: index of each page among its row's pages. */
  readonly at: Int32Array
  /** [B, M]: a row's pages in order; -1 after the last. */
  readonly ofRows: Int32Array
  /** M, at least 1. */
  readonly max: number
}

export class PageTable {
  private readonly rows: Array<Array<number>> = []
  private readonly places: Array<PageRef> = []

  get size(): number {
    return this.places.length
  }

  of(row: number): ReadonlyArray<number> {
    return this.rows[row]!
  }

  /** Adds a row without pages; returns its index. */
  addRow(): number {
    return this.rows.push([]) - 1
  }

  /** Adds pages to a row until it has `count`. */
  take(row: number, count: number): void {
    const own = this.rows[row]!
    while (own.length < count) own.push(this.places.push({ row, at: own.length }) - 1)
  }

  /** Removes a row; the last row takes its place. `move` is called for each page that moves. */
  remove(row: number, move: (from: number, to: number) => void): void {
    // From the last, so that the page moved into a gap is not itself removed.
    for (const page of this.rows[row]!.splice(0).toSorted((a, b) => b - a)) {
      const place = this.places.pop()!
      if (page === this.places.length) continue
      move(this.places.length, page)
      this.places[page] = place
      this.rows[place.row]![place.at] = page
    }
    const last = this.rows.pop()!
    if (row === this.rows.length) return
    this.rows[row] = last
    for (const [at, page] of last.entries()) this.places[page] = { row, at }
  }

  /** Lists `count` rows; rows beyond the existing ones have no pages. Contains at least one page, possibly unused. */
  list(count: number): Listing {
    const pages = Math.max(1, this.size)
    const max = Math.max(1, ...this.rows.map(({ length }) => length))
    const listing = {
      rows: new Int32Array(pages),
      at: new Int32Array(pages),
      ofRows: new Int32Array(count * max).fill(-1),
      max
    }
    for (const [page, { at, row }] of this.places.entries()) {
      listing.rows[page] = row
      listing.at[page] = at
      listing.ofRows[row * max + at] = page
    }
    return listing
  }
}
