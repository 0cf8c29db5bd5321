/**
 * Types of an environment's two sides: what its author writes (`Definition`), and what a runner sees of it
 * (`EnvironmentShape`), with the item type closed over.
 */
import type { Effect, Option, Schema, Stream } from "effect"
import type { EnvironmentError, Unscorable } from "./EnvironmentError.ts"
import type { Common } from "./EnvironmentSettings.ts"
import type { ClaimedItem, Claims } from "./Laws.ts"
import type { Rewards, Rule } from "../reward/RewardComponents.ts"
import type { Judged, Score } from "../reward/Score.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"

/**
 * Items from `cursor` on, in an order that depends on settings (and `state`) alone; the cursor is the number of items
 * already taken.
 */
export interface ItemStream<Item, E, R> {
  (cursor: number): Stream.Stream<Item, E, R>
  /**
   * Digest of the rows that a cursor counts: a cursor saved with another digest starts over. `Dataset.shuffle` provides
   * it.
   */
  readonly digest?: Effect.Effect<string>
}

/** Rollouts to be compared with each other, plus data for the trainer other than scores. */
export interface RolloutGroup extends Pick<
  ScoredGroup,
  "refLogprobs" | "generationParams" | "groupOverrides" | "images" | "distillTokenIds" | "distillLogprobs"
> {
  readonly trajectories: ReadonlyArray<Trajectory>
  /**
   * One per trajectory if the group was judged while it was generated (alternatives of a turn, solved rows): `score` is
   * then not called for it.
   */
  readonly scores?: ReadonlyArray<Score>
}

/** The result of an item: one group (a plain array), or several groups and items to requeue. */
export type Rollouts<Item> =
  | ReadonlyArray<Trajectory>
  | { readonly groups: ReadonlyArray<RolloutGroup>; readonly requeue?: ReadonlyArray<Item> }

/** Held-out items, rolled out with evaluation limits and judged by the same `score`. */
export interface EvaluationDefinition<Item, E, R> {
  readonly items: Stream.Stream<Item, E, R>
  readonly collectTrajectories: (item: Item) => Effect.Effect<ReadonlyArray<Trajectory> | RolloutGroup, E, R>
  /** Decides if a score counts as solved. Default: the top of the claimed range; unknown if no range is claimed. */
  readonly isCorrect?: (score: number, rewards?: Rewards) => boolean
}

/** The consequences of a judged training group for later items. */
export interface FollowUp<Item> {
  readonly requeue?: ReadonlyArray<Item>
  /** Reason to exclude this group from training (too easy, for example); counted and logged as unscorable. */
  readonly leaveOut?: string
}

/** A group with a number for each of its trajectories. */
export interface JudgedGroup extends RolloutGroup {
  readonly values: ReadonlyArray<number>
}

export interface Definition<Item, E, R> {
  readonly items: ItemStream<Item, E, R>
  readonly collectTrajectories: (item: Item) => Effect.Effect<Rollouts<Item>, E, R>
  /** One score per trajectory, in their order. Optional if every group brings its scores. */
  readonly score?: (
    item: Item,
    group: ReadonlyArray<Trajectory>
  ) => Effect.Effect<ReadonlyArray<Score>, Unscorable | E, R>
  /**
   * Rule that turns components into a score, if it is not their plain sum: base + Σ weight · component. The setting
   * `reward_weights` overrides these weights.
   */
  readonly components?: Rule
  /** Called with every judged training group, never for evaluations: updates curricula, adds follow-up items. */
  readonly afterScore?: (item: Item, group: JudgedGroup) => Effect.Effect<FollowUp<Item> | void, E, R>
  readonly evaluation?: EvaluationDefinition<Item, E, R>
  /** Decides if a score counts as solved, in training and evaluation. Default: that of `evaluation`. */
  readonly isCorrect?: (score: number, rewards?: Rewards) => boolean
  /** Custom metrics, recorded at every step with those of the rollouts: a curriculum's level, a judge's bias. */
  readonly metrics?: Effect.Effect<{ readonly [name: string]: number }, never, R>
  /**
   * State other than the cursor (for example a curriculum) that must survive a restart: JSON out, JSON in. Items in
   * progress are already counted in it.
   */
  readonly state?: {
    readonly save: Effect.Effect<unknown>
    readonly restore: (saved: unknown) => Effect.Effect<void, E, R>
  }
  /**
   * Codec of items as JSON, so that requeued ones survive a restart. Without it, the item that requeued them is rolled
   * out again.
   */
  readonly requeued?: Schema.Codec<Item, unknown>
  /**
   * Identity of an item across runs, orders and seeds: a string is used as the id, any other value is hashed
   * (`ContentId`). Default: the item without its `samplingSeed`.
   */
  readonly id?: (item: Item) => unknown
  /** Short text for logs and dead letters. Default: its question, else its JSON (`ItemLabel`). */
  readonly label?: (item: Item) => string
  /**
   * Set if one rollout consists of several sequences with separate scores: describes them (`a group for every turn`). A
   * caller that needs one reward per episode rejects the environment with this text.
   */
  readonly scoresPerEpisode?: string
  /**
   * Reason why a stored rollout cannot be re-scored, if `score` needs more than its text: the state of its world, the
   * result of its program.
   */
  readonly cannotRescore?: string
  readonly claims?: Claims<Item>
}

