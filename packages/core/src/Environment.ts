/**
 * An environment: where items come from, how they are rolled out, and what a rollout is worth.
 *
 * It is a service made by a plain function; there is no class to inherit. The item type is closed over: whoever runs an
 * environment sees a name, settings and effects. `score` decides from the trajectories alone wherever it can, which is what makes
 * it testable by property (`Laws`). Replaces the original's `BaseEnv` (atroposlib/envs/base.py); `Rollout` runs it.
 */
import { Context, Effect, Layer, Option, Schema, Stream } from "effect"
import * as EnvironmentSettings from "./EnvironmentSettings.ts"
import type { Overrides, ScoredGroup } from "./ScoredGroup.ts"
import { notSampled, type Trajectory } from "./Trajectory.ts"

/** The group cannot be judged (broken reference, judge undecided): it is counted and skipped, nothing else happens. */
export class Unscorable extends Schema.TaggedError<Unscorable>()("Unscorable", { message: Schema.String }) {}

/** A rollout, an evaluation or the item source failed; `cause` is the environment's own error. */
export class EnvironmentError extends Schema.TaggedError<EnvironmentError>()("EnvironmentError", {
  environment: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}

/** Rollouts to be compared with each other, with what the trainer should know beside their scores. */
export interface RolloutGroup {
  readonly trajectories: ReadonlyArray<Trajectory>
  readonly generationParams?: Overrides
  readonly groupOverrides?: Overrides
  readonly images?: unknown
}

/** What an item gave: one group (a plain array), or several, and items to be put back in the queue. */
export type Rollouts<Item> =
  | ReadonlyArray<Trajectory>
  | { readonly groups: ReadonlyArray<RolloutGroup>; readonly requeue?: ReadonlyArray<Item> }

/** A number, or a number with token-level advantages (T) and switches for the trainer. */
export type Score =
  | number
  | { readonly score: number; readonly advantages?: ArrayLike<number>; readonly overrides?: Overrides }

/** Held-out items, rolled out with evaluation limits and judged by the same `score`. */
export interface EvaluationDefinition<Item, E, R> {
  readonly items: Stream.Stream<Item, E, R>
  readonly collectTrajectories: (item: Item) => Effect.Effect<ReadonlyArray<Trajectory>, E, R>
  /** Whether a score counts as solved. Default: above 0. */
  readonly isCorrect?: (score: number) => boolean
}

/** What `atropos validate` and property tests hold an environment to. */
export interface Claims<Item> {
  /** Completions that must get the best score of the range. */
  readonly gold: (item: Item) => ReadonlyArray<string>
  /** Completions that must get less. */
  readonly wrong: (item: Item) => ReadonlyArray<string>
  readonly scoreRange: readonly [minimum: number, maximum: number]
}

export interface Definition<Item, E, R> {
  /** Items from `cursor` on, in an order that depends on settings alone; cursor = items already taken. */
  readonly items: (cursor: number) => Stream.Stream<Item, E, R>
  readonly collectTrajectories: (item: Item) => Effect.Effect<Rollouts<Item>, E, R>
  /** One score per trajectory, in their order. */
  readonly score: (
    item: Item,
    group: ReadonlyArray<Trajectory>
  ) => Effect.Effect<ReadonlyArray<Score>, Unscorable | E, R>
  readonly evaluation?: EvaluationDefinition<Item, E, R>
  /** State beside the cursor (a curriculum, say) that must survive a restart: JSON out, JSON in. */
  readonly state?: {
    readonly save: Effect.Effect<unknown>
    readonly restore: (saved: unknown) => Effect.Effect<void, E, R>
  }
  /** Short text for logs and dead letters. Default: the JSON of the item. */
  readonly label?: (item: Item) => string
  readonly claims?: Claims<Item>
}

/** What rolling one item out gave. */
export interface RolledOut {
  readonly groups: ReadonlyArray<ScoredGroup>
  readonly requeued: ReadonlyArray<Work>
}

/** One item, closed over. */
export interface Work {
  readonly label: string
  readonly rollOut: Effect.Effect<RolledOut, EnvironmentError | Unscorable>
}

export interface EvaluatedTrajectory {
  readonly trajectory: Trajectory
  readonly score: number
  readonly correct: boolean
}

export interface EvaluationWork {
  readonly label: string
  readonly evaluate: Effect.Effect<ReadonlyArray<EvaluatedTrajectory>, EnvironmentError | Unscorable>
}

/** An item with the environment's claims about it, for `validate`. */
export interface ClaimedItem {
  readonly label: string
  readonly gold: ReadonlyArray<string>
  readonly wrong: ReadonlyArray<string>
  /** Scores these trajectories as one group. */
  readonly score: (
    group: ReadonlyArray<Trajectory>
  ) => Effect.Effect<ReadonlyArray<number>, EnvironmentError | Unscorable>
}

export interface EnvironmentShape {
  readonly name: string
  readonly settings: EnvironmentSettings.Common
  /** All settings, snake_case, as they are written beside results. */
  readonly encodedSettings: { readonly [name: string]: unknown }
  readonly work: (cursor: number) => Stream.Stream<Work, EnvironmentError>
  /** Scored groups of the items in order, one at a time; unscorable ones are logged and skipped. For tests and small programs. */
  readonly groups: Stream.Stream<ScoredGroup, EnvironmentError>
  readonly evaluation: Option.Option<Stream.Stream<EvaluationWork, EnvironmentError>>
  readonly state: Option.Option<{
    readonly save: Effect.Effect<unknown>
    readonly restore: (saved: unknown) => Effect.Effect<void, EnvironmentError>
  }>
  readonly claims: Option.Option<{
    readonly scoreRange: readonly [minimum: number, maximum: number]
    readonly items: Stream.Stream<ClaimedItem, EnvironmentError>
  }>
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
  readonly settings: EnvironmentSettings.Settings<A>
  /** From snake_case settings (YAML, flags). */
  readonly fromEncoded: (settings: unknown) => Layer.Layer<Environment, E | Schema.SchemaError, R>
}

export { field } from "./EnvironmentSettings.ts"
export const settings = EnvironmentSettings.make

/** An environment as a layer: `make` gets the settings and returns the definition, in whose effects it may use other services. */
export const layer = <A extends EnvironmentSettings.Common, Item, R, E1, R1>(
  name: string,
  settings: EnvironmentSettings.Settings<A>,
  // Errors of any kind, different ones in each place: they all become the cause of an `EnvironmentError`.
  make: (settings: A) => Effect.Effect<Definition<Item, unknown, R>, E1, R1>
): EnvironmentLayer<A, E1, R | R1> => {
  const build = (chosen: A): Layer.Layer<Environment, E1, R | R1> =>
    Layer.effect(
      Environment,
      Effect.gen(function* () {
        const definition = yield* make(chosen)
        const context = yield* Effect.context<R>()
        return close(name, chosen, settings.encode(chosen), definition, context)
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

const close = <Item, E, R>(
  name: string,
  chosen: EnvironmentSettings.Common,
  encodedSettings: { readonly [name: string]: unknown },
  definition: Definition<Item, E, R>,
  context: Context.Context<R>
): EnvironmentShape => {
  const { collectTrajectories, evaluation, items, score } = definition
  const label = definition.label ?? ((item: Item) => JSON.stringify(item) ?? String(item))
  const crossing = (cause: unknown): EnvironmentError =>
    cause instanceof EnvironmentError
      ? cause
      : new EnvironmentError({
          environment: name,
          message: cause instanceof Error ? cause.message : String(cause),
          cause
        })
  const inside = <B>(effect: Effect.Effect<B, Unscorable | E, R>): Effect.Effect<B, EnvironmentError | Unscorable> =>
    effect.pipe(
      Effect.provideContext(context),
      Effect.mapError((error) => (error instanceof Unscorable ? error : crossing(error)))
    )
  const failing = <B>(stream: Stream.Stream<B, E, R>): Stream.Stream<B, EnvironmentError> =>
    stream.pipe(Stream.provideContext(context), Stream.mapError(crossing))

  const scored = Effect.fn("Environment.score")(function* (item: Item, trajectories: ReadonlyArray<Trajectory>) {
    const scores = yield* score(item, trajectories)
    if (scores.length !== trajectories.length) {
      return yield* new Unscorable({ message: `${scores.length} scores for ${trajectories.length} trajectories` })
    }
    return scores
  })
  const toWork = (item: Item): Work => ({
    label: label(item),
    rollOut: inside(
      Effect.gen(function* () {
        const rollouts = yield* collectTrajectories(item)
        const parts = "groups" in rollouts ? rollouts : { groups: [{ trajectories: rollouts }] }
        const groups = yield* Effect.forEach(
          parts.groups.filter((group) => group.trajectories.length > 0),
          (group) => Effect.map(scored(item, group.trajectories), (scores) => toScoredGroup(group, scores))
        )
        return { groups, requeued: (parts.requeue ?? []).map(toWork) }
      }).pipe(Effect.withSpan("Environment.rollOut", { attributes: { "environment.name": name } }))
    )
  })
  const work = (cursor: number) => failing(items(cursor)).pipe(Stream.map(toWork))

  return {
    name,
    settings: chosen,
    encodedSettings,
    work,
    groups: work(0).pipe(
      Stream.mapEffect(({ label, rollOut }) =>
        rollOut.pipe(
          Effect.map(({ groups }) => groups),
          Effect.catchTag("Unscorable", (error) =>
            Effect.as(Effect.logWarning("group skipped", { item: label, reason: error.message }), [])
          )
        )
      ),
      Stream.flattenIterable
    ),
    evaluation: Option.map(
      Option.fromUndefinedOr(evaluation),
      ({ collectTrajectories, isCorrect = isPositive, items }) =>
        failing(items).pipe(
          Stream.map((item) => ({
            label: label(item),
            evaluate: inside(
              Effect.gen(function* () {
                const trajectories = yield* collectTrajectories(item)
                const scores = yield* scored(item, trajectories)
                return trajectories.map((trajectory, index) => {
                  const value = scoreValue(scores[index]!)
                  return { trajectory, score: value, correct: isCorrect(value) }
                })
              })
            )
          }))
        )
    ),
    state: Option.map(Option.fromUndefinedOr(definition.state), ({ restore, save }) => ({
      save,
      restore: (saved: unknown) => restore(saved).pipe(Effect.provideContext(context), Effect.mapError(crossing))
    })),
    claims: Option.map(Option.fromUndefinedOr(definition.claims), ({ gold, scoreRange, wrong }) => ({
      scoreRange,
      items: failing(items(0)).pipe(
        Stream.map((item) => ({
          label: label(item),
          gold: gold(item),
          wrong: wrong(item),
          score: (group: ReadonlyArray<Trajectory>) =>
            inside(Effect.map(scored(item, group), (scores) => scores.map(scoreValue)))
        }))
      )
    }))
  }
}

const isPositive = (score: number): boolean => score > 0

const scoreValue = (score: Score): number => (typeof score === "number" ? score : score.score)

/** The wire's view of a group: lists that no trajectory has are absent, logprobs only where all have them. */
export const toScoredGroup = (group: RolloutGroup, scores: ReadonlyArray<Score>): ScoredGroup => {
  const { generationParams, groupOverrides, images, trajectories } = group
  const details = scores.map((score) => (typeof score === "number" ? { score } : score))
  const withAdvantages = details.some(({ advantages }) => advantages !== undefined)
  return {
    tokens: trajectories.map(({ tokens }) => tokens),
    masks: trajectories.map(({ mask }) => mask),
    scores: Float64Array.from(details, ({ score }) => score),
    messages: trajectories.map(({ messages }) => messages),
    ...(trajectories.every(({ logprobs }) => logprobs !== undefined) && {
      inferenceLogprobs: trajectories.map(
        ({ logprobs, tokens }) => logprobs ?? new Float32Array(tokens.length).fill(notSampled)
      )
    }),
    ...(withAdvantages && {
      advantages: trajectories.map(({ tokens }, index) => {
        const { advantages, score } = details[index]!
        return advantages === undefined ? new Float32Array(tokens.length).fill(score) : Float32Array.from(advantages)
      })
    }),
    ...(details.some(({ overrides }) => overrides !== undefined) && {
      overrides: details.map(({ overrides }) => overrides ?? {})
    }),
    ...(trajectories.some(({ policyVersion }) => policyVersion !== undefined) && {
      policyVersions: trajectories.map(({ policyVersion }) => policyVersion ?? null)
    }),
    ...(generationParams && { generationParams }),
    ...(groupOverrides && { groupOverrides }),
    ...(images !== undefined && { images })
  }
}
