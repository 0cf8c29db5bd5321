/** Waits until a container is ready for the agent, by the task's own check (`environment.healthcheck`). */
import { Clock, Effect } from "effect"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import type { Box } from "./Box.ts"
import { HarborError } from "./HarborError.ts"
import type { Task } from "./Task.ts"

/** Failures in the start period do not count; after it, a number of consecutive ones is an error. */
export const passed = Effect.fn("Healthcheck.passed")(function* <E extends HarborError | ProgramError>(
  { machine: { healthcheck }, name }: Task,
  run: (one: Parameters<Box["run"]>[0]) => Effect.Effect<Effect.Success<ReturnType<Box["run"]>>, E>
): Effect.fn.Return<void, E | HarborError> {
  if (healthcheck === undefined) return
  const {
    command,
    interval_sec = 5,
    retries = 3,
    start_interval_sec = 5,
    start_period_sec = 0,
    timeout_sec = 30
  } = healthcheck
  const started = yield* Clock.currentTimeMillis
  for (let failures = 0; ;) {
    const { complaint, ending } = yield* run({ script: command, seconds: timeout_sec })
    if (ending?._tag === "Exited" && ending.code === 0) return
    const isStarting = (yield* Clock.currentTimeMillis) - started < start_period_sec * 1000
    if (!isStarting && ++failures >= retries) {
      return yield* new HarborError({
        message: `the container of the task ${name} is not ready: environment.healthcheck failed ${failures} times${complaint === "" ? "" : `: ${complaint.slice(-500)}`}`
      })
    }
    yield* Effect.sleep((isStarting ? start_interval_sec : interval_sec) * 1000)
  }
})
