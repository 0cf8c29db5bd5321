/**
 * Takes a part of what a suite could check where all of it costs minutes: `ATROPOS_TEST_WHOLE=1` takes everything.
 */
export const isWhole: boolean = process.env["ATROPOS_TEST_WHOLE"] === "1"

/** Every n-th item, from the first. */
export const every = <A>(n: number, items: ReadonlyArray<A>): ReadonlyArray<A> =>
  isWhole ? items : items.filter((_, at) => at % n === 0)
