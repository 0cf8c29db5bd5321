/** `atropos top`: shows a run of a running service in the terminal. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Services from "../config/Services.ts"
import * as Top from "../top/Top.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "top"

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(["once"]),
    command: Command.make(
      name,
      {
        apiUrl: Flag.String("api-url").pipe(
          Flag.withDescription("trajectory service [default: http://localhost:8000]"),
          Flag.withDefault("http://localhost:8000")
        ),
        run: Flag.String("run").pipe(
          Flag.withDescription("run to watch [default: the most recently active]"),
          Flag.optional
        ),
        once: Flag.Boolean("once").pipe(
          Flag.withDescription("print the state as one line and exit"),
          Flag.withDefault(false)
        )
      },
      ({ apiUrl, once, run }) =>
        Effect.gen(function* () {
          const token = yield* Config.option(Config.Redacted("ATROPOS_TOKEN"))
          yield* Top.run({
            url: apiUrl.replace(/(?<!\/)\/+$/, ""),
            run: Option.getOrUndefined(run),
            once,
            ...(Option.isSome(token) && { token: token.value })
          })
        }).pipe(Effect.provide(NodeHttpClient.layerUndici), Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        { command: "atropos top", description: "the service on this machine, until q or Ctrl-C" },
        {
          command: "atropos top --api-url http://trainer-node:8000 --run gsm8k-1",
          description: "a run of another machine's service (set ATROPOS_TOKEN to a token with the role reader)"
        }
      ])
    )
  })
