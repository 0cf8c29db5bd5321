/**
 * Packs sequences into rows: bin packing of lengths into bins of a few distinct capacities.
 *
 * Best fit decreasing (at most 11/9 of the optimum plus 4 rows: Johnson 1973). A sequence that fits into no open row
 * opens one of the smallest sufficient capacity. Ties keep their order, so packing is deterministic.
 */

export interface Row {
  /** In tokens. */
  readonly capacity: number
  readonly used: number
  /** Indices of the lengths, in row order. */
  readonly items: ReadonlyArray<number>
}

interface OpenRow {
  readonly capacity: number
  used: number
  readonly items: Array<number>
}

/** `capacities` must be ascending, and the last must fit the longest length. */
export const pack = (lengths: ReadonlyArray<number>, capacities: ReadonlyArray<number>): ReadonlyArray<Row> => {
  const order = Array.from(lengths.keys()).sort((a, b) => lengths[b]! - lengths[a]! || a - b)
  const rows: Array<OpenRow> = []
  for (const item of order) {
    const length = lengths[item]!
    let best: OpenRow | undefined
    for (const row of rows) {
      const room = row.capacity - row.used
      if (room >= length && (best === undefined || room < best.capacity - best.used)) best = row
    }
    if (best === undefined) {
      const capacity = capacities.find((tokens) => tokens >= length) ?? length
      best = { capacity, used: 0, items: [] }
      rows.push(best)
    }
    best.used += length
    best.items.push(item)
  }
  return rows
}
