/**
 * Which pages the rows of a cache have: pure bookkeeping, knows no numbers.
 *
 * Pages and rows are dense: the last takes the place of one that goes. A page is of one row.
 */

/** A page's row, and which of its pages it is. */
interface Place {
  readonly row: number
  readonly at: number
}

/** What a run is told of B rows with P pages. */
export interface Listing {
  /** [P] */
  readonly rows: Int32Array
  /** [P]: which of its row's pages each is. */
  readonly at: Int32Array
  /** [B, M]: a row's pages in order; -1 after the last. */
  readonly ofRows: Int32Array
  /** M, at least 1. */
  readonly most: number
}

export class PageTable {
  private readonly rows: Array<Array<number>> = []
  private readonly places: Array<Place> = []

  /** Pages in use. */
  get size(): number {
    return this.places.length
  }

  /** A row's pages in order. */
  of(row: number): ReadonlyArray<number> {
    return this.rows[row]!
  }

  /** The number of a new row, without pages. */
  addRow(): number {
    return this.rows.push([]) - 1
  }

  /** Gives a row pages until it has so many. */
  take(row: number, count: number): void {
    const own = this.rows[row]!
    while (own.length < count) own.push(this.places.push({ row, at: own.length }) - 1)
  }

  /** The last row takes the place of this one; `move` is told of each page that takes the place of another. */
  remove(row: number, move: (from: number, to: number) => void): void {
    // From the last: what takes the place of a page is none that goes too.
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

  /** `count` rows, more than there are if need be: those have none. At least one page, be it nobody's. */
  list(count: number): Listing {
    const pages = Math.max(1, this.size)
    const most = Math.max(1, ...this.rows.map(({ length }) => length))
    const listing = {
      rows: new Int32Array(pages),
      at: new Int32Array(pages),
      ofRows: new Int32Array(count * most).fill(-1),
      most
    }
    for (const [page, { at, row }] of this.places.entries()) {
      listing.rows[page] = row
      listing.at[page] = at
      listing.ofRows[row * most + at] = page
    }
    return listing
  }
}
