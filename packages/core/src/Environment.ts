/**
 * An environment: where items come from, how they are rolled out, and what a rollout is worth.
 *
 * It is a service made by a plain function; there is no class to inherit. The item type is closed over: whoever runs an
 * environment sees a name, settings and effects. `score` decides from the trajectories alone wherever it can, which is
 * what makes it testable by property (`Laws`). Replaces the original's `BaseEnv` (atroposlib/envs/base.py); `Rollout`
 * runs it.
 */
import { Context, Effect, Layer, type Option, type Schema, type Scope, type Stream } from "effect"
import { DefinitionFault, EnvironmentError, type Unscorable } from "./EnvironmentError.ts"
import * as EnvironmentSettings from "./EnvironmentSettings.ts"
import * as Settings from "./base/Settings.ts"
import * as ClosedEnvironment from "./ClosedEnvironment.ts"
import * as DefinitionKeys from "./DefinitionKeys.ts"
import * as DefinitionCalls from "./DefinitionCalls.ts"
import type { Rewards, Rule } from "./RewardComponents.ts"
import type { ClaimedItem, Claims, TestableClaims, Untestable } from "./Laws.ts"
import type { ItemStream } from "./ItemStream.ts"
import type { Judged, Score } from "./Score.ts"
import type { Solved } from "./Scoring.ts"
import type { ScoredGroup } from "./ScoredGroup.ts"
import type { Trajectory } from "./Trajectory.ts"

export { DefinitionFault, EnvironmentError, EnvironmentUnusable, isUnusable, Unscorable } from "./EnvironmentError.ts"
export type { ItemStream } from "./ItemStream.ts"
export type { ClaimedItem, Claims, TestableClaims, Untestable } from "./Laws.ts"
export type { Judged, Score, ScoreDetails } from "./Score.ts"
export type { Solved } from "./Scoring.ts"

/** Rollouts to be compared with each other, with what the trainer should know beside their scores. */
export interface RolloutGroup extends Pick<
  ScoredGroup,
  "refLogprobs" | "generationParams" | "groupOverrides" | "images" | "distillTokenIds" | "distillLogprobs"
> {
  readonly trajectories: ReadonlyArray<Trajectory>
  /**
   * One per trajectory where the group was judged while it was made (alternatives of a turn, solved rows): `score` is
   * not asked about it.
   */
  readonly scores?: ReadonlyArray<Score>
}

/** What an item gave: one group (a plain array), or several, and items to be put back in the queue. */
export type Rollouts<Item> =
  | ReadonlyArray<Trajectory>
  | { readonly groups: ReadonlyArray<RolloutGroup>; readonly requeue?: ReadonlyArray<Item> }

/** Held-out items, rolled out with evaluation limits and judged by the same `score`. */
export interface EvaluationDefinition<Item, E, R> {
  readonly items: Stream.Stream<Item, E, R>
  readonly collectTrajectories: (item: Item) => Effect.Effect<ReadonlyArray<Trajectory> | RolloutGroup, E, R>
  /** Whether a score counts as solved. Default: the top of the claimed range; unknown if no range is claimed. */
  readonly isCorrect?: (score: number, rewards?: Rewards) => boolean
}

/** What a judged group of a training item means for later ones. */
export interface FollowUp<Item> {
  /** Items to be put in the queue. */
  readonly requeue?: ReadonlyArray<Item>
  /** Why this group is not to be trained on: too easy for its level, say. It is counted and logged as unscorable. */
  readonly leaveOut?: string
}

/** A group with a number for each of its trajectories. */
export interface JudgedGroup extends RolloutGroup {
  readonly values: ReadonlyArray<number>
}

