/**
 * Runs one environment; the guarantees are those of `Rollout`. This file is the wiring: each part has its own module.
 */
import { Context, Deferred, Effect, Exit, Fiber, FileSystem, Option, Path, Scope } from "effect"
import type { EnvironmentShape } from "../Environment.ts"
import * as FolderLock from "../base/FolderLock.ts"
import * as MetricsSink from "../metrics/MetricsSink.ts"
import { ServerManager } from "../inference/ServerManager.ts"
import { Tokenizer } from "../inference/tokenizer/Tokenizer.ts"
import { EnvironmentClient } from "../service/EnvironmentClient.ts"
import { TelemetryClient } from "../service/TelemetryClient.ts"
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import * as Retry from "../base/Retry.ts"
import * as Concurrency from "./Concurrency.ts"
import * as Connection from "./submit/Connection.ts"
import * as DeadLetters from "./submit/DeadLetters.ts"
import * as Evaluations from "./Evaluations.ts"
import * as EvaluationSchedule from "./EvaluationSchedule.ts"
import * as Occurrences from "./Occurrences.ts"
import { checkSettings, type Complete, RolloutError, type Summary } from "./Options.ts"
import * as Reason from "../base/Reason.ts"
import * as GroupSender from "./GroupSender.ts"
import * as Progress from "./Progress.ts"
import * as QueueView from "./QueueView.ts"
import * as RolloutMetrics from "./RolloutMetrics.ts"
import * as RolloutTable from "./RolloutTable.ts"
import * as Room from "./Room.ts"
import * as SavedGroups from "./submit/SavedGroups.ts"
import * as Submitter from "./submit/Submitter.ts"
import * as StatusFollower from "./submit/StatusFollower.ts"
import * as SubmitSpans from "./submit/SubmitSpans.ts"
import * as Viewers from "./submit/Viewers.ts"
import * as Waiting from "../base/Waiting.ts"
import * as WorkerPool from "./WorkerPool.ts"

/** The share of the inference servers this program may use: the sum of its environments' shares. */
export class Weights extends Context.Service<
  Weights,
  { readonly set: (name: string, weight: number) => Effect.Effect<void> }
>()("@atropos/core/rollout/Runner/Weights") {}

const saveInterval = "1 second"
/** For each of the last requests when the program stops. */
const farewellTimeout = "5 seconds"
/** Fewest failures in a row that slow rollouts down. */
const minFailuresBeforeSlowdown = 8

