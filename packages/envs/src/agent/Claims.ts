/**
 * Turns an author's claims about results into an environment's claims about trajectories.
 *
 * A text result becomes the completion; any other is kept with its trajectory. Without gold results, results of runs
 * are used (`sample`). An unknown text (such as `validate` tries) is passed to the score as the result if results are
 * texts; otherwise the score gets a known result of the item, with the text as the last message.
 */
import { type Environment, Laws, type Trajectory } from "@atropos/core"
import * as ValueText from "@atropos/core/base/ValueText"
import { Effect, Option } from "effect"

export interface Claims<Item> {
  readonly gold?: ((item: Item) => ReadonlyArray<unknown>) | undefined
  readonly wrong?: ((item: Item) => ReadonlyArray<unknown>) | undefined
  readonly scoreRange?: readonly [minimum: number, maximum: number] | undefined
  /** Runs the agent on an item; returns the result and its trajectory. Only called without gold. */
  readonly sample?: ((item: Item) => Effect.Effect<Sampled, unknown>) | undefined
}

export interface Sampled {
  readonly result: unknown
  readonly trajectory: Trajectory.Trajectory
}

export interface ClaimedResults<Item> {
  readonly claims: Environment.Claims<Item>
  /** The result that a trajectory represents; none if no result of the item is known. */
  readonly resultOf: (item: Item, trajectory: Trajectory.Trajectory) => Option.Option<unknown>
}

/** Two, to detect whether their order matters. */
const samples = 2

export const advice = "give it gold: (item) => [a result that must get the best score]"

export const make = <Item>({ gold, sample, scoreRange, wrong }: Claims<Item>): ClaimedResults<Item> => {
  const results = new WeakMap<Trajectory.Trajectory, { readonly result: unknown }>()
  const sampled = new Map<Item, unknown>()
  const asTrajectory = (result: unknown): Trajectory.Trajectory => {
    const trajectory = Laws.trajectoryOf(typeof result === "string" ? result : (ValueText.of(result) ?? ""))
    results.set(trajectory, { result })
    return trajectory
  }
  const untestable = (): Environment.Claims<Item> => ({
    untestable: `it names no gold results${wrong === undefined ? "" : ", which checking wrong ones requires"}: ${advice}`,
    ...(scoreRange !== undefined && { scoreRange }),
    ...(sample !== undefined && {
      sample: (item: Item) =>
        Effect.map(Effect.replicateEffect(sample(item), samples), (all) =>
          all.map(({ result, trajectory }) => {
            results.set(trajectory, { result })
            sampled.set(item, result)
            return trajectory
          })
        )
    })
  })
  return {
    claims:
      gold === undefined
        ? untestable()
        : {
            scoreRange: scoreRange ?? [0, 1],
            gold: (item) => gold(item).map(asTrajectory),
            wrong: (item) => (wrong?.(item) ?? []).map(asTrajectory)
          },
    resultOf: (item, trajectory) => {
      const known = results.get(trajectory)
      if (known !== undefined) return Option.some(known.result)
      const [first] = sampled.has(item) ? [Option.some(sampled.get(item))] : (gold?.(item).map(Option.some) ?? [])
      return Option.map(first ?? Option.none(), (result) =>
        typeof result === "string" ? trajectory.completion : result
      )
    }
  }
}
