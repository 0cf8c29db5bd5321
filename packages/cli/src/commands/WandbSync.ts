/**
 * `atropos wandb-sync FOLDER …`: uploads Weights & Biases runs that were recorded offline or not accepted by the server
 * in time.
 */
import type * as WandbSync from "@atropos/core/metrics/wandb/WandbSync"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Console, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "wandb-sync"

const printOutcome = ({ folder, name, outcome }: WandbSync.Synced) =>
  "url" in outcome
    ? Console.log(`${name}: ${outcome.rows} rows at ${outcome.url}`)
    : Console.error(`${name} (${folder}): ${outcome.failure}`)

export const make: MakeCommand = () =>
  Effect.succeed({
    command: Command.make(
      name,
      {
        folders: Argument.String("folder").pipe(
          Argument.withDescription("folder of a run, or of several, for example a run's metrics folder"),
          Argument.variadic({ min: 1 })
        )
      },
      ({ folders }) =>
        Effect.gen(function* () {
          const server = yield* Metrics.wandbServer
          if (Option.isNone(server)) {
            return yield* new UsageError({ message: "wandb-sync needs an API key in WANDB_API_KEY" })
          }
          const { run } = yield* Effect.promise(() => import("@atropos/core/metrics/wandb/WandbSync"))
          const synced = (yield* Effect.forEach(folders, (folder) => run(folder, server.value, printOutcome))).flat()
          const failures = synced.filter(({ outcome }) => "failure" in outcome).length
          if (failures > 0) {
            return yield* new CommandFailed({ message: `${failures} of ${synced.length} runs were not uploaded` })
          }
          if (synced.length === 0) {
            return yield* new UsageError({ message: `no Weights & Biases runs in ${folders.join(", ")}` })
          }
        }).pipe(Effect.provide(NodeHttpClient.layerUndici), Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        { command: "WANDB_API_KEY=… atropos wandb-sync .atropos/metrics", description: "all runs in that folder" }
      ])
    )
  })
