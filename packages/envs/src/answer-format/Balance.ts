/**
 * Balances formats: one with enough successful groups is paused until the others have caught up.
 *
 * A pure fold over groups. A format is paused while it has `threshold` more successful groups than the largest multiple
 * that all have reached, so that rounds repeat indefinitely. A group is successful if any of its answers has the
 * format. (The original drops groups that are all right: a mastered format is then never paused, and in the end only
 * such formats remain.)
 */
import { Effect, Ref, Schema } from "effect"

export const Counts = Schema.Record(Schema.String, Schema.Natural)
export type Counts = typeof Counts.Type

/** The names that are not paused; never empty. */
export const open = (counts: Counts, names: ReadonlyArray<string>, threshold: number): ReadonlyArray<string> => {
  const min = names.reduce((fewest, name) => Math.min(fewest, counts[name] ?? 0), Infinity)
  const limit = (Math.floor(min / threshold) + 1) * threshold
  return names.filter((name) => (counts[name] ?? 0) < limit)
}

export interface Options {
  readonly names: ReadonlyArray<string>
  readonly threshold: number
  /** False: nothing is ever paused. */
  readonly isOn: boolean
}

const decode = Schema.decodeUnknownEffect(Counts)

export const make = Effect.fn("Balance.make")(function* ({ isOn, names, threshold }: Options) {
  const counts = yield* Ref.make<Counts>({})
  const known = new Set(names)
  return {
    open: Effect.map(Ref.get(counts), (all) => (isOn ? new Set(open(all, names, threshold)) : known)),
    succeeded: (name: string) => Ref.update(counts, (all) => ({ ...all, [name]: (all[name] ?? 0) + 1 })),
    state: {
      save: Ref.get(counts),
      // A removed format would have no effect, and be saved forever.
      restore: (saved: unknown) =>
        Effect.flatMap(decode(saved), (all) =>
          Ref.set(counts, Object.fromEntries(Object.entries(all).filter(([name]) => known.has(name))))
        )
    },
    metrics: Effect.map(Ref.get(counts), (all) => ({
      "answer_format/succeeded": names.filter((name) => (all[name] ?? 0) > 0).length,
      "answer_format/open": isOn ? open(all, names, threshold).length : names.length
    }))
  }
})
