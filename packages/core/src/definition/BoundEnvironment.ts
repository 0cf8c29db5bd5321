/**
 * The runner-facing view of an environment: its definition bound to its item type, services and errors.
 *
 * Every error, and everything the definition's functions throw, becomes an `EnvironmentError` that names the
 * environment, except `Unscorable`; the location of a throw is logged once. Groups of an item that cannot be judged are
 * dropped, the others kept.
 */
import { Clock, type Context, Effect, Option, Schema, Stream } from "effect"
import type { Definition, EnvironmentShape, JudgeGroup, RolloutGroup, Work } from "./Definition.ts"
import { type DefinitionFault, type EnvironmentError, Unscorable } from "./EnvironmentError.ts"
import type { Common } from "./EnvironmentSettings.ts"
import { toScoredGroup } from "./ToScoredGroup.ts"
import * as ItemLabel from "./ItemLabel.ts"
import * as Laws from "./Laws.ts"
import { ruleOf } from "../reward/RewardComponents.ts"
import type { Judged } from "../reward/Score.ts"
import * as Scoring from "./Scoring.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import type { Trajectory } from "../trajectory/Trajectory.ts"
import { type Boundary, boundaryOf } from "./DefinitionBoundary.ts"
import * as DefinitionCalls from "./UserCode.ts"
import * as DefinitionResults from "./DefinitionResults.ts"

/** A definition with the names and the errors of its environment. */
interface Closed<Item, E, R> {
  readonly definition: Definition<Item, E, R>
  readonly label: (item: Item) => string
  readonly id: (item: Item) => string
  readonly solved: EnvironmentShape["solved"]
  readonly boundary: Boundary<E, R>
  readonly scored: (
    item: Item,
    group: RolloutGroup
  ) => Effect.Effect<ReadonlyArray<Judged>, Unscorable | EnvironmentError | DefinitionFault | E, R>
}

export const make = <Item, E, R>({
  context,
  definition,
  encodedSettings,
  name,
  settings
}: {
  readonly name: string
  readonly settings: Common
  readonly encodedSettings: { readonly [name: string]: unknown }
  readonly definition: Definition<Item, E, R>
  readonly context: Context.Context<R>
}): EnvironmentShape => {
  const boundary = boundaryOf<E, R>(name, context)
  const closed: Closed<Item, E, R> = {
    definition,
    label: definition.label ?? ItemLabel.of,
    id: DefinitionCalls.identity(definition),
    solved: Scoring.solvedBy(definition, settings.rewardWeights),
    boundary,
    scored: Scoring.make(definition, boundary.crossing, settings.rewardWeights)
  }
  const toWork = working(name, closed, settings.minTrainedTokens)
  const work = (cursor: number) => boundary.stream("items", () => definition.items(cursor), toWork)
  return {
    name,
    settings,
    encodedSettings,
    work,
    itemsDigest: definition.items.digest ?? Effect.undefined,
    groups: work(0).pipe(
      Stream.mapEffect(({ label, rollOut }) =>
        rollOut.pipe(
          Effect.tap(({ unscorable }) => Effect.forEach(unscorable, (error) => skipped(label, error))),
          Effect.map(({ groups }) => groups),
          Effect.catchTag("Unscorable", (error) => Effect.as(skipped(label, error), []))
        )
      ),
      Stream.flattenIterable
    ),
    solved: closed.solved,
    evaluation: Option.map(Option.fromUndefinedOr(definition.evaluation), (evaluation) =>
      evaluationOf(evaluation, closed)
    ),
    state: Option.map(Option.fromUndefinedOr(definition.state), ({ restore, save }) => ({
      save,
      restore: (saved: unknown) =>
        DefinitionCalls.called("state.restore", () => restore(saved), "undefined").pipe(
          Effect.provideContext(boundary.context),
          Effect.mapError(boundary.crossing)
        )
    })),
    requeued: Option.map(Option.fromUndefinedOr(definition.requeued), (codec) => {
      const decode = Schema.decodeUnknownEffect(codec)
      return (saved: unknown) => Effect.mapBoth(decode(saved), { onSuccess: toWork, onFailure: boundary.crossing })
    }),
    claims: Option.map(Option.fromUndefinedOr(definition.claims), (claims) => claimsOf(claims, closed)),
    metrics: Effect.provideContext(definition.metrics ?? Effect.succeed({}), boundary.context),
    ...(definition.scoresPerEpisode !== undefined && { scoresPerEpisode: definition.scoresPerEpisode }),
    components: Option.map(Option.fromUndefinedOr(definition.components), (rule) => ruleOf(settings, rule))
  }
}