export interface Definition<Item, E, R> {
  readonly items: ItemStream<Item, E, R>
  readonly collectTrajectories: (item: Item) => Effect.Effect<Rollouts<Item>, E, R>
  /** One score per trajectory, in their order. May be left out where every group brings its scores. */
  readonly score?: (
    item: Item,
    group: ReadonlyArray<Trajectory>
  ) => Effect.Effect<ReadonlyArray<Score>, Unscorable | E, R>
  /**
   * How the components of a score give its number, where they are not just added up: base + Σ weight · component. The
   * setting `reward_weights` goes before these weights.
   */
  readonly components?: Rule
  /**
   * Told of every group of a training item once it is judged, never of evaluations: where a curriculum learns and items
   * are followed up.
   */
  readonly afterScore?: (item: Item, group: JudgedGroup) => Effect.Effect<FollowUp<Item> | void, E, R>
  readonly evaluation?: EvaluationDefinition<Item, E, R>
  /** Whether a score counts as solved, in training and evaluation. Default: that of `evaluation`. */
  readonly isCorrect?: (score: number, rewards?: Rewards) => boolean
  /** Figures of its own, recorded beside those of its rollouts at every step: a curriculum's level, a judge's bias. */
  readonly metrics?: Effect.Effect<{ readonly [name: string]: number }, never, R>
  /**
   * State beside the cursor (a curriculum, say) that must survive a restart: JSON out, JSON in. Items under way count
   * in it already.
   */
  readonly state?: {
    readonly save: Effect.Effect<unknown>
    readonly restore: (saved: unknown) => Effect.Effect<void, E, R>
  }
  /**
   * Items as JSON, so that those put back in the queue survive a restart. Without it the item they came from is rolled
   * out again.
   */
  readonly requeued?: Schema.Codec<Item, unknown>
  /**
   * What makes an item that item, whatever run, order and seed it comes in: a string is its id as it is, of anything
   * else the id is made (`ContentId`). Default: the item, without a `samplingSeed`.
   */
  readonly id?: (item: Item) => unknown
  /** Short text for logs and dead letters. Default: its question, else its JSON (`ItemLabel`). */
  readonly label?: (item: Item) => string
  /**
   * Where one rollout is several sequences with scores of their own: which (`a group for every turn`). Whoever needs
   * one reward for an episode refuses the environment with these words.
   */
  readonly severalScores?: string
  /**
   * Why a stored rollout cannot be scored again, where `score` needs more than the words of it: the world it went
   * through, what its program returned.
   */
  readonly judgedLive?: string
  readonly claims?: Claims<Item>
}

type Known = {
  readonly [K in keyof Definition<unknown, unknown, never>]-?: K extends "evaluation"
    ? keyof EvaluationDefinition<unknown, unknown, never>
    : K extends "components"
      ? keyof Rule
      : K extends "claims"
        ? keyof TestableClaims<unknown> | keyof Untestable
        : K extends "state"
          ? "save" | "restore"
          : PropertyKey
}

/** Keys that mean nothing, as a type that nothing has: what a definition says must be among what it may say. */
export type OnlyKnown<D> = {
  readonly [K in Exclude<keyof D, keyof Known>]: `${K & string} is no key of a definition`
} & {
  readonly [K in "evaluation" | "claims" | "state" as K extends keyof D ? K : never]?: K extends keyof D
    ? { readonly [L in Exclude<keyof NonNullable<D[K]>, Known[K]>]: `${L & string} is no key of ${K}` }
    : never
}

/** What rolling one item out gave. */
export interface RolledOut {
  readonly groups: ReadonlyArray<ScoredGroup>
  /** Groups that could not be judged, beside those that could. */
  readonly unscorable: ReadonlyArray<Unscorable>
  readonly requeued: ReadonlyArray<Work>
}

/** Scores trajectories of an item, stored ones say, as one group; `Unscorable` where only a rollout itself can be. */
export type JudgeGroup = (
  group: ReadonlyArray<Trajectory>
) => Effect.Effect<ReadonlyArray<Judged>, EnvironmentError | Unscorable>

/** One item, closed over. */
export interface Work {
  /** Lasting: of the same item always the same. */
  readonly id: string
  readonly label: string
  /** `Unscorable` where there is nothing else to give. */
  readonly rollOut: Effect.Effect<RolledOut, EnvironmentError | Unscorable>
  readonly judge: JudgeGroup
  /** The item as JSON, where it can be saved; undefined where this one cannot. */
  readonly save?: () => unknown
}

export interface EvaluatedTrajectory {
  readonly trajectory: Trajectory
  readonly score: number
  /** Absent if the environment does not say what counts as solved. */
  readonly correct?: boolean
  /** What the score is made of, where it has components. */
  readonly rewards?: Rewards
  /** What the environment says of it beside the score. */
  readonly sample?: { readonly [name: string]: unknown }
}

export interface EvaluationWork {
  /** Lasting: of the same item always the same. */
  readonly id: string
  readonly label: string
  readonly evaluate: Effect.Effect<ReadonlyArray<EvaluatedTrajectory>, EnvironmentError | Unscorable>
  readonly judge: JudgeGroup
}

