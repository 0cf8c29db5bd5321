/** Runs one environment, with the guarantees of `Rollout`. This file is the wiring: each part has its own module. */
import { Effect, Fiber, Latch, Option, Scope } from "effect"
import type { EnvironmentShape } from "../Environment.ts"
import * as LogThrottle from "../base/LogThrottle.ts"
import * as Concurrency from "./Concurrency.ts"
import * as Evaluations from "./Evaluations.ts"
import * as GroupSender from "./GroupSender.ts"
import { type Complete, failing, type Summary } from "./Options.ts"
import * as Outbox from "./Outbox.ts"
import * as Permits from "./Permits.ts"
import type { Failure, Task } from "./pool/Task.ts"
import * as WorkerPool from "./pool/WorkerPool.ts"
import type { Viewers } from "./submit/Viewers.ts"
import * as QueueView from "./QueueView.ts"
import * as Capacity from "./Capacity.ts"
import * as Session from "./Session.ts"
import * as Shutdown from "./Shutdown.ts"
import * as StepFigures from "./StepFigures.ts"
import * as TrainerStep from "./TrainerStep.ts"
import * as Heartbeat from "./Heartbeat.ts"

/**
 * Handles finished items: counts them, sends their groups, logs and shows failures, and writes dead letters for
 * abandoned ones. Each then reports progress, so that a restart repeats only unfinished items.
 */
const makeItemOutcomes = (
  { deadLetters, metrics, progress }: Session.Session,
  groups: GroupSender.GroupSender,
  viewers: Pick<Viewers, "failed">
): WorkerPool.Outcomes => {
  const reasons = LogThrottle.make()

  const onFailure = Effect.fnUntraced(function* (
    task: Task,
    { cause, kind, reason }: Failure,
    millis: number,
    isFinal: boolean
  ) {
    const { failures, index, work } = task
    metrics.item(kind, millis)
    const times = reasons.count(reason)
    if (LogThrottle.isWorthLogging(times)) {
      yield* Effect.logWarning("rollout failed", { item: work.label, kind, reason, attempt: failures, times })
    }
    yield* Effect.logDebug("cause of the failed rollout", cause)
    yield* viewers.failed(`${work.label}: ${reason}`)
    if (!isFinal) return
    metrics.item("given_up", millis)
    yield* deadLetters.item({ index, item: work.label, attempts: failures, reason })
    progress.end(task)
  })

  return {
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
    onFailure
  }
}

/** Min consecutive failures before rollouts slow down. */
const minFailuresBeforeSlowdown = 8

/** Runs an environment under a name until its steps or items are done, or until interrupted. */
export const run = Effect.fn("Runner.run")(
  function* (
    environment: EnvironmentShape,
    name: string,
    options: Complete,
    part: () => Concurrency.Part = () => Concurrency.whole
  ) {
    const session = yield* Session.open(environment, name, options)
    const { metrics, progress } = session
    const scope = yield* Effect.scope
    const workScope = yield* Scope.fork(scope)
    const { evaluations, outbox, permits, pool, queue, capacity, step } = yield* assemble(session, workScope, part)
    const load = { running: pool.running, unsent: outbox.submitter.unsent, finished: metrics.finished }
    const heartbeat = Heartbeat.make(session, outbox, load, step.now)

    if (options.evaluateAtStart && Option.isNone(progress.resumedFrom)) evaluations.request(step.now())
    const sending = yield* Effect.forkIn(outbox.submitter.run, scope)
    const attending = yield* Effect.all(
      [evaluations.run, heartbeat.run, step.follow, capacity.follow, queue.run, permits.run, outbox.viewers.run(load)],
      { concurrency: "unbounded", discard: true }
    ).pipe(Effect.forkIn(scope))
    const work = Effect.gen(function* () {
      const rollouts = Effect.annotateSpans(pool.run, "environment.name", name)
      yield* Effect.raceFirst(step.last, Effect.andThen(rollouts, outbox.submitter.flush))
      if (options.evaluateAtEnd) evaluations.request(step.now())
      yield* evaluations.idle
    })
    // None of the others ever ends: if one dies, the run fails visibly.
    const supervised = Effect.raceFirst(
      work,
      Effect.andThen(Effect.raceFirst(Fiber.join(sending), Fiber.join(attending)), Effect.never)
    )
    const shutdown = { session, pool, workScope, outbox, sending, heartbeat, load, step: step.now }
    yield* Effect.onExit(Effect.mapError(supervised, failing(name, "items")), (exit) => Shutdown.run(shutdown, exit))

    const summary: Summary = {
      environment: name,
      step: step.now(),
      evaluations: evaluations.finished(),
      ...metrics.totals()
    }
    yield* Effect.logInfo("environment finished", summary)
    return summary
  },
  (effect, _environment, name) => Effect.annotateLogs(Effect.scoped(effect), { environment: name })
)

/** Builds the parts of a run, each from the previous ones. `news` signals the pool that there may be capacity. */
const assemble = Effect.fnUntraced(function* (
  session: Session.Session,
  workScope: Scope.Scope,
  part: () => Concurrency.Part
) {
  const { batchSize, client, connection, environment, options, progress, servers, settings, totalSteps } = session
  const news = Latch.makeUnsafe(false)
  const onChange = (): void => void news.openUnsafe()

  const queue = QueueView.make({
    ask: Effect.suspend(() => client.status(connection.registration().envId)),
    onAsked: onChange
  })
  const permits = Permits.make({
    registered: () => connection.registration().envId,
    // Rollouts started with these permits must not sample from weights older than the permit names.
    ask: (request) =>
      Effect.flatMap(
        Effect.suspend(() => client.begin(connection.registration().envId, request)),
        ({ granted, policyVersion }) => Effect.as(granted > 0 ? servers.refresh(policyVersion) : Effect.void, granted)
      ),
    onGranted: onChange
  })
  const outbox = yield* Outbox.make(session, queue, onChange)
  const { spans, submitter, viewers } = outbox
  const evaluations = yield* Evaluations.make({
    environment,
    sequenceLimit: connection.maxTokenLength,
    record: session.recorder.figures,
    telemetry: session.telemetry,
    registeredName: () => connection.registration().name,
    onChange
  })
  const step = yield* TrainerStep.make(session, {
    queue,
    permits,
    submitter,
    evaluations,
    record: (step) => StepFigures.record(session, step),
    onChange
  })
  const capacity = Capacity.make({
    settings,
    serverCount: servers.serverCount,
    onPolicy: options.onPolicy,
    part,
    batchSize,
    totalSteps,
    queue,
    permits,
    submitter,
    isEvaluating: evaluations.isRunning,
    hasOddGroups: progress.hasOddGroups,
    onChange
  })
  const groups = GroupSender.make({ ...session, submitter, viewers, spans, step: step.now })
  const workers = Concurrency.maximumWorkers(settings, servers.serverCount)
  const pool = WorkerPool.make(
    {
      items: environment.work,
      from: progress.frontier,
      requeued: progress.restored,
      isDone: progress.isDone,
      capacity: capacity.left,
      onBegin: permits.begun,
      news,
      timeoutSeconds: settings.workerTimeout,
      sequenceLimit: connection.maxTokenLength,
      progress: () => ({ step: step.now(), totalSteps }),
      maxAttempts: options.maxItemAttempts,
      failuresBeforeSlowdown: Math.max(minFailuresBeforeSlowdown, workers),
      outcomes: makeItemOutcomes(session, groups, viewers)
    },
    workScope
  )
  return { queue, outbox, evaluations, step, capacity, permits, pool }
})
