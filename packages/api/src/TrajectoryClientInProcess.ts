/**
 * Provides the trajectory service in the same process: calls the store directly, without HTTP or serialisation except
 * for packing groups.
 */
import { Effect, Layer, Match, Option, Result, Stream } from "effect"
import {
  type Batch,
  type EnvironmentClient,
  PackedGroup,
  RunReader,
  ScoredGroup,
  type TrajectoryApiError,
  TrajectoryClient,
  TrajectoryError
} from "@atropos/core"
import * as EvaluationRecord from "@atropos/core/service/EvaluationRecord"
import * as LongPoll from "./claim/LongPoll.ts"
import * as Payloads from "./store/Payloads.ts"
import * as StatusChanges from "./store/StatusChanges.ts"
import type * as Store from "./store/TrajectoryStore.ts"
import { EvaluationStore, type UnknownEvaluation } from "./store/EvaluationStore.ts"
import { TrajectoryStore } from "./store/TrajectoryStore.ts"

export interface Options {
  /** Name of the run. Default: "default", the one the original's endpoints use. */
  readonly run?: string
}

type StoreFailure =
  | Store.StoreError
  | TrajectoryApiError.QueueFull
  | Store.UnknownRun
  | Store.UnknownEnvironment
  | TrajectoryApiError.LeaseLost
  | UnknownEvaluation

const rejected = (message: string, cause?: unknown) =>
  new TrajectoryError.TrajectoryError({ reason: "rejected", message, cause })

const failed = (reason: TrajectoryError.TrajectoryError["reason"], message: string, cause: StoreFailure) =>
  new TrajectoryError.TrajectoryError({ reason, message, cause })

const failure = Match.type<StoreFailure>().pipe(
  Match.tagsExhaustive({
    StoreError: (cause) => failed(cause.isTransient ? "unreachable" : "rejected", cause.message, cause),
    QueueFull: (cause) =>
      new TrajectoryError.TrajectoryError({
        reason: "overloaded",
        message: cause.message,
        retryAfterMillis: cause.retryAfterSeconds * 1000,
        cause
      }),
    UnknownRun: (cause) => failed("notFound", `run ${cause.run} is not registered`, cause),
    UnknownEnvironment: (cause) => failed("notFound", `run ${cause.run} has no environment ${cause.envId}`, cause),
    LeaseLost: (cause) => failed("leaseLost", cause.message, cause),
    UnknownEvaluation: (cause) => failed("notFound", `no evaluation ${cause.id}`, cause)
  })
)

const toSubmission = (
  envId: number,
  { group, key }: EnvironmentClient.KeyedGroup
): Effect.Effect<Store.Submission, TrajectoryError.TrajectoryError> => {
  const checked = PackedGroup.check({ ...group, envId })
  return Result.isFailure(checked)
    ? Effect.fail(rejected(`group ${key}: ${checked.failure.field}: ${checked.failure.message}`, checked.failure))
    : Effect.succeed({
        key,
        sequences: ScoredGroup.size(group),
        tokens: ScoredGroup.tokenCount(group),
        scores: Array.from(group.scores),
        envId,
        policyStep: Payloads.policyStep(group.policyVersions),
        ...(group.itemId !== undefined && { itemId: group.itemId }),
        hasMessages: (group.messages?.length ?? 0) > 0,
        payload: { format: "packed", bytes: PackedGroup.encode(checked.success) }
      })
}

const toBatch = (claimed: Store.ClaimedBatch): Effect.Effect<Batch.Batch> =>
  Effect.map(
    Effect.forEach(claimed.groups, ({ payload }) => Payloads.toScoredGroup(payload)),
    (groups) => ({ ...claimed, groups })
  )

const make = Effect.fnUntraced(function* (options: Options) {
  const store = yield* TrajectoryStore
  const run = options.run ?? "default"
  const evaluations = yield* Effect.serviceOption(EvaluationStore)

  /** In parts, as over HTTP, so that none occupies the database for long. */
  const recordEvaluation = Effect.fnUntraced(function* (evaluation: EvaluationRecord.EvaluationRecord) {
    if (Option.isNone(evaluations)) return
    const { record, recordSamples } = evaluations.value
    const { id } = yield* record(EvaluationRecord.specOf(evaluation, run))
    for (const { from, samples } of EvaluationRecord.parts(evaluation.samples)) yield* recordSamples(id, from, samples)
  })

  return {
    ...RunReader.ofRun(Effect.mapError(store.run(run), failure)),
    registerEnvironment: (spec) => Effect.mapError(store.registerEnvironment(run, spec), failure),
    disconnectEnvironment: (envId) => Effect.mapError(store.disconnectEnvironment(run, envId), failure),
    submit: Effect.fnUntraced(function* (envId, groups) {
      const submissions = yield* Effect.forEach(groups, (keyed) => toSubmission(envId, keyed))
      return submissions.length === 0 ? [] : yield* Effect.mapError(store.submit(run, submissions), failure)
    }),
    status: (envId) => Effect.mapError(store.status(run, envId), failure),
    statusChanges: (envId) => Stream.mapError(StatusChanges.ofEnvironment(store, run, envId), failure),
    begin: (envId, request) => Effect.mapError(store.begin(run, envId, request), failure),
    savedStates: {
      load: (environmentName) => Effect.mapError(store.loadState(run, environmentName), failure),
      save: (environmentName, state) => Effect.mapError(store.saveState(run, environmentName, state), failure)
    },
    registerRun: (spec) => Effect.asVoid(Effect.mapError(store.registerRun(spec), failure)),
    claim: (claim) =>
      store.start(run).pipe(
        Effect.andThen(LongPoll.claim(store, run, claim)),
        Effect.mapError(failure),
        Effect.flatMap(
          Option.match({
            onNone: () => Effect.succeedNone,
            onSome: (claimed) => Effect.asSome(toBatch(claimed))
          })
        )
      ),
    ack: (batch) => Effect.mapError(store.ack(batch), failure),
    nack: (batch) => Effect.mapError(store.nack(batch), failure),
    extend: (batch, lease) => Effect.mapError(store.extendLease(batch, lease), failure),
    trained: (batch, policyVersion) => Effect.mapError(store.trained({ ...batch, policyVersion }), failure),
    telemetry: Effect.succeedSome({
      recordMetrics: (metrics) => Effect.mapError(store.recordMetrics(run, metrics), failure),
      recordSettings: (settings) => Effect.mapError(store.recordSettings(run, settings), failure),
      recordPieces: (pieces) => Effect.mapError(store.recordPieces(run, pieces), failure),
      recordReport: (envId, report) => Effect.mapError(store.recordReport(run, envId, report), failure),
      recordEvaluation: (evaluation) => Effect.mapError(recordEvaluation(evaluation), failure),
      recordLogprobs: (batchId, logprobs) => Effect.mapError(store.recordLogprobs(run, batchId, logprobs), failure)
    })
  } satisfies TrajectoryClient.TrajectoryClient
})

export const layer = (options: Options = {}): Layer.Layer<TrajectoryClient.Clients, never, TrajectoryStore> =>
  TrajectoryClient.layer(make(options))
