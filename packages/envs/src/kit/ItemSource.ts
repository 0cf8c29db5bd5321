/**
 * Provides the items of an environment: drawn with a seed, or rows of a data set; some are held out for evaluation.
 *
 * Drawn items are a function of seed and index alone. One in ten is held out by its key (for example its prompt),
 * wherever it is drawn, so that no evaluation item is ever trained on. Rows are shuffled by the seed, endlessly; held
 * out are those of a test source or, without one, a tenth selected by the seed.
 */
import { Effect, Result, Schema, Stream } from "effect"
import * as Columns from "@atropos/core/data/Columns"
import * as Dataset from "@atropos/core/data/Dataset"
import type { ItemStream } from "@atropos/core/Environment"
import * as Settings from "@atropos/core/base/Settings"
import { hashOf, seeded, type SeededRandom } from "@atropos/core/base/SeededRandom"

/** Value of `source` for generated items. */
export const generated = "generated"

/** Setting of environments that read rows. */
export const testSource = Settings.field(
  Schema.NullOr(Schema.NonEmptyString),
  null,
  "evaluation rows; null: a tenth of the source"
)

/** Settings of environments with generated items or rows, for example of a set on the hub. */
export const fields = (example: string) =>
  ({
    source: Settings.field(
      Schema.NonEmptyString,
      generated,
      `${generated}, or rows: a file, or a data set on the hub, for example ${example}`
    ),
    testSource,
    evaluationItems: Settings.field(
      Schema.Int.check(Schema.isGreaterThan(0)),
      200,
      "held-out generated items per evaluation"
    )
  }) as const

export interface ItemSource<A, E = never> {
  readonly items: ItemStream<A, E, never>
  readonly heldOut: Stream.Stream<A, E>
}

export interface Drawing<A> {
  readonly seed: number
  /** `samplingSeed` belongs to the item: for the sampler, so that a run is reproducible. */
  readonly draw: (random: SeededRandom, samplingSeed: number) => A
  /** Equal for equal items. */
  readonly key: (item: A) => string
}

const evaluationSeedOffset = 1_000_003
const maxDraws = 10_000

/** Small, so that taking one item does not wait for thousands. */
const drawnAtOnce = 16

/** True for one in ten items, by key alone. */
export const isHeldOut = (key: string): boolean => seeded(hashOf(key), 0).between(0, 9) === 0

/** Item number `index` of the requested part: the first one drawn that belongs to it. */
export const drawAt = <A>({ draw, key, seed }: Drawing<A>, index: number, heldOut: boolean): A => {
  const from = heldOut ? seed + evaluationSeedOffset : seed
  const random = seeded(from, index)
  const samplingSeed = seeded(from, index).between(0, 2 ** 31 - 1)
  let item = draw(random, samplingSeed)
  // A handful of distinct items may have none in one part; the parts are then not separated.
  for (let draws = 1; isHeldOut(key(item)) !== heldOut && draws < maxDraws; draws++) {
    item = draw(random, samplingSeed)
  }
  return item
}

export const drawn = <A>(options: Drawing<A> & { readonly evaluationItems: number }): ItemSource<A> => ({
  items: (cursor) =>
    Stream.range(cursor, Number.MAX_SAFE_INTEGER, drawnAtOnce).pipe(
      Stream.map((index) => drawAt(options, index, false))
    ),
  heldOut: Stream.range(0, options.evaluationItems - 1, drawnAtOnce).pipe(
    Stream.map((index) => drawAt(options, index, true))
  )
})

export interface RowOptions<Wanted extends Columns.Columns> {
  readonly source: string
  /** Null: a tenth of the source is held out. */
  readonly testSource: string | null
  readonly seed: number
  readonly columns: Wanted
}

/** An item from a row's columns, or why it is not possible. */
export type Make<Wanted extends Columns.Columns, A> = (
  picked: Columns.Picked<Wanted>
) => Result.Result<A, string | Columns.Misread>

/** The training rows of a source in their own order, and the held-out ones; a test source is read on first use. */
export const rowsAs = Effect.fn("ItemSource.rowsAs")(function* <const Wanted extends Columns.Columns, A>(
  { columns, seed, source, testSource }: RowOptions<Wanted>,
  make: Make<Wanted, A>
) {
  const dataset = yield* Dataset.Dataset
  const all = yield* Columns.rowsAs(source, columns, make)
  if (testSource === null) {
    const { test, train } = Dataset.split(all, { seed, testFraction: all.length > 1 ? 0.1 : 0 })
    return { train, heldOut: Stream.fromArray(test) }
  }
  const test = yield* Effect.cached(
    Effect.provideService(Columns.rowsAs(testSource, columns, make), Dataset.Dataset, dataset)
  )
  return { train: all, heldOut: Stream.unwrap(Effect.map(test, Stream.fromArray)) }
})

/** Items from the rows of a data set, in a new order every epoch. */
export const shuffledRowsAs = Effect.fn("ItemSource.shuffledRowsAs")(function* <
  const Wanted extends Columns.Columns,
  A
>(options: RowOptions<Wanted>, make: Make<Wanted, A>) {
  const { heldOut, train } = yield* rowsAs(options, make)
  const source: ItemSource<A, Dataset.DatasetError> = { items: Dataset.shuffle(train, options), heldOut }
  return source
})

/** Rows of a data set as items, by their columns. */
export const shuffledRows = <const Wanted extends Columns.Columns>(
  options: RowOptions<Wanted>
): Effect.Effect<ItemSource<Columns.Picked<Wanted>, Dataset.DatasetError>, Dataset.DatasetError, Dataset.Dataset> =>
  shuffledRowsAs(options, Result.succeed)
