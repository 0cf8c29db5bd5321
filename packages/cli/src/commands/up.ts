/** `atropos up` (and `npm start`): the main job in one process, with live figures and a link. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Flags from "../config/Flags.ts"
import * as Services from "../config/Services.ts"
import * as Summary from "../job/Summary.ts"
import * as Up from "../up/Up.ts"
import type { MakeVerb } from "./Verb.ts"

const name: string = "up"

export const make: MakeVerb = () =>
  Effect.succeed({
    command: Command.make(
      name,
      {
        steps: Flag.Int("steps").pipe(Flag.withDescription("training steps [default: 50]"), Flag.withDefault(50)),
        host: Flag.String("host").pipe(
          Flag.withDescription("address the service listens on [default: 127.0.0.1]"),
          Flag.withDefault("127.0.0.1")
        ),
        port: Flags.port("port the service listens on; another one if it is taken")
      },
      (options) =>
        Effect.gen(function* () {
          const { meanAtEnd, meanAtStart, run, seconds, sequences, steps, tokens } = yield* Up.run(options)
          yield* Console.log("")
          yield* Console.log(
            Summary.print([
              ["run", run],
              ["steps", `${steps} in ${Summary.time(seconds * 1000)}, batches all acknowledged`],
              [
                "sequences",
                `${sequences} (${(sequences / seconds).toFixed(0)}/s), ${tokens.toLocaleString("en-US")} tokens`
              ],
              [
                "mean reward",
                `${meanAtStart.toFixed(3)} at the start, ${meanAtEnd.toFixed(3)} at the end (the policy is scripted)`
              ]
            ])
          )
          yield* Console.log(
            [
              "",
              "next:",
              "  npx atropos envs                                         environments there are",
              "  npx atropos process --env arithmetic-stories --testing   rollouts to a file, no service",
              "  npx atropos api                                          the service by itself",
              "  docs/writing-an-environment.md                           an environment of your own"
            ].join("\n")
          )
        }).pipe(Effect.mapError(Services.toFailure))
    ).pipe(Command.withExamples([{ command: "atropos up --steps 200", description: "a longer look" }]))
  })
