/**
 * Which sequences lie together in a row: bin packing of lengths into rows of few distinct capacities.
 *
 * Best fit, longest first (at most 11/9 of the optimum plus 4 rows: Johnson 1973). A sequence that fits into no open
 * row opens one of the smallest capacity that holds it. Equal lengths keep their order, so equal input gives equal
 * output.
 */

export interface Row {
  /** In tokens. */
  readonly capacity: number
  readonly used: number
  /** Indices of the lengths, in the order they lie in the row. */
  readonly items: ReadonlyArray<number>
}

interface OpenRow {
  readonly capacity: number
  used: number
  readonly items: Array<number>
}

/** Rows that hold every length. `capacities` ascend; the last must hold the longest. */
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
