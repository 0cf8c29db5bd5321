/** Rolls out an environment directly, as `process` does, until there are enough rows. */
import { Environment, ServerManager } from "@atropos/core"
import * as Concurrency from "@atropos/core/rollout/Concurrency"
import * as Cursor from "@atropos/core/rollout/state/Cursor"
import { Deferred, Effect, Option, Schema } from "effect"
import * as Services from "../../config/Services.ts"
import { CommandFailed } from "../../base/Failure.ts"
import * as Job from "../../job/Job.ts"
import * as Tally from "../../job/Tally.ts"
import * as Process from "../../process/Process.ts"
import * as Rolls from "../../process/Rolls.ts"
import type { Source } from "./Source.ts"

const Place = Schema.Struct({ cursor: Cursor.Saved, tally: Tally.Tally })

const decodePlace = Schema.decodeUnknownOption(Place)

/** Uses the environment in the context; `total_steps` is the max number of items. */
export const make = Effect.fn("Rollouts.make")(function* (out: string) {
  const environment = yield* Environment.Environment
  const servers = yield* ServerManager.ServerManager
  const { settings } = environment
  const rolls = yield* Rolls.make
  return {
    name: `environment ${environment.name} with the model ${servers.modelName}`,
    identity: yield* Process.madeBy(environment, servers.modelName),
    checkpointEvery: 0,
    run: Effect.fn("Rollouts.run")(function* (sink, from) {
      const enough = yield* Deferred.make<void>()
      const job = Job.run({
        items: environment.work,
        label: ({ label }) => label,
        roll: (work) => Effect.map(rolls(work), ({ groups, ...rolled }) => ({ ...rolled, lines: groups })),
        workers: Math.max(1, Concurrency.maximumWorkers(settings, servers.serverCount)),
        timeoutSeconds: settings.workerTimeout,
        target: settings.totalSteps < 0 ? undefined : settings.totalSteps,
        file: {
          path: out,
          append: (groups, place) =>
            Effect.flatMap(sink.take(groups, place), (wantsMore) =>
              wantsMore ? Effect.void : Deferred.succeed(enough, undefined)
            )
        },
        from: Option.flatMap(from, decodePlace),
        onProgress: () => Effect.void,
        isFruitful: ({ kept }) => kept > 0
      }).pipe(
        Effect.flatMap(({ nothing }) =>
          nothing === undefined ? Effect.void : Effect.fail(new CommandFailed({ message: nothing }))
        )
      )
      // Rollouts in progress are abandoned once there are enough rows.
      yield* Effect.raceFirst(job, Deferred.await(enough))
    }, Effect.mapError(Services.toFailure))
  } satisfies Source
})
