/** `atropos doctor`: checks this machine and advises on problems; exits with 1 if something required is broken. */
import { ServerSettings } from "@atropos/core"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Flags from "../config/Flags.ts"
import * as Services from "../config/Services.ts"
import * as Devices from "../doctor/Devices.ts"
import type { Finding } from "../doctor/Finding.ts"
import * as Machine from "../doctor/Machine.ts"
import * as Network from "../doctor/Network.ts"
import * as Sandboxes from "../doctor/Sandboxes.ts"
import * as Torch from "../doctor/Torch.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import { Secrets } from "../base/Secrets.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "doctor"

const show = ({ advice, check, found, status }: Finding): string => {
  const mark = status === "ok" ? "ok    " : status === "note" ? "note  " : "BROKEN"
  return `${mark}  ${check}: ${found}${advice === undefined ? "" : `\n          ${advice}`}`
}

export const make: MakeCommand = () =>
  Effect.sync(() => {
    const openai = Flags.fromFields("openai.", ServerSettings.serverFields)
    const command = Command.make(
      name,
      {
        port: Flags.port("port that the service will use"),
        openai: openai.flags
      },
      (input) =>
        Effect.gen(function* () {
          const server = yield* ServerSettings.server
            .decode(Flags.provided(input.openai))
            .pipe(Effect.mapError(({ message }) => new UsageError({ message: `--openai: ${message}` })))
          if (server.apiKey) (yield* Secrets).add(server.apiKey)
          const findings = (yield* Effect.all(
            [
              Machine.node,
              Machine.libraries,
              Devices.devices,
              Torch.torch,
              Network.database,
              Network.port(input.port),
              Network.inference(server),
              Sandboxes.sandboxes,
              Machine.huggingFace,
              Machine.git,
              Machine.disk
            ],
            { concurrency: "unbounded" }
          )).flat()
          for (const finding of findings) yield* Console.log(show(finding))
          const broken = findings.filter(({ status }) => status === "broken")
          if (broken.length > 0) {
            return yield* new CommandFailed({
              message: `${broken.length} of ${findings.length} checks failed`
            })
          }
        }).pipe(Effect.provide(NodeHttpClient.layerUndici), Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        {
          command: "atropos doctor --openai.base_url http://localhost:9001/v1",
          description: "also check an inference server"
        }
      ])
    )
    return { command, booleans: new Set(openai.booleans) }
  })