/** Scores existing trajectories, if `score` depends on their text only. */
const judging =
  <Item, E, R>({ boundary, definition, scored }: Closed<Item, E, R>, item: Item): JudgeGroup =>
  (trajectories) => {
    const { cannotRescore, score } = definition
    const why = cannotRescore ?? (score === undefined ? Scoring.none : undefined)
    return boundary.effect(
      "score",
      why === undefined ? scored(item, { trajectories }) : Effect.fail(new Unscorable({ message: why }))
    )
  }

/** Turns items into work: rollout, judging of each group, and follow-ups. */
const working = <Item, E, R>(
  name: string,
  closed: Closed<Item, E, R>,
  minTrainedTokens: number
): ((item: Item) => Work) => {
  const { boundary, definition, id, label, scored, solved } = closed
  const { afterScore, collectTrajectories, requeued } = definition
  const judged = Effect.fnUntraced(
    function* (item: Item, group: RolloutGroup, startedAt: number) {
      const from = yield* Clock.currentTimeMillis
      const scores = yield* scored(item, group)
      const origin = { startedAt, scored: { from, to: yield* Clock.currentTimeMillis } }
      const { leaveOut, requeue = [] } =
        (afterScore &&
          (yield* DefinitionCalls.called(
            "afterScore",
            () => afterScore(item, { ...group, values: scores.map(({ score }) => score) }),
            "undefined"
          ))) ??
        {}
      const outcome =
        leaveOut === undefined
          ? toScoredGroup(group, scores, {
              minTrainedTokens,
              itemId: id(item),
              origin,
              // Claims refer to what `score` is called with.
              ...(group.scores === undefined && (yield* Laws.goldTexts(definition.claims, item))),
              ...(Option.isSome(solved) && { isSolved: solved.value.isCorrect })
            })
          : new Unscorable({ message: leaveOut })
      return { outcome, requeue }
    },
    Effect.catchIf(isUnscorable, (error) => Effect.succeed({ outcome: error, requeue: [] }))
  )
  const rollOut = Effect.fnUntraced(
    function* (item: Item) {
      const startedAt = yield* Clock.currentTimeMillis
      const parts = yield* DefinitionCalls.called(
        "collectTrajectories",
        () => collectTrajectories(item),
        "trajectories"
      ).pipe(Effect.flatMap(DefinitionResults.rollouts))
      const all = yield* Effect.forEach(
        parts.groups.filter(({ trajectories }) => trajectories.length > 0),
        (group) => judged(item, group, startedAt)
      )
      const outcomes = all.map(({ outcome }) => outcome)
      const groups = outcomes.filter((outcome): outcome is ScoredGroup => !isUnscorable(outcome))
      const unscorable = outcomes.filter(isUnscorable)
      const requeued = [...(parts.requeue ?? []), ...all.flatMap(({ requeue }) => requeue)].map(toWork)
      if (unscorable[0] !== undefined && groups.length === 0 && requeued.length === 0) return yield* unscorable[0]
      return { groups, unscorable, requeued }
    },
    Effect.withSpan("Environment.rollOut", { attributes: { "environment.name": name } })
  )
  const encode = requeued && Schema.encodeUnknownOption(requeued)
  const toWork = (item: Item): Work => ({
    id: id(item),
    label: label(item),
    ...(encode !== undefined && { save: () => Option.getOrUndefined(encode(item)) }),
    rollOut: boundary.effect("the definition", rollOut(item)),
    judge: judging(closed, item)
  })
  return toWork
}

