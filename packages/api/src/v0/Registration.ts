/**
 * Implements the original's endpoints for registering trainers and environments, and for reading the run's information.
 */
import { WireForm } from "@atropos/core"
import { Effect, Option, Random } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Reply from "../http/Reply.ts"
import { type TrajectoryStoreShape, UnknownRun } from "../store/TrajectoryStore.ts"
import * as EnvironmentIds from "./EnvironmentIds.ts"
import { form } from "./Reading.ts"

type Request = HttpServerRequest.HttpServerRequest

const success = Reply.json({ status: "success" })
const failure = (error: string) => Reply.json({ status: "failure", error })

export const make = (store: TrajectoryStoreShape, run: string) => {
  const registered = Effect.map(store.run(run), (stored) => Option.filter(stored, (one) => one.registered))

  const register = (request: Request) =>
    form(request, WireForm.registration).pipe(
      Effect.flatMap((spec) => store.registerRun({ ...spec, name: run })),
      // The original returns 128 random bits; these fit a JSON number in every language.
      Effect.andThen(Random.nextIntBetween(1, Number.MAX_SAFE_INTEGER)),
      Effect.map((uuid) => Reply.json({ uuid }))
    )

  const registerEnvironment = (request: Request) =>
    form(request, WireForm.environment).pipe(
      Effect.flatMap((spec) => store.registerEnvironment(run, spec)),
      Effect.map(
        Option.match({
          onNone: () => Reply.json({ status: "wait for trainer to start" }),
          onSome: (registration) =>
            Reply.json({
              status: "success",
              env_id: registration.envId,
              wandb_name: registration.name,
              checkpoint_dir: registration.checkpointDir,
              starting_step: registration.startingStep,
              checkpoint_interval: registration.checkpointInterval,
              num_steps: registration.numSteps
            })
        })
      )
    )

  const disconnectEnvironment = (request: Request) =>
    form(request, WireForm.environmentId).pipe(
      Effect.flatMap((id) =>
        registered.pipe(
          Effect.filterOrFail(Option.isSome, () => new UnknownRun({ run })),
          Effect.andThen(EnvironmentIds.resolve(store, run, id)),
          Effect.flatMap((envId) => store.disconnectEnvironment(run, envId))
        )
      ),
      Effect.as(success),
      // The original returns its exceptions' messages.
      Effect.catchTags({
        UnknownEnvironment: () => Effect.succeed(failure("list index out of range")),
        UnknownRun: () => Effect.succeed(failure("'State' object has no attribute 'envs'"))
      })
    )

  const wandbInfo = Effect.map(registered, (stored) =>
    Reply.json({
      group: Option.getOrNull(Option.map(stored, ({ wandbGroup }) => wandbGroup)),
      project: Option.getOrNull(Option.map(stored, ({ wandbProject }) => wandbProject))
    })
  )

  const info = Effect.map(
    registered,
    Option.match({
      onNone: () => Reply.json({ batch_size: -1, max_token_len: -1 }),
      onSome: ({ batchSize, maxTokenLength }) => Reply.json({ batch_size: batchSize, max_token_len: maxTokenLength })
    })
  )

  return { register, registerEnvironment, disconnectEnvironment, wandbInfo, info }
}