/** Runs an environment under a name until its steps or its items are through, or until interrupted. */
export const run = Effect.fn("Runner.run")(
  function* (
    environment: EnvironmentShape,
    name: string,
    options: Complete,
    part: () => Concurrency.Part = () => Concurrency.whole
  ) {
    const client = yield* EnvironmentClient
    const telemetry = yield* TelemetryClient
    const servers = yield* ServerManager
    const weights = yield* Weights
    const path = yield* Path.Path
    const tokenizer = yield* Effect.serviceOption(Tokenizer)
    const { settings } = environment
    const failing = (reason: RolloutError["reason"]) => (cause: Error) =>
      new RolloutError({ environment: name, reason, message: cause.message, cause })

    const connection = yield* Connection.make(client, {
      desiredName: name,
      weight: settings.inferenceWeight,
      groupSize: settings.groupSize,
      maxTokenLength: settings.maxTokenLength,
      minBatchAllocation: settings.minBatchAllocation
    }).pipe(Effect.mapError(failing("service")))
    const { name: registeredName, numSteps, startingStep } = connection.registration()
    // Read anew each time: who registers again may find another run.
    const batchSize = (): number => (connection.batchSize() > 0 ? connection.batchSize() : settings.batchSize)
    const totalSteps = settings.totalSteps === -1 ? numSteps : settings.totalSteps
    yield* checkSettings(name, settings.groupSize, batchSize(), totalSteps)
    const longest = connection.maxTokenLength()
    if (longest > 0 && longest <= settings.maxTokenLength) {
      yield* Effect.logInfo("generations end where prompt and answer fill the trainer's sequence", {
        seq_len: longest,
        max_token_length: settings.maxTokenLength
      })
    }
    yield* Effect.logInfo("environment registered", {
      name: registeredName,
      batchSize: batchSize(),
      step: startingStep
    })

    const folder = path.join(options.spoolDirectory, name.replaceAll(/[^\w.-]/g, "_"))
    yield* holdState(folder).pipe(
      Effect.mapError((cause) =>
        cause._tag === "FolderLockError" && cause.isHeld
          ? new RolloutError({ environment: name, reason: "state", message: `${cause.message}: ${otherPlace}`, cause })
          : failing("state")(cause)
      )
    )
    const progress = yield* Progress.open({
      client,
      environment,
      name,
      folder,
      spoolMaxBytes: options.spoolMaxBytes,
      currentStep: startingStep
    }).pipe(Effect.mapError(failing("state")))
    const { resumedFrom, spool } = progress
    const deadLetters = yield* DeadLetters.make(path.join(folder, "dead-letters.jsonl"))
    const savedGroups =
      settings.dataPathToSaveGroups === null
        ? undefined
        : yield* SavedGroups.open(settings.dataPathToSaveGroups).pipe(Effect.mapError(failing("state")))
    const metrics = RolloutMetrics.make(name)
    const recorder = yield* Effect.flatMap(MetricsSink.orService(telemetry), ({ open }) =>
      open({
        kind: "environment",
        name: registeredName,
        key: name,
        isResumed: Option.isSome(resumedFrom),
        prefix: `${registeredName}_`,
        config: { ...environment.encodedSettings, model_name: servers.modelName },
        announced: Effect.orElseSucceed(client.wandbInfo, () => ({ group: null, project: null }))
      })
    )
    const table = RolloutTable.of(settings, recorder, tokenizer)

    const scope = yield* Effect.scope
    const workScope = yield* Scope.fork(scope)
    const finished = yield* Deferred.make<void>()
    let step = Option.getOrElse(resumedFrom, () => startingStep)
    let duplicatesInARow = 0
    const queue = QueueView.make({
      ask: Effect.suspend(() => client.status(connection.registration().envId)),
      onAsked: () => pool.wake()
    })

    const reconnect = (envId: number): Effect.Effect<void> =>
      connection
        .reconnect(envId)
        .pipe(
          Effect.catch((error) =>
            Effect.andThen(
              Effect.logError("cannot register again; trying later", { reason: error.message }),
              Effect.flatMap(Retry.backoffMillis(5), Effect.sleep)
            )
          )
        )

    const spans = yield* SubmitSpans.make
    const viewers = yield* Viewers.make({
      client: telemetry,
      connection,
      servers,
      tokenizer: servers.tokenizer ?? Option.getOrUndefined(tokenizer),
      running: () => pool.running(),
      unsent: () => submitter.unsent(),
      finished: metrics.finished
    })
    const submitter = Submitter.make({
      spool,
      maxGroupsInMemory: options.maxGroupsInMemory,
      submit: (groups) =>
        Effect.andThen(
          viewers.prepare(groups),
          spans.around(
            groups,
            Effect.suspend(() => client.submit(connection.registration().envId, groups))
          )
        ),
      reconnect: Effect.suspend(() => reconnect(connection.registration().envId)),
      onProgress: () => pool.wake(),
      isOnlyUnsent: (index, unsent) => progress.holds(index) <= unsent,
      onDelivered: ({ index, key }, outcome) => {
        spans.end(key, outcome.status)
        queue.answered()
        duplicatesInARow = outcome.status === "duplicate" ? duplicatesInARow + 1 : 0
        metrics.delivered(outcome.status === "duplicate")
        progress.answered({ index, key })
      },
      onRejected: Effect.fnUntraced(function* (delivery, reason) {
        spans.end(delivery.key, "rejected")
        metrics.dropped("rejected_by_service")
        yield* Effect.logError("group rejected by the service", { index: delivery.index, key: delivery.key, reason })
        yield* viewers.failed(`group rejected by the service: ${reason}`)
        yield* deadLetters.group(delivery, reason)
        progress.answered(delivery)
      })
    })

    const evaluations = yield* Evaluations.make({
      environment,
      sequenceLimit: connection.maxTokenLength,
      record: recorder.figures,
      onChange: () => pool.wake()
    })

    const room = Room.make({
      settings,
      serverCount: servers.serverCount,
      onPolicy: options.onPolicy,
      part,
      batchSize,
      totalSteps,
      queue,
      submitter,
      isEvaluating: evaluations.isRunning,
      onChange: () => pool.wake()
    })

    const groups = GroupSender.make({
      settings,
      connection,
      tokenizer,
      progress,
      submitter,
      viewers,
      spans,
      metrics,
      table,
      savedGroups,
      step: () => step
    })

    const reasonsSeen = Occurrences.make()
    const pool = WorkerPool.make(
      {
        items: environment.work,
        from: progress.frontier,
        requeued: progress.restored,
        isDone: progress.isDone,
        room: room.left,
        timeoutSeconds: settings.workerTimeout,
        sequenceLimit: connection.maxTokenLength,
        maxAttempts: options.maxItemAttempts,
        failuresBeforeSlowdown: Math.max(
          minFailuresBeforeSlowdown,
          Concurrency.maximumWorkers(settings, servers.serverCount)
        ),
        onStart: progress.begin,
        onDone: (task, rolledOut, millis) => {
          metrics.item("succeeded", millis)
          return groups.send(task, rolledOut)
        },
        onUnscorable: (task, error, millis) => {
          metrics.item("unscorable", millis)
          progress.end(task)
          return groups.skip(task.work.label, error)
        },
        onFailure: Effect.fnUntraced(function* (task, { cause, kind, reason }, millis, isFinal) {
          const { failures, index, work } = task
          metrics.item(kind, millis)
          const times = reasonsSeen.count(reason)
          if (Occurrences.isTold(times)) {
            yield* Effect.logWarning("rollout failed", { item: work.label, kind, reason, attempt: failures, times })
          }
          yield* Effect.logDebug("rollout failed because of", cause)
          yield* viewers.failed(`${work.label}: ${reason}`)
          if (!isFinal) return
          metrics.item("given_up", millis)
          yield* deadLetters.item({ index, item: work.label, attempts: failures, reason })
          progress.end(task)
        })
      },
      workScope
    )

    const recordRollouts = Effect.fnUntraced(function* (atStep: number) {
      const least = settings.minItemsSentBeforeLogging
      if (least > 0 && metrics.sentSinceTaken() < least) return
      const own = yield* environment.metrics
      const figures = { ...metrics.take(), ...own, ...RolloutMetrics.serverFigures(yield* servers.metrics) }
      yield* Effect.logInfo("rollouts", { step: atStep, ...figures })
      yield* recorder.figures(atStep, figures)
      const rollouts = yield* table.take
      if (Option.isSome(rollouts)) yield* recorder.table(atStep, rollouts.value)
    })

    const onStatus = Effect.fnUntraced(function* (next: EnvironmentStatus) {
      const previous = step
      queue.pushed(next, submitter.isSending())
      step = next.currentStep
      yield* weights.set(name, next.envWeight)
      if (step > previous) {
        // In a fiber of its own: a slow answer must not keep the next status waiting.
        yield* Effect.forkIn(recordRollouts(step), scope)
        if (EvaluationSchedule.isDue(previous, step, settings.stepsPerEval)) evaluations.request(step)
      }
      if (step >= totalSteps) yield* Deferred.succeed(finished, undefined)
      pool.wake()
    })

    const saveIfChanged = progress.saver(() => step)
    const publish = Effect.suspend(() => metrics.publish({ running: pool.running(), unsent: submitter.unsent() }))
    const keepSaving = Effect.gen(function* () {
      for (;;) {
        yield* Effect.sleep(saveInterval)
        yield* saveIfChanged
        yield* publish
        if (duplicatesInARow >= manyDuplicates) {
          duplicatesInARow = 0
          yield* Effect.logWarning(
            "the service has these groups already: does another process run under the same name? Give each its own wandb_name",
            { name }
          )
        }
      }
    })

    const stop = Effect.fnUntraced(function* (exit: Exit.Exit<unknown, unknown>) {
      pool.stop()
      // After the last step nobody wants what is under way; in all other cases it is paid for.
      if (Exit.isFailure(exit)) yield* Waiting.within(pool.drained, options.stopWithin)
      yield* Scope.close(workScope, Exit.void)
      yield* Waiting.within(submitter.flush, farewellTimeout)
      yield* Fiber.interrupt(sending)
      yield* spans.endAll
      const left = yield* submitter.persist
      if (left > 0)
        yield* Effect.logError("groups could not be kept; their items are rolled out again", { groups: left })
      yield* Waiting.within(saveIfChanged, farewellTimeout)
      yield* Waiting.within(recordRollouts(step), farewellTimeout)
      yield* recorder.finish(exit)
      yield* Waiting.within(viewers.farewell, farewellTimeout)
      yield* publish
      const farewell = client.disconnectEnvironment(connection.registration().envId)
      const parted = yield* Waiting.within(farewell, farewellTimeout)
      if (Exit.isFailure(parted)) {
        yield* Effect.logWarning("not disconnected from the service", { reason: Reason.ofCause(parted.cause) })
      }
    })

    const followStatus = StatusFollower.run({ client, connection, reconnect, onStatus })
    if (options.evaluateAtStart && Option.isNone(resumedFrom)) evaluations.request(step)
    const sending = yield* Effect.forkIn(submitter.run, scope)
    const attending = yield* Effect.all(
      [evaluations.run, keepSaving, followStatus, room.follow, queue.run, viewers.run],
      {
        concurrency: "unbounded",
        discard: true
      }
    ).pipe(Effect.forkIn(scope))
    const work = Effect.gen(function* () {
      const rollouts = Effect.annotateSpans(pool.run, "environment.name", name)
      yield* Effect.raceFirst(Deferred.await(finished), Effect.andThen(rollouts, submitter.flush))
      if (options.evaluateAtEnd) evaluations.request(step)
      yield* evaluations.idle
    })
    // None of the others ever ends: if one dies, so does the run, and not in silence.
    const supervised = Effect.raceFirst(
      work,
      Effect.andThen(Effect.raceFirst(Fiber.join(sending), Fiber.join(attending)), Effect.never)
    )
    yield* Effect.onExit(Effect.mapError(supervised, failing("items")), stop)

    const summary: Summary = { environment: name, step, evaluations: evaluations.finished(), ...metrics.totals() }
    yield* Effect.logInfo("environment finished", summary)
    return summary
  },
  (effect, _environment, name) => Effect.annotateLogs(Effect.scoped(effect), { environment: name })
)

/**
 * Two processes on one spool would each take the other's groups for those of a dead one, and roll the same items out.
 */
const holdState = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(folder, { recursive: true })
  yield* FolderLock.hold(folder)
})

const otherPlace = "stop that environment, or give this one its own wandb_name (--env.wandb_name) or spool (--spool)"

/** So many groups that the service knew already are more than a crash leaves behind. */
const manyDuplicates = 32