/** Held-out items, each with the scores of its completions. */
const evaluationOf = <Item, E, R>(
  { collectTrajectories, items }: NonNullable<Definition<Item, E, R>["evaluation"]>,
  closed: Closed<Item, E, R>
) => {
  const { boundary, id, label, scored, solved } = closed
  const evaluate = Effect.fnUntraced(function* (item: Item) {
    const group = yield* DefinitionCalls.called(
      "evaluation.collectTrajectories",
      () => collectTrajectories(item),
      "trajectories"
    ).pipe(Effect.flatMap(DefinitionResults.evaluated))
    const scores = yield* scored(item, group)
    const gold = yield* Laws.goldTexts(closed.definition.claims, item)
    return group.trajectories.map((trajectory, index) => {
      const { rewards, score, ...judged } = scores[index]!
      const sample = { ...gold, ...judged.sample }
      return {
        trajectory,
        score,
        ...(Option.isSome(solved) && { correct: solved.value.isCorrect(score, rewards) }),
        ...(rewards && { rewards }),
        ...(Object.keys(sample).length > 0 && { sample })
      }
    })
  })
  return boundary.stream(
    "evaluation.items",
    () => items,
    (item) => ({
      id: id(item),
      label: label(item),
      evaluate: boundary.effect("evaluation", evaluate(item)),
      judge: judging(closed, item)
    })
  )
}

const claimsOf = <Item, E, R>(
  claims: NonNullable<Definition<Item, E, R>["claims"]>,
  { boundary, definition, id, label, scored }: Closed<Item, E, R>
) => {
  const isTestable = "gold" in claims
  const sample = (item: Item) =>
    isTestable || claims.sample === undefined
      ? Effect.succeed([])
      : boundary.effect(
          "claims.sample",
          Effect.mapError(claims.sample(item), (error) =>
            error instanceof Unscorable ? error : boundary.crossing(error)
          )
        )
  const judge = (item: Item, trajectories: ReadonlyArray<Trajectory>) =>
    boundary.effect(
      "score",
      definition.score === undefined
        ? Effect.fail(new Unscorable({ message: definition.cannotRescore ?? Scoring.none }))
        : scored(item, { trajectories })
    )
  return {
    scoreRange: claims.scoreRange ?? anyScore,
    ...(!isTestable && { untestable: claims.untestable }),
    items: boundary.stream(
      "claims",
      // A claim may be an episode that must be played, so claims are computed on demand.
      () => oneByOne(definition.items(0)),
      (item) => ({
        id: id(item),
        label: label(item),
        gold: isTestable ? claims.gold(item).map(asTrajectory) : [],
        wrong: isTestable ? claims.wrong(item).map(asTrajectory) : [],
        sample: sample(item),
        judge: (trajectories: ReadonlyArray<Trajectory>) => judge(item, trajectories),
        score: (trajectories: ReadonlyArray<Trajectory>) =>
          Effect.map(judge(item, trajectories), (all) => all.map(({ score }) => score))
      })
    )
  }
}

/** Passes anything that is not a stream through unchanged: the runner reports it. */
const oneByOne = <A, E, R>(items: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.isStream(items) ? Stream.rechunk(items, 1) : items

const anyScore = [-Number.MAX_VALUE, Number.MAX_VALUE] as const

const asTrajectory = (claimed: string | Trajectory): Trajectory =>
  typeof claimed === "string" ? Laws.trajectoryOf(claimed) : claimed

const isUnscorable = (outcome: unknown): outcome is Unscorable => outcome instanceof Unscorable

const skipped = (item: string, { message }: Unscorable): Effect.Effect<void> =>
  Effect.logWarning("group skipped", { item, reason: message })
