/**
 * Queues items that return until they are solved.
 *
 * A pure fold: `next` moves the front item to the back, `record` retires an item whose group did well enough, or (with
 * `maxAttempts`) one that was tried often enough. Items in progress stay in the queue, so a crash loses none: those
 * taken and not yet judged are saved too, and come first after a restart. Near the end of the queue an item may be in
 * progress twice. Items are numbers from 0 to `size` - 1. Follows the adaptive queue of the original's
 * instruction_following_algorithm_environment.py. `make` connects the fold to an environment: `items` for its stream,
 * `record` for its `afterScore`, `state` and `metrics` unchanged.
 */
import { Effect, HashMap, HashSet, Option, Ref, Schema, Stream } from "effect"

export interface Options {
  readonly size: number
  /** Min group average at which its item is solved. */
  readonly retireFrom: number
  /** Groups after which an item is abandoned. Default: never. */
  readonly maxAttempts?: number
  /** True if all return once all are retired, as in the original. Default: no, the queue ends. */
  readonly startsOver?: boolean
}

export interface State {
  /** The next item to consider. */
  readonly position: number
  readonly solved: HashSet.HashSet<number>
  readonly givenUp: HashSet.HashSet<number>
  /** Judged groups of items that are not retired. */
  readonly attempts: HashMap.HashMap<number, number>
  /** Taken and not judged yet. */
  readonly underWay: HashSet.HashSet<number>
  /** In progress when the state was saved: taken before the front of the queue. */
  readonly interrupted: ReadonlyArray<number>
}

export const Saved = Schema.Struct({
  position: Schema.Natural,
  solved: Schema.Array(Schema.Natural),
  givenUp: Schema.Array(Schema.Natural),
  attempts: Schema.Array(Schema.Tuple([Schema.Natural, Schema.Natural])),
  underWay: Schema.optionalKey(Schema.Array(Schema.Natural))
})

export interface Outcome {
  readonly index: number
  readonly average: number
}

export const start: State = {
  position: 0,
  solved: HashSet.empty(),
  givenUp: HashSet.empty(),
  attempts: HashMap.empty(),
  underWay: HashSet.empty(),
  interrupted: []
}

export const isRetired = ({ givenUp, solved }: State, index: number): boolean =>
  HashSet.has(solved, index) || HashSet.has(givenUp, index)

/** The next item, and the queue after taking it; None if all are retired and the queue does not start over. */
export const next = (state: State, options: Options): Option.Option<readonly [index: number, state: State]> => {
  const { size, startsOver = false } = options
  const taken = (index: number, change: Partial<State>): State => ({
    ...state,
    underWay: HashSet.add(state.underWay, index),
    ...change
  })
  const [first, ...interrupted] = state.interrupted.filter((index) => !isRetired(state, index))
  if (first !== undefined) return Option.some([first, taken(first, { interrupted })])
  for (let step = 0; step < size; step++) {
    const index = (state.position + step) % size
    if (!isRetired(state, index)) {
      return Option.some([index, taken(index, { interrupted: [], position: (index + 1) % size })])
    }
  }
  return startsOver && size > 0 ? next(start, options) : Option.none()
}

export const record = (
  before: State,
  { average, index }: Outcome,
  { maxAttempts = Number.POSITIVE_INFINITY, retireFrom }: Options
): State => {
  if (isRetired(before, index)) return before
  const state = { ...before, underWay: HashSet.remove(before.underWay, index) }
  const tried = Option.getOrElse(HashMap.get(state.attempts, index), () => 0) + 1
  const without = HashMap.remove(state.attempts, index)
  if (average >= retireFrom) return { ...state, attempts: without, solved: HashSet.add(state.solved, index) }
  if (tried >= maxAttempts) return { ...state, attempts: without, givenUp: HashSet.add(state.givenUp, index) }
  return { ...state, attempts: HashMap.set(state.attempts, index, tried) }
}

export const save = ({ attempts, givenUp, interrupted, position, solved, underWay }: State): typeof Saved.Type => ({
  position,
  solved: Array.from(solved),
  givenUp: Array.from(givenUp),
  attempts: Array.from(attempts),
  underWay: Array.from(new Set([...interrupted, ...underWay])).toSorted((a, b) => a - b)
})

/** Items that no longer exist are dropped. */
export const load = (saved: typeof Saved.Type, { size }: Options): State => {
  const present = (index: number) => index < size
  return {
    position: size === 0 ? 0 : saved.position % size,
    solved: HashSet.fromIterable(saved.solved.filter(present)),
    givenUp: HashSet.fromIterable(saved.givenUp.filter(present)),
    attempts: HashMap.fromIterable(saved.attempts.filter(([index]) => present(index))),
    underWay: HashSet.empty(),
    interrupted: (saved.underWay ?? []).filter(present)
  }
}

export interface ItemQueue {
  /**
   * Items in queue order, until all are retired: from the front of the queue at cursor 0, else from the queue's current
   * position.
   */
  readonly items: (cursor: number) => Stream.Stream<number>
  readonly record: (outcome: Outcome) => Effect.Effect<void>
  /** For a definition's `state`. */
  readonly state: {
    readonly save: Effect.Effect<unknown>
    readonly restore: (saved: unknown) => Effect.Effect<void, Schema.SchemaError>
  }
  /** For a definition's `metrics`. */
  readonly metrics: Effect.Effect<{ readonly [name: string]: number }>
}

const decode = Schema.decodeUnknownEffect(Saved)

const toFront = (state: State): State => ({ ...state, position: 0, underWay: HashSet.empty(), interrupted: [] })

export const make = Effect.fn("ItemQueue.make")(function* (options: Options) {
  const ref = yield* Ref.make(start)
  const take = Ref.modify(ref, (state) =>
    Option.match(next(state, options), {
      onNone: (): readonly [number | undefined, State] => [undefined, state],
      onSome: (taken) => taken
    })
  )
  const taken = Stream.unfold(undefined, () =>
    Effect.map(take, (index) => (index === undefined ? undefined : ([index, undefined] as const)))
  )
  const queue: ItemQueue = {
    items: (cursor) => Stream.unwrap(Effect.as(cursor === 0 ? Ref.update(ref, toFront) : Effect.void, taken)),
    record: (outcome) => Ref.update(ref, (state) => record(state, outcome, options)),
    state: {
      save: Effect.map(Ref.get(ref), save),
      restore: (saved) => Effect.flatMap(decode(saved), (state) => Ref.set(ref, load(state, options)))
    },
    metrics: Effect.map(Ref.get(ref), ({ givenUp, solved }) => ({
      "queue/solved": HashSet.size(solved),
      "queue/given_up": HashSet.size(givenUp),
      "queue/left": options.size - HashSet.size(solved) - HashSet.size(givenUp)
    }))
  }
  return queue
})
