/**
 * `atropos serve --env …`: runs an environment against a trajectory service, ours or the original's, until its steps
 * are done.
 */
import { Environment, Rollout, TrajectoryClientHttp, TrajectoryError } from "@atropos/core"
import { Config, Console, Effect, Layer, Option } from "effect"
import { Flag } from "effect/cli"
import * as Metrics from "../config/Metrics.ts"
import * as OtherEnvironment from "../config/OtherEnvironment.ts"
import * as Services from "../config/Services.ts"
import { CommandFailed } from "../base/Failure.ts"
import * as NoSignal from "../job/NoSignal.ts"
import * as Summary from "../job/Summary.ts"
import * as EnvironmentCommand from "./EnvironmentCommand.ts"

const isUnauthorized = ({ cause }: Rollout.RolloutError): boolean =>
  cause instanceof TrajectoryError.TrajectoryError && cause.reason === "unauthorized"

export const make = EnvironmentCommand.make({
  name: "serve",
  own: {
    run: Flag.String("run").pipe(
      Flag.withDescription("run of the service [default: default, which the original's trainers use]"),
      Flag.withDefault("default")
    ),
    spool: Flag.String("spool").pipe(
      Flag.withDescription("folder that keeps groups while the service is unreachable [default: .atropos/spool]"),
      Flag.withDefault(".atropos/spool")
    )
  },
  examples: [
    {
      command: "atropos serve --env gsm8k --openai.base_url http://localhost:9001/v1 --openai.model_name my-model",
      description: "send to the service at http://localhost:8000; waits for it and its trainer"
    }
  ],
  handle: (settings, { run, spool }, metrics) =>
    Effect.gen(function* () {
      const environment = yield* Environment.Environment
      const token = yield* Config.option(Config.Redacted("ATROPOS_TOKEN"))
      const client = TrajectoryClientHttp.layer({
        url: settings.common.rolloutServerUrl,
        run,
        ...(Option.isSome(token) && { token: token.value })
      })
      yield* Effect.forkChild(
        OtherEnvironment.watch({
          url: settings.common.rolloutServerUrl,
          run,
          token,
          name: settings.common.wandbName ?? environment.name
        })
      )
      const sinks = Metrics.layer(metrics, {
        folder: `.atropos/metrics/${run}`,
        useWandb: { value: settings.common.useWandb, isGiven: "use_wandb" in settings.input }
      })
      const summary = yield* Rollout.run(environment, { spoolDirectory: spool }).pipe(
        Effect.catchIf(isUnauthorized, ({ message }) =>
          Effect.fail(
            new CommandFailed({
              message: `${message}. Set ATROPOS_TOKEN to a token with the role environment`
            })
          )
        ),
        Effect.provide(Layer.provideMerge(sinks, client))
      )
      yield* Console.log(Summary.print(Summary.ofServing(summary)))
      const noSignal = NoSignal.ofServing(summary, environment.encodedSettings)
      if (noSignal !== undefined) yield* Console.error(noSignal)
    }).pipe(Services.provide(settings), Metrics.traced(metrics, "atropos-serve"))
})
