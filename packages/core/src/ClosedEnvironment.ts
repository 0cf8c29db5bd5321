/**
 * An environment as whoever runs it sees it: its definition with the item type, its services and its errors closed
 * over.
 *
 * Every error becomes an `EnvironmentError` that names the environment, but for `Unscorable`, and so does all that the
 * definition's own functions throw; where in its file that was is logged once. Of an item's groups the ones that
 * cannot be judged are left out and the others kept.
 */
import { Context, Effect, Formatter, Option, Schema, Stream, Tracer } from "effect"
import type { Definition, EnvironmentShape, RolloutGroup, Score, Work } from "./Environment.ts"
import { type DefinitionFault, EnvironmentError, Unscorable } from "./EnvironmentError.ts"
import type { Common } from "./EnvironmentSettings.ts"
import * as Laws from "./Laws.ts"
import * as Sampling from "./Sampling.ts"
import type { Overrides, ScoredGroup } from "./ScoredGroup.ts"
import type { Trajectory } from "./Trajectory.ts"
import * as Given from "./Given.ts"
import * as Guarded from "./Guarded.ts"
import * as Reason from "./base/Reason.ts"

export const make = <Item, E, R>({
  context: built,
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
  // Without the span it was built in: rollouts have spans of their own. (No environment needs that one, so R is what it
  // was.)
  const context = Context.omit(Tracer.ParentSpan)(built) as Context.Context<R>
  const {
    afterScore,
    collectTrajectories,
    evaluation,
    items,
    label = Formatter.formatJson,
    requeued,
    score
  } = definition
  const crossing = (cause: unknown): EnvironmentError =>
    cause instanceof EnvironmentError
      ? cause
      : new EnvironmentError({
          environment: name,
          message: Reason.of(cause),
          cause
        })
  const tell = Guarded.teller(name)
  const inside = <B>(
    part: string,
    effect: Effect.Effect<B, Unscorable | EnvironmentError | DefinitionFault | E, R>
  ): Effect.Effect<B, EnvironmentError | Unscorable> =>
    Guarded.guarded(part, effect).pipe(
      Effect.provideContext(context),
      Effect.tapError(tell),
      Effect.mapError((error) => (error instanceof Unscorable ? error : crossing(error)))
    )
  const failing = <A, B>(
    part: string,
    stream: () => Stream.Stream<A, E, R>,
    each: (item: A) => B
  ): Stream.Stream<B, EnvironmentError> =>
    Guarded.streamed(part, stream, each).pipe(
      Stream.provideContext(context),
      Stream.tapError(tell),
      Stream.mapError(crossing)
    )

  const scored = Effect.fn("Environment.score")(function* (item: Item, { scores: given, trajectories }: RolloutGroup) {
    if (given === undefined && score === undefined) return yield* crossing(new Error(noScores))
    const scores =
      given ?? (score === undefined ? [] : yield* Guarded.called("score", () => score(item, trajectories), "scores"))
    return yield* Given.scores(given === undefined ? "score" : "collectTrajectories", scores, trajectories.length)
  })
  const judged = Effect.fnUntraced(
    function* (item: Item, group: RolloutGroup) {
      const scores = yield* scored(item, group)
      const { leaveOut, requeue = [] } =
        (afterScore &&
          (yield* Guarded.called(
            "afterScore",
            () => afterScore(item, { ...group, values: scores.map(scoreValue) }),
            "undefined"
          ))) ??
        {}
      const outcome = leaveOut === undefined ? toScoredGroup(group, scores) : new Unscorable({ message: leaveOut })
      return { outcome, requeue }
    },
    Effect.catchIf(isUnscorable, (error) => Effect.succeed({ outcome: error, requeue: [] }))
  )
  const encode = requeued && Schema.encodeUnknownOption(requeued)
  const toWork = (item: Item): Work => ({
    label: label(item),
    ...(encode !== undefined && { save: () => Option.getOrUndefined(encode(item)) }),
    rollOut: inside(
      "the definition",
      Effect.gen(function* () {
        const parts = yield* Guarded.called(
          "collectTrajectories",
          () => collectTrajectories(item),
          "trajectories"
        ).pipe(Effect.flatMap(Given.rollouts))
        const all = yield* Effect.forEach(
          parts.groups.filter(({ trajectories }) => trajectories.length > 0),
          (group) => judged(item, group)
        )
        const outcomes = all.map(({ outcome }) => outcome)
        const groups = outcomes.filter((outcome): outcome is ScoredGroup => !isUnscorable(outcome))
        const unscorable = outcomes.filter(isUnscorable)
        const requeued = [...(parts.requeue ?? []), ...all.flatMap(({ requeue }) => requeue)].map(toWork)
        if (unscorable[0] !== undefined && groups.length === 0 && requeued.length === 0) return yield* unscorable[0]
        return { groups, unscorable, requeued }
      }).pipe(Effect.withSpan("Environment.rollOut", { attributes: { "environment.name": name } }))
    )
  })
  const solved = solvedBy(definition)
  const work = (cursor: number) => failing("items", () => items(cursor), toWork)

  return {
    name,
    settings,
    encodedSettings,
    work,
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
    solved,
    evaluation: Option.map(Option.fromUndefinedOr(evaluation), ({ collectTrajectories, items }) =>
      failing(
        "evaluation.items",
        () => items,
        (item) => ({
          label: label(item),
          evaluate: inside(
            "evaluation",
            Effect.gen(function* () {
              const group = yield* Guarded.called(
                "evaluation.collectTrajectories",
                () => collectTrajectories(item),
                "trajectories"
              ).pipe(Effect.flatMap(Given.evaluated))
              const scores = yield* scored(item, group)
              return group.trajectories.map((trajectory, index) => {
                const value = scoreValue(scores[index]!)
                return { trajectory, score: value, correct: solved.isCorrect(value) }
              })
            })
          )
        })
      )
    ),
    state: Option.map(Option.fromUndefinedOr(definition.state), ({ restore, save }) => ({
      save,
      restore: (saved: unknown) =>
        Guarded.called("state.restore", () => restore(saved), "undefined").pipe(
          Effect.provideContext(context),
          Effect.mapError(crossing)
        )
    })),
    requeued: Option.map(Option.fromUndefinedOr(requeued), (codec) => {
      const decode = Schema.decodeUnknownEffect(codec)
      return (saved: unknown) => Effect.mapBoth(decode(saved), { onSuccess: toWork, onFailure: crossing })
    }),
    claims: Option.map(Option.fromUndefinedOr(definition.claims), (claims) => {
      const isTestable = "gold" in claims
      return {
        scoreRange: claims.scoreRange ?? anyScore,
        ...(!isTestable && { untestable: claims.untestable }),
        items: failing(
          "claims",
          // A claim may be an episode that has to be played: none is made that nobody asks for.
          () => oneByOne(items(0)),
          (item) => ({
            label: label(item),
            gold: isTestable ? claims.gold(item).map(asTrajectory) : [],
            wrong: isTestable ? claims.wrong(item).map(asTrajectory) : [],
            score: (trajectories: ReadonlyArray<Trajectory>) =>
              inside(
                "score",
                score === undefined
                  ? Effect.fail(new Unscorable({ message: noScores }))
                  : Effect.map(scored(item, { trajectories }), (scores) => scores.map(scoreValue))
              )
          })
        )
      }
    }),
    metrics: Effect.provideContext(definition.metrics ?? Effect.succeed({}), context)
  }
}

/** As it is where it is no stream: whoever runs it says so. */
const oneByOne = <A, E, R>(items: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.isStream(items) ? Stream.rechunk(items, 1) : items

const noScores = "its definition has no score, so every group has to bring its scores"

const anyScore = [-Number.MAX_VALUE, Number.MAX_VALUE] as const

const asTrajectory = (claimed: string | Trajectory): Trajectory =>
  typeof claimed === "string" ? Laws.trajectoryOf(claimed) : claimed

const isUnscorable = (outcome: unknown): outcome is Unscorable => outcome instanceof Unscorable

const skipped = (item: string, { message }: Unscorable): Effect.Effect<void> =>
  Effect.logWarning("group skipped", { item, reason: message })

/** Rounding may leave a sum of parts this share of the range below its top. */
const rounding = 1e-9

const solvedBy = ({
  claims,
  evaluation
}: {
  readonly claims?: { readonly scoreRange?: readonly [minimum: number, maximum: number] }
  readonly evaluation?: { readonly isCorrect?: (score: number) => boolean }
}): EnvironmentShape["solved"] => {
  if (evaluation?.isCorrect !== undefined) {
    return { isCorrect: evaluation.isCorrect, meaning: "what the environment counts as correct" }
  }
  if (claims?.scoreRange === undefined) {
    return { isCorrect: (score) => score > 0, meaning: "a score above 0, no range being claimed" }
  }
  const [bottom, top] = claims.scoreRange
  const least = top - rounding * (top - bottom)
  return { isCorrect: (score) => score >= least, meaning: `a score of ${top}, the top of the range` }
}

const scoreValue = (score: Score): number => (typeof score === "number" ? score : score.score)

/** What a trainer has to know of a rollout that its token limit cut off. */
const cutOff: Overrides = { finish_reason: "length" }

/** The wire's view of a group: lists that no trajectory has are absent, logprobs only where all have them. */
const toScoredGroup = (group: RolloutGroup, scores: ReadonlyArray<Score>): ScoredGroup => {
  const { scores: _, trajectories, ...beside } = group
  const details = scores.map((score) => (typeof score === "number" ? { score } : score))
  const own = { ...beside.groupOverrides, ...beside.generationParams }
  // The environment has the last word.
  const told = (sampling: Sampling.Sampling) =>
    Object.fromEntries(Object.entries(Sampling.toSwitches(sampling)).map(([name, value]) => [name, own[name] ?? value]))
  const sampling = trajectories[0]?.sampling
  const isAlike = trajectories.every((one) => Sampling.areEqual(one.sampling, sampling))
  const overrides = trajectories.map(({ finishReason, sampling }, index) => {
    const all = {
      ...(!isAlike && sampling !== undefined && told(sampling)),
      ...(finishReason === "length" && cutOff),
      ...details[index]!.overrides
    }
    return Object.keys(all).length === 0 ? undefined : all
  })
  const logprobs = trajectories.flatMap(({ logprobs }) => (logprobs === undefined ? [] : [logprobs]))
  return {
    ...beside,
    ...(isAlike &&
      sampling !== undefined && {
        generationParams: { ...beside.generationParams, ...told(sampling) }
      }),
    tokens: trajectories.map(({ tokens }) => tokens),
    masks: trajectories.map(({ mask }) => mask),
    scores: Float64Array.from(details, ({ score }) => score),
    messages: trajectories.map(({ messages }) => messages),
    ...(logprobs.length === trajectories.length && { inferenceLogprobs: logprobs }),
    ...(details.some(({ advantages }) => advantages !== undefined) && {
      advantages: trajectories.map(({ tokens }, index) => {
        const { advantages, score } = details[index]!
        return advantages === undefined ? new Float32Array(tokens.length).fill(score) : Float32Array.from(advantages)
      })
    }),
    ...(overrides.some((one) => one !== undefined) && { overrides: overrides.map((one) => one ?? {}) }),
    ...(trajectories.some(({ policyVersion }) => policyVersion !== undefined) && {
      policyVersions: trajectories.map(({ policyVersion }) => policyVersion ?? null)
    })
  }
}
