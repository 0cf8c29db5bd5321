/**
 * Runs rollouts that use gateway sessions, by functions of this process or by programs, and provides the parts of an
 * environment's definition: items, groups, evaluation, metrics.
 *
 * A group is `groupSize` concurrent uses on one item, each with its own session. A failed one is counted, logged and
 * dropped, unless it is scored anyway; if the inference servers fail, the item is retried instead. In training every
 * answer is sampled at the setting `temperature`, since compared answers must be sampled alike; requests that ask
 * otherwise are counted.
 */
import { Environment, SeededRandom } from "@atropos/core"
import type * as Gateway from "@atropos/core/gateway/Gateway"
import { Context, Effect, Layer, type Scope, Stream } from "effect"
import * as AgentFigures from "./AgentFigures.ts"
import type { Agent } from "./AgentSettings.ts"
import * as Failures from "./Failures.ts"
import * as FirstRuns from "./FirstRuns.ts"
import type { Source } from "./Items.ts"
import * as Outcome from "./Outcome.ts"
import * as PromptCheck from "./PromptCheck.ts"
import * as RunReport from "./RunReport.ts"
import * as SessionGroup from "./SessionGroup.ts"
import * as SessionRun from "./SessionRun.ts"

/** An item with its number, which seeds its sampling. */
export interface Numbered {
  readonly number: number
  readonly item: unknown
}

export type Split = "train" | "eval"

/** The reward of a rollout, as a whole or per seat; a failed outcome if none. */
export type Verdict = SessionGroup.Judged | ReadonlyArray<SessionGroup.Part> | Outcome.Failed

export interface Attempt<A, E, R> {
  /** Number of sessions; 1 by default. */
  readonly sessions?: number
  readonly use: SessionRun.Options<A, R>["use"]
  /** What the run reported of itself, called after it; absent or undefined: nothing. */
  readonly report?: () => RunReport.RunReport | undefined
  /** Called however the rollout ended. */
  readonly judge: (outcome: Outcome.Outcome<A>) => Effect.Effect<Verdict, E, R>
}

export interface Options<A, E, R> {
  /** The environment's, for logs. */
  readonly name: string
  readonly settings: Pick<Agent, "seed" | "temperature" | "sessionTimeout"> &
    Pick<Environment.EnvironmentShape["settings"], "groupSize" | "maxTokenLength">
  readonly source: Source & { readonly hasHeldOut: boolean }
  /** Resources it acquires live until the rollout is judged. */
  readonly begin: (
    numbered: Numbered,
    split: Split,
    gateway: Pick<Gateway.GatewayShape, "url">
  ) => Effect.Effect<Attempt<A, E, R>, E, R | Scope.Scope>
  readonly isCorrect?: (score: number) => boolean
  /** Selects the requests of training rollouts that are trained. Default: all. */
  readonly trained?: Gateway.SessionOptions["trained"]
  /** What a run is: a call of a function by default. */
  readonly runner?: FirstRuns.Runner
  /** Describes an item for logs; default: its question, else its JSON. */
  readonly label?: (item: unknown) => string
  /** Shown on pages next to a rollout's score. */
  readonly sample?: (
    numbered: Numbered,
    outcome: Outcome.Outcome<A>
  ) => Effect.Effect<SessionGroup.JudgedSession["sample"]>
}

/** A gateway for this environment only, for the lifetime of the scope. */
const ownGateway = Effect.gen(function* () {
  // Loaded here, so that listing environments does not load a server.
  const Library = yield* Effect.promise(() => import("@atropos/core/gateway/Gateway"))
  return Context.get(yield* Layer.build(Library.layer()), Library.Gateway)
})