export interface EnvironmentShape {
  readonly name: string
  readonly settings: EnvironmentSettings.Common
  /** All settings, snake_case, as they are written beside results. */
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
  /** Work that was saved (`Work.save`), where the environment's items can be. */
  readonly requeued: Option.Option<(saved: unknown) => Effect.Effect<Work, EnvironmentError>>
  readonly claims: Option.Option<{
    readonly scoreRange: readonly [minimum: number, maximum: number]
    /** Why its items have neither gold nor wrong answers, where they have none. */
    readonly untestable?: string
    readonly items: Stream.Stream<ClaimedItem, EnvironmentError>
  }>
  readonly metrics: Effect.Effect<{ readonly [name: string]: number }>
  /** Which scores one rollout has, where it has several. */
  readonly severalScores?: string
  /** How components give a score, with the weights of its settings, where its definition says it. */
  readonly components: Option.Option<Rule>
}

export class Environment extends Context.Service<Environment, EnvironmentShape>()("@atropos/core/Environment") {}

/** Several environments in one program. */
export class Environments extends Context.Service<Environments, ReadonlyArray<EnvironmentShape>>()(
  "@atropos/core/Environment/Environments"
) {}

/** Makes a layer from (partial) settings, and carries what a registry or a command needs to know. */
export interface EnvironmentLayer<A, E, R> {
  (settings?: Partial<A>): Layer.Layer<Environment, E, R>
  readonly environmentName: string
  readonly settings: Settings.Settings<A>
  /** From snake_case settings (YAML, flags). */
  readonly fromEncoded: (settings: unknown) => Layer.Layer<Environment, E | Schema.SchemaError, R>
}

export { field } from "./base/Settings.ts"
export const settings = EnvironmentSettings.make

/**
 * An environment as a layer: `make` gets the settings and returns the definition, in whose effects it may use other
 * services. What `make` acquires (a process, a connection) lives as long as the layer.
 */
export const layer = <A extends EnvironmentSettings.Common, Item, R, E1, R1, D>(
  name: string,
  settings: Settings.Settings<A>,
  // Errors of any kind, different ones in each place: they all become the cause of an `EnvironmentError`.
  make: (settings: A) => Effect.Effect<Definition<Item, unknown, R> & D & OnlyKnown<D>, E1, R1>
): EnvironmentLayer<A, E1 | EnvironmentError, R | Exclude<R1, Scope.Scope>> => {
  const build = (chosen: A): Layer.Layer<Environment, E1 | EnvironmentError, R | Exclude<R1, Scope.Scope>> =>
    Layer.effect(
      Environment,
      Effect.gen(function* () {
        const definition = yield* DefinitionCalls.called(
          "Environment.layer's function",
          () => make(chosen),
          "definition"
        ).pipe(
          Effect.tap(DefinitionKeys.check),
          Effect.tapError(DefinitionCalls.faultLogger(name)),
          Effect.catchIf(
            (error) => error instanceof DefinitionFault,
            (fault) =>
              Effect.fail(
                new EnvironmentError({
                  environment: name,
                  message: `the environment ${name}: ${fault.message}`,
                  cause: fault
                })
              )
          )
        )
        const context = yield* Effect.context<R>()
        return ClosedEnvironment.make({
          name,
          settings: chosen,
          encodedSettings: settings.encode(chosen),
          definition,
          context
        })
      })
    )
  return Object.assign((given: Partial<A> = {}) => Layer.suspend(() => build(settings.complete(given))), {
    environmentName: name,
    settings,
    fromEncoded: (encoded: unknown) => Layer.unwrap(Effect.map(settings.decode(encoded), build))
  })
}

/** Several environments side by side: `Environment.merge(Gsm8k.layer({ inferenceWeight: 2 }), Stories.layer())`. */
export const merge = <const Layers extends ReadonlyArray<Layer.Layer<Environment, unknown, unknown>>>(
  ...layers: Layers
): Layer.Layer<Environments, Layer.Error<Layers[number]>, Layer.Services<Layers[number]>> =>
  Layer.effect(
    Environments,
    // Each layer is built afresh: all provide the same tag, and two of a kind may differ in settings.
    Effect.forEach(layers, (one) => Effect.map(Layer.build(Layer.fresh(one)), Context.get(Environment)))
  ) as Layer.Layer<Environments, Layer.Error<Layers[number]>, Layer.Services<Layers[number]>>