/**
 * Decides which scores count as solved, in evaluations and rollout summaries. Undefined if the environment neither
 * defines it nor claims a score range.
 */
export interface Solved {
  readonly isCorrect: (score: number, rewards?: Rewards) => boolean
  /** Human-readable: `a score of 1, the top of the range`. */
  readonly meaning: string
}

export interface RolledOut {
  readonly groups: ReadonlyArray<ScoredGroup>
  /** Groups that could not be judged; the others are in `groups`. */
  readonly unscorable: ReadonlyArray<Unscorable>
  readonly requeued: ReadonlyArray<Work>
}

/**
 * Scores trajectories of an item, for example stored ones, as one group; `Unscorable` if this is only possible during a
 * rollout.
 */
export type JudgeGroup = (
  group: ReadonlyArray<Trajectory>
) => Effect.Effect<ReadonlyArray<Judged>, EnvironmentError | Unscorable>

/** One item, with its type closed over. */
export interface Work {
  /** Stable: always the same for the same item. */
  readonly id: string
  readonly label: string
  /** Fails with `Unscorable` if no group could be judged. */
  readonly rollOut: Effect.Effect<RolledOut, EnvironmentError | Unscorable>
  readonly judge: JudgeGroup
  /** The item as JSON; absent if items cannot be saved, undefined if this one cannot. */
  readonly save?: () => unknown
}

export interface EvaluatedTrajectory {
  readonly trajectory: Trajectory
  readonly score: number
  /** Absent if the environment does not define what counts as solved. */
  readonly correct?: boolean
  /** The components of the score, if it has any. */
  readonly rewards?: Rewards
  /** Details that the environment reports with the score. */
  readonly sample?: { readonly [name: string]: unknown }
}

export interface EvaluationWork {
  /** Stable: always the same for the same item. */
  readonly id: string
  readonly label: string
  readonly evaluate: Effect.Effect<ReadonlyArray<EvaluatedTrajectory>, EnvironmentError | Unscorable>
  readonly judge: JudgeGroup
}

export interface EnvironmentShape {
  readonly name: string
  readonly settings: Common
  /** All settings in snake_case, as written with results. */
  readonly encodedSettings: { readonly [name: string]: unknown }
  readonly work: (cursor: number) => Stream.Stream<Work, EnvironmentError>
  readonly itemsDigest: Effect.Effect<string | undefined>
  /**
   * Scored groups of the items in order, one at a time; unscorable ones are logged and skipped. For tests and small
   * programs.
   */
  readonly groups: Stream.Stream<ScoredGroup, EnvironmentError>
  readonly evaluation: Option.Option<Stream.Stream<EvaluationWork, EnvironmentError>>
  readonly solved: Option.Option<Solved>
  readonly state: Option.Option<{
    readonly save: Effect.Effect<unknown>
    readonly restore: (saved: unknown) => Effect.Effect<void, EnvironmentError>
  }>
  /** Restores saved work (`Work.save`), if the environment's items can be saved. */
  readonly requeued: Option.Option<(saved: unknown) => Effect.Effect<Work, EnvironmentError>>
  readonly claims: Option.Option<{
    readonly scoreRange: readonly [minimum: number, maximum: number]
    /** Why its items have neither gold nor wrong answers, if so. */
    readonly untestable?: string
    readonly items: Stream.Stream<ClaimedItem, EnvironmentError>
  }>
  readonly metrics: Effect.Effect<{ readonly [name: string]: number }>
  /** Describes the separate scores of one rollout, if it has several. */
  readonly scoresPerEpisode?: string
  /** The rule of the definition, if any, with the weights of the settings. */
  readonly components: Option.Option<Rule>
}