export const make = Effect.fn("SessionRuns.make")(function* <A, E, R>({
  begin,
  isCorrect,
  label,
  name,
  runner,
  sample: sampleOf,
  settings,
  source,
  trained
}: Options<A, E, R>) {
  const { groupSize, sessionTimeout } = settings
  const how = { settings, ...(trained !== undefined && { trained }) }
  const gateway = yield* ownGateway
  const figures = AgentFigures.make()
  const failures = Failures.make(name, label)
  let runs = 0
  yield* Effect.addFinalizer(() => failures.total(runs))
  const firstRuns = FirstRuns.make(groupSize, runner)
  const prompts = PromptCheck.make(name)

  /** One rollout, judged; the reason if it is dropped, which is counted and logged. */
  const judged = Effect.fnUntraced(function* (split: Split, numbered: Numbered, run: number) {
    const attempt = yield* begin(numbered, split, gateway)
    const { counts, outcome: ran } = yield* SessionRun.run({
      gateway,
      sessions: sampling(how, split, numbered.number, run, attempt.sessions),
      timeoutSeconds: sessionTimeout,
      use: attempt.use
    })
    const report = attempt.report?.()
    const outcome = report === undefined ? ran : RunReport.withCalls(ran, report)
    runs++
    figures.add(outcome, counts, report?.stopReasons)
    yield* prompts.look(numbered.item, outcome.messages)
    const verdict = yield* attempt.judge(outcome)
    if (!isFailed(verdict)) {
      firstRuns.succeeded()
      const sample = yield* sampleOf?.(numbered, outcome) ?? Effect.undefined
      const stopReason = stopReasonOf(outcome, report)
      return seatsOf(outcome, verdict).map((seat) => ({
        ...seat,
        ...(sample !== undefined && { sample }),
        ...(stopReason !== undefined && { stopReason })
      }))
    }
    if (outcome._tag === "Ended") figures.addUnrewarded()
    yield* failures.report(numbered.item, verdict)
    const hasAnswers = outcome.trajectories.length > 0
    yield* firstRuns.failed({
      outcome: verdict,
      hasReached: hasAnswers || counts.some(hasRequests),
      hasAnswers,
      isRefused: !hasAnswers && isRefused(counts, verdict),
      isTraining: split === "train"
    })
    return verdict.reason
  }, Effect.scoped)

  /** One rollout outside of any group, excluded from the counts. */
  const sample = Effect.fnUntraced(function* (numbered: Numbered) {
    const attempt = yield* begin(numbered, "eval", gateway)
    const { outcome } = yield* SessionRun.run({
      gateway,
      sessions: sampling(how, "eval", numbered.number, 0, attempt.sessions),
      timeoutSeconds: sessionTimeout,
      use: attempt.use
    })
    return outcome
  }, Effect.scoped)

  /** An item's rollouts as groups: those of each seat are compared with each other. */
  const collect = (split: Split, numbered: Numbered, count: number) =>
    Effect.forEach(
      Array.from({ length: count }, (_, run) => run),
      (run) => judged(split, numbered, run),
      { concurrency: "unbounded" }
    ).pipe(
      Effect.flatMap((all) => {
        const kept = all.filter((one) => typeof one !== "string")
        const groups = Array.from(Map.groupBy(kept.flat(), ({ group }) => group).values()).filter(
          ({ length }) => length > (count === 1 ? 0 : 1)
        )
        return groups.length > 0
          ? Effect.succeed(groups)
          : Effect.fail(new Environment.Unscorable({ message: Failures.summary(all) }))
      })
    )

  const definition = {
    items: Object.assign(
      (cursor: number) =>
        source.items(cursor).pipe(
          Stream.zipWithIndex,
          Stream.map(([item, index]): Numbered => ({ number: cursor + index, item }))
        ),
      source.items.digest !== undefined && { digest: source.items.digest }
    ),
    collectTrajectories: (numbered: Numbered) =>
      Effect.map(collect("train", numbered, groupSize), (groups) => ({
        groups: groups.map((sessions) => SessionGroup.make(sessions, groupSize))
      })),
    ...(source.hasHeldOut && {
      evaluation: {
        items: Stream.zipWithIndex(source.heldOut).pipe(Stream.map(([item, number]): Numbered => ({ number, item }))),
        collectTrajectories: (numbered: Numbered) =>
          Effect.map(collect("eval", numbered, 1), (groups) => ({
            trajectories: groups.flat().flatMap((session) => Outcome.main(session) ?? []),
            scores: groups.flat().map(({ judged, sample }) => SessionGroup.score(judged, {}, sample))
          }))
      }
    }),
    ...(isCorrect !== undefined && { isCorrect }),
    cannotRescore: "a run is scored where it ran, by the state it left there",
    // The item's number is not part of its identity.
    id: ({ item }: Numbered): unknown => ({ item }),
    metrics: figures.take
  }
  return { definition, sample }
})

/** Of the last turn. An agent whose time is over is asked to cancel its turn, and may answer that it has. */
const stopReasonOf = (outcome: Outcome.Outcome<unknown>, report: RunReport.RunReport | undefined): string | undefined =>
  outcome._tag === "Failed" && outcome.kind === "timeout" ? "timeout" : report?.stopReasons.at(-1)

const hasRequests = ({ cancelled, failed }: Gateway.SessionCounts): boolean =>
  cancelled > 0 || Object.keys(failed).length > 0

/**
 * True if requests failed, each for what it asks for. A run out of time may have asked at an unknown path, as some
 * clients do, and then have waited for an answer.
 */
const isRefused = (counts: ReadonlyArray<Gateway.SessionCounts>, { kind }: Outcome.Failed): boolean => {
  const permanent = new Set(["invalid", "unsupported", ...(kind === "timeout" ? [] : ["unknownPath"])])
  const reasons = counts.flatMap(({ failed }) => Object.keys(failed))
  return reasons.length > 0 && reasons.every((reason) => permanent.has(reason))
}

/** The seats of a rollout at which the policy had a turn; one without a name if it was judged as a whole. */
const seatsOf = (outcome: Outcome.Recorded, verdict: Exclude<Verdict, Outcome.Failed>) =>
  isParts(verdict)
    ? verdict.flatMap(({ group, judged, session }) => {
        const trajectories = outcome.bySession[session] ?? []
        return trajectories.length === 0 ? [] : [{ group, judged, trajectories }]
      })
    : [{ group: "", judged: verdict, trajectories: outcome.trajectories }]

const isFailed = (verdict: Verdict): verdict is Outcome.Failed =>
  typeof verdict === "object" && "_tag" in verdict && verdict._tag === "Failed"

const isParts = (verdict: Exclude<Verdict, Outcome.Failed>): verdict is ReadonlyArray<SessionGroup.Part> =>
  Array.isArray(verdict)

const sampling = (
  {
    settings: { groupSize, maxTokenLength, seed, temperature },
    trained
  }: Pick<Options<unknown, unknown, unknown>, "settings" | "trained">,
  split: Split,
  number: number,
  run: number,
  count = 1
): SessionRun.Options<unknown, unknown>["sessions"] => {
  const random = SeededRandom.seeded(seed, number * groupSize + run)
  const one = (): Gateway.SessionOptions =>
    split === "train"
      ? {
          defaults: { maxTokens: maxTokenLength },
          enforced: { split, temperature, topP: 1 },
          ...(trained !== undefined && { trained }),
          seed: random.between(0, 2 ** 31 - 1)
        }
      : { defaults: { maxTokens: maxTokenLength, temperature: 0 }, enforced: { split } }
  return [one(), ...Array.from({ length: count - 1 }, one)]
}
