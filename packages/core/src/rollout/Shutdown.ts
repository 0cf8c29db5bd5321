/**
 * Shuts a run down, for any reason: rollouts in progress may finish, groups are sent or spooled, state and metrics are
 * saved, and the service is notified. Each part has a time limit, so that an unavailable service blocks nothing.
 */
import { type Duration, Effect, Exit, Fiber, Scope } from "effect"
import * as Reason from "../base/Reason.ts"
import * as Waiting from "../base/Waiting.ts"
import type { Outbox } from "./Outbox.ts"
import type { Pool } from "./pool/WorkerPool.ts"
import type { Session } from "./Session.ts"
import * as StepFigures from "./StepFigures.ts"
import type { Load } from "./submit/Reports.ts"
import type { Heartbeat } from "./Heartbeat.ts"

const requestTimeout: Duration.Input = "5 seconds"

export interface Parts {
  readonly session: Session
  readonly pool: Pool
  readonly workScope: Scope.Closeable
  readonly outbox: Outbox
  readonly sending: Fiber.Fiber<never>
  readonly heartbeat: Heartbeat
  readonly load: Load
  readonly step: () => number
}

export const run = Effect.fnUntraced(function* (parts: Parts, exit: Exit.Exit<unknown, unknown>) {
  const { load, outbox, pool, sending, session, step, heartbeat, workScope } = parts
  const { client, connection, options, recorder } = session
  const { spans, submitter, viewers } = outbox
  pool.stop()
  // After the last step, rollouts in progress are useless; in all other cases they are worth finishing.
  if (Exit.isFailure(exit)) yield* Waiting.within(pool.drained, options.stopWithin)
  yield* Scope.close(workScope, Exit.void)
  yield* Waiting.within(submitter.flush, requestTimeout)
  yield* Fiber.interrupt(sending)
  yield* spans.endAll
  const left = yield* submitter.persist
  if (left > 0)
    yield* Effect.logError("groups could not be spooled; their items will be rolled out again", { groups: left })
  yield* Waiting.within(heartbeat.save, requestTimeout)
  yield* Waiting.within(
    Effect.suspend(() => StepFigures.record(session, step())),
    requestTimeout
  )
  yield* recorder.finish(exit)
  yield* Waiting.within(viewers.farewell(load), requestTimeout)
  yield* heartbeat.publish
  const parted = yield* Waiting.within(client.disconnectEnvironment(connection.registration().envId), requestTimeout)
  if (Exit.isFailure(parted)) {
    yield* Effect.logWarning("could not deregister from the service", { reason: Reason.ofCause(parted.cause) })
  }
})
