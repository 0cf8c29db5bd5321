/** Implements the original's endpoints for the queue status. */
import { WireForm } from "@atropos/core"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Reply from "../http/Reply.ts"
import type { TrajectoryStoreShape } from "../store/TrajectoryStore.ts"
import * as EnvironmentIds from "./EnvironmentIds.ts"
import { form } from "./Reading.ts"

type Request = HttpServerRequest.HttpServerRequest

export const make = (store: TrajectoryStoreShape, run: string) => {
  const status = Effect.map(store.summary(run), ({ currentStep, queuedGroups }) =>
    Reply.json({ current_step: currentStep, queue_size: queuedGroups })
  )

  /** The id is in the body of the GET, as the original's environments send it, or in `?env_id=`. */
  const statusEnvironment = (request: Request) => {
    const query = /[?&]env_id=(-?\d+)(?:&|$)/.exec(request.url)?.[1]
    const requestedId = query === undefined ? form(request, WireForm.environmentId) : Effect.succeed(Number(query))
    return Effect.flatMap(requestedId, (id) =>
      Effect.flatMap(EnvironmentIds.resolve(store, run, id), (envId) => store.status(run, envId)).pipe(
        Effect.map((answer) =>
          Reply.json({
            current_step: answer.currentStep,
            queue_size: answer.queueSize,
            unallocated_fraction: answer.unallocatedFraction,
            self_queue_size: answer.selfQueueSize,
            max_group_size: answer.maxGroupSize,
            env_weight: answer.envWeight
          })
        ),
        Effect.catchTag("UnknownEnvironment", () =>
          Effect.succeed(Reply.detail(404, `no environment with id ${id}: register one with POST /register-env`))
        )
      )
    )
  }

  return { status, statusEnvironment }
}
