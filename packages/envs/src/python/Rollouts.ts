/**
 * Runs environments whose whole episodes a Python package runs (the bridge's `rollout` shape), against gateway
 * sessions.
 *
 * Every seat has a secret URL for each time it is run, so tokens, logprobs and versions are those sampled here; each
 * trained seat is a separate sequence, compared with the same seat of the group's other rollouts. Rewards are the
 * package's, by their names. A failed episode is data; if the interpreter ends, its rollouts fail with its last lines
 * of output, and their items are retried.
 */
import { Dataset, Environment, type RewardComponents } from "@atropos/core"
import { Effect, Schema, type Scope, Semaphore, Stream } from "effect"
import * as AgentSettings from "../agent/AgentSettings.ts"
import * as Outcome from "../agent/Outcome.ts"
import type * as SessionGroup from "../agent/SessionGroup.ts"
import * as SessionRuns from "../agent/SessionRuns.ts"
import type { Bridge } from "./Bridge.ts"
import * as Components from "./Components.ts"
import * as PackageMetrics from "./PackageMetrics.ts"
import { PythonError } from "./PythonError.ts"
import * as PythonSettings from "./PythonSettings.ts"

const { evaluationItems, seed, sessionTimeout, temperature } = AgentSettings.fields
const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const fields = {
  seed,
  temperature,
  sessionTimeout,
  evaluationItems,
  ...PythonSettings.fields,
  packages: Environment.field(
    Schema.Array(Schema.NonEmptyString),
    [],
    "pip names of packages that uv installs in addition to the environment's; other Pythons must have them"
  ),
  passVariables: Environment.field(
    Schema.Array(Schema.NonEmptyString),
    [],
    "names of environment variables that Python inherits from this process, such as the keys of a judge; if unset, only PATH, HOME and the like"
  ),
  rolloutsAtOnce: Environment.field(
    positive,
    8,
    "concurrent episodes in the interpreter, over all groups: each may start programs"
  )
} as const

export const Info = Schema.Struct({
  shape: Schema.Literal("rollout"),
  /** Number of tasks; null: endless. */
  count: Schema.NullOr(Schema.Int),
  seats: Schema.NonEmptyArray(Schema.String)
})
export type Info = typeof Info.Type

const Rollout = Schema.Struct({
  ok: Schema.Boolean,
  errors: Schema.Array(Schema.String),
  /** The traces of the seats, one for each time a seat was run. */
  traces: Schema.Array(
    Schema.Struct({
      seat: Schema.String,
      /** Index of the session that it used, among its seat's. */
      session: Schema.Natural,
      trainable: Schema.Boolean,
      reward: Schema.Finite,
      rewards: Schema.Record(Schema.String, Schema.Finite),
      /** Recorded without being a reward, if the package does that. */
      metrics: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite))
    })
  )
})
type Rollout = typeof Rollout.Type

export interface Options {
  /** The environment's, for logs. */
  readonly name: string
  readonly bridge: Bridge<Info>
  readonly settings: SessionRuns.Options<never, never, never>["settings"] & {
    readonly evaluationItems: number
    readonly rewardWeights: RewardComponents.Weights
    readonly rolloutsAtOnce: number
    /** Share of the tasks held out for evaluation; 0: all tasks are used for both training and evaluation. */
    readonly heldOut: number
    /** Maximum runs of a seat in one rollout. */
    readonly runsPerSeat: number
  }
  readonly isCorrect?: (score: number) => boolean
}

const ofOutage = new Set<PythonError["reason"]>(["ended", "notFound", "notInstalled", "protocol"])

const maxReasonLength = 500

