/**
 * Adapts the level of new items: raised if groups of that level do well, lowered if they do badly.
 *
 * A pure fold over (level, average score of a group). Groups of other levels are ignored as too old. Over a rolling
 * window, once it has enough groups, a mean above `raiseAbove` raises the level by one, one below `lowerBelow` lowers
 * it, and either empties the window. Levels range from 1 to `levels`. Thresholds and window are those of the original's
 * letter_counting_environment.py. `make` connects the fold to an environment: `level` for its items, `record` for its
 * `afterScore`, `state` and `metrics` unchanged.
 */
import { Effect, Ref, Schema } from "effect"
import * as Evaluation from "@atropos/core/evaluation/Statistics"

export interface Options {
  /** Max level. */
  readonly levels: number
  /** The first level. Default 1. */
  readonly start?: number
  /** Number of groups that the mean is taken over. Default 150. */
  readonly window?: number
  /** Min groups before anything changes. Default: half the window, at least 10. */
  readonly minimum?: number
  readonly raiseAbove?: number
  readonly lowerBelow?: number
}

/** The level and the averages of its latest groups, oldest first. */
export const State = Schema.Struct({ level: Schema.Int, averages: Schema.Array(Schema.Finite) })
export type State = typeof State.Type

export interface Outcome {
  /** The level its item was made at. */
  readonly level: number
  readonly average: number
}

export const start = ({ levels, start: first = 1 }: Options): State => ({
  level: within(first, levels),
  averages: []
})

/** The state after one more group. */
export const record = (state: State, { average, level }: Outcome, options: Options): State => {
  const { levels, lowerBelow = 0.2, raiseAbove = 0.8, window = 150 } = options
  // A smaller window is full earlier, which then suffices.
  const minimum = Math.min(window, options.minimum ?? Math.max(10, window / 2))
  if (level !== state.level) return state
  const averages = [...state.averages, average].slice(-window)
  if (averages.length < minimum) return { level, averages }
  const mean = Evaluation.mean(averages)
  const next = within(mean > raiseAbove ? level + 1 : mean < lowerBelow ? level - 1 : level, levels)
  return next === level ? { level, averages } : { level: next, averages: [] }
}

export interface Curriculum {
  readonly level: Effect.Effect<number>
  readonly record: (outcome: Outcome) => Effect.Effect<void>
  /** For a definition's `state`. A saved level that is out of range is clamped. */
  readonly state: {
    readonly save: Effect.Effect<unknown>
    readonly restore: (saved: unknown) => Effect.Effect<void, Schema.SchemaError>
  }
  /** For a definition's `metrics`. */
  readonly metrics: Effect.Effect<{ readonly [name: string]: number }>
}

const decode = Schema.decodeUnknownEffect(State)

export const make = Effect.fn("Curriculum.make")(function* (options: Options) {
  const state = yield* Ref.make(start(options))
  const curriculum: Curriculum = {
    level: Effect.map(Ref.get(state), ({ level }) => level),
    record: (outcome) => Ref.update(state, (before) => record(before, outcome, options)),
    state: {
      save: Ref.get(state),
      restore: (saved) =>
        Effect.flatMap(decode(saved), ({ averages, level }) => {
          const possible = within(level, options.levels)
          return Ref.set(state, { level: possible, averages: possible === level ? averages : [] })
        })
    },
    metrics: Effect.map(Ref.get(state), ({ averages, level }) => ({
      "curriculum/level": level,
      "curriculum/groups": averages.length,
      ...(averages.length > 0 && { "curriculum/average": Evaluation.mean(averages) })
    }))
  }
  return curriculum
})

const within = (level: number, levels: number): number => Math.min(levels, Math.max(1, level))
