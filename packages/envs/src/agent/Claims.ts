/**
 * Claims of an author about results, as an environment's claims are: about trajectories.
 *
 * A result that is a text is the completion; another one stands beside its trajectory. A text that nobody claimed (such
 * as `validate` tries) is given to the score as a result where results are texts, and as the last message otherwise.
 */
import { type Environment, Laws, type Trajectory } from "@atropos/core"

export interface Claims<Item> {
  readonly gold?: ((item: Item) => ReadonlyArray<unknown>) | undefined
  readonly wrong?: ((item: Item) => ReadonlyArray<unknown>) | undefined
  readonly scoreRange?: readonly [minimum: number, maximum: number] | undefined
}

export interface ClaimedResults<Item> {
  readonly claims: Environment.Claims<Item>
  /** The result that a claimed trajectory stands for. */
  readonly resultOf: (item: Item, trajectory: Trajectory.Trajectory) => unknown
}

export const make = <Item>({ gold, scoreRange, wrong }: Claims<Item>): ClaimedResults<Item> => {
  const results = new WeakMap<Trajectory.Trajectory, { readonly result: unknown }>()
  const asTrajectory = (result: unknown): Trajectory.Trajectory => {
    const trajectory = Laws.trajectoryOf(typeof result === "string" ? result : (JSON.stringify(result) ?? ""))
    results.set(trajectory, { result })
    return trajectory
  }
  return {
    claims:
      gold === undefined
        ? { untestable: "it names no gold results", ...(scoreRange !== undefined && { scoreRange }) }
        : {
            scoreRange: scoreRange ?? [0, 1],
            gold: (item) => gold(item).map(asTrajectory),
            wrong: (item) => (wrong?.(item) ?? []).map(asTrajectory)
          },
    resultOf: (item, trajectory) => {
      const known = results.get(trajectory)
      if (known !== undefined) return known.result
      const [first] = gold?.(item) ?? []
      return first === undefined || typeof first === "string" ? trajectory.completion : first
    }
  }
}