/** Indices of tasks: finite ones reshuffled every epoch, endless ones in order. */
const sources = ({ count }: Info, { evaluationItems, heldOut, seed }: Options["settings"]) => {
  if (count === null) {
    // The first are for evaluation, and the others for training.
    const kept = heldOut === 0 ? 0 : evaluationItems
    return {
      items: (cursor: number) => Stream.range(kept + cursor, Number.MAX_SAFE_INTEGER),
      heldOut: Stream.range(0, evaluationItems - 1)
    }
  }
  const all = Array.from({ length: count }, (_, index) => index)
  const isSplit = heldOut > 0 && count > 1
  // At least one on either side.
  const testFraction = Math.min(Math.max(heldOut, 1 / count), (count - 1) / count)
  const { test, train } = isSplit ? Dataset.split(all, { seed, testFraction }) : { test: all, train: all }
  return {
    items: Dataset.shuffle(train, { seed }),
    heldOut: Stream.take(Stream.fromArray(test), evaluationItems)
  }
}

export const make = Effect.fn("Rollouts.make")(function* ({ bridge, isCorrect, name, settings }: Options) {
  const { rolloutsAtOnce, runsPerSeat } = settings
  const room = yield* Semaphore.make(rolloutsAtOnce)
  const known = Effect.map(bridge.info, (info) => sources(info, settings))

  const recorded = PackageMetrics.make(name)

  const begin = Effect.fnUntraced(function* (
    { item }: SessionRuns.Numbered,
    split: SessionRuns.Split
  ): Effect.fn.Return<SessionRuns.Attempt<Rollout, PythonError, never>, PythonError, Scope.Scope> {
    const { seats } = yield* bridge.info
    // Waiting for capacity does not count toward the rollout's time limit.
    yield* Effect.acquireRelease(room.take(1), () => room.release(1))
    let broken: PythonError | undefined
    return {
      sessions: seats.length * runsPerSeat,
      use: ({ modelName: model }, all) =>
        bridge
          .call(
            "rollout",
            {
              index: item,
              model,
              seats: Object.fromEntries(
                seats.map((seat, at) => [
                  seat,
                  all.slice(at * runsPerSeat, (at + 1) * runsPerSeat).map(({ baseURL }) => baseURL)
                ])
              )
            },
            Rollout
          )
          .pipe(
            // An ended interpreter is not the episode's failure; it is reported when the rollout is judged.
            Effect.tapError((error) =>
              Effect.sync(() => void (broken = ofOutage.has(error.reason) ? error : undefined))
            ),
            Effect.mapError((cause) => ({ message: cause.message, cause })),
            Effect.flatMap((rollout) => {
              if (rollout.ok) return Effect.succeed(rollout)
              const message = `the episode failed: ${rollout.errors.at(-1)?.slice(0, maxReasonLength) ?? "the package gives no reason"}`
              return Effect.fail({ message, cause: new Error(message) })
            })
          ),
      judge: (outcome) =>
        Effect.suspend(() => {
          if (broken !== undefined) return Effect.fail(broken)
          if (outcome._tag === "Failed") return Effect.succeed(outcome)
          const { traces } = outcome.result
          if (split === "train") {
            recorded.add(
              traces.map(({ metrics = {}, seat }) => ({ seat, metrics })),
              seats
            )
          }
          const parts = traces
            .filter(({ trainable }) => trainable)
            .map((trace): SessionGroup.Part => ({
              group: trace.seat,
              session: seats.indexOf(trace.seat) * runsPerSeat + trace.session,
              judged: Components.judged(trace.reward, trace.rewards, settings.rewardWeights)
            }))
          return Effect.succeed(
            parts.length > 0 ? parts : Outcome.failed(outcome, "unrewarded", "no seat of the episode is trained")
          )
        })
    }
  })

  const { definition } = yield* SessionRuns.make<Rollout, PythonError, never>({
    name,
    settings,
    runner: "built-in",
    source: {
      items: (cursor) => Stream.unwrap(Effect.map(known, ({ items }) => items(cursor))),
      heldOut: Stream.unwrap(Effect.map(known, ({ heldOut }) => heldOut)),
      hasHeldOut: true
    },
    begin,
    ...(isCorrect !== undefined && { isCorrect })
  })
  return {
    ...definition,
    metrics: Effect.map(Effect.all([definition.metrics, recorded.take]), ([own, others]) => ({ ...own, ...others }))
  }
})
