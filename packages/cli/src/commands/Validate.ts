/**
 * `atropos validate --env …`: checks an environment's claims on some of its items; `--loss …`: checks those of a loss.
 * Exits with 1 if one is violated, or if an item with right and wrong answers can never be scored.
 */
import { ServerSettings, Settings } from "@atropos/core"
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Services from "../config/Services.ts"
import * as TrainerRun from "../config/TrainerRun.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as Table from "../base/Table.ts"
import * as Losses from "../validate/Losses.ts"
import * as Validate from "../validate/Validate.ts"
import * as EnvironmentCommand from "./EnvironmentCommand.ts"
import type { MakeCommand } from "./CliCommand.ts"

const lossFlag = Flag.String("loss").pipe(
  Flag.withDescription("instead of an environment, check a loss: a preset, or a file with a custom loss"),
  Flag.withMetavar("name|file"),
  Flag.optional
)

/** Items listed that nothing could be scored of. */
const maxListed = 20

const ofEnvironment = EnvironmentCommand.make({
  name: "validate",
  own: {
    loss: lossFlag,
    items: Flag.Int("items").pipe(Flag.withDescription("items to check [default: 32]"), Flag.withDefault(32)),
    texts: Flag.Int("texts").pipe(
      Flag.withDescription("random texts to score, in total [default: 1000]"),
      Flag.withDefault(1000)
    ),
    seed: Flag.Int("seed").pipe(
      Flag.withDescription("random seed for texts and orders [default: 0]"),
      Flag.withDefault(0)
    )
  },
  examples: [
    { command: "atropos validate --env arithmetic-stories", description: "needs no inference server" },
    {
      command: "atropos validate --env ./my-env.ts --items 200",
      description: "more items of your own environment"
    },
    {
      command: "atropos validate --loss ./my-loss.ts",
      description: "a custom loss, or a preset with its settings"
    }
  ],
  // No policy is sampled, nothing is submitted or measured.
  unlisted: [
    "openai.",
    "metrics.",
    ...Object.keys(ServerSettings.managerFields).map(Settings.wireName),
    ...Array.from(EnvironmentCommand.everyEnvironments).filter(
      (flag) => !["env.group_size", "env.max_token_length"].includes(flag)
    )
  ],
  handle: (settings, options) =>
    Effect.gen(function* () {
      const { firstUnscorable, items, neverScored, unscorable, untestable, verdicts } = yield* Validate.run(options)
      const rows = verdicts.map(({ checks, law, violations }) => [
        violations === 0 ? "ok" : "BROKEN",
        law,
        violations === 0 ? `${checks} checks` : `${violations} of ${checks} checks`
      ])
      yield* Console.log(Table.columns(["", "law", "checked"], rows))
      for (const { first, law } of verdicts) {
        if (first !== undefined) yield* Console.log(`\n${law}:\n  ${first}`)
      }
      if (untestable !== undefined) yield* Console.log(`\nno correct and wrong answers to check: ${untestable}`)
      yield* Console.log(
        `\n${items} items${unscorable > 0 ? `, ${unscorable} checks unscorable; the first: ${firstUnscorable}` : ""}`
      )
      if (neverScored.length > 0) {
        const rest = neverScored.length > maxListed ? [`… and ${neverScored.length - maxListed} more`] : []
        const listed = [...neverScored.slice(0, maxListed), ...rest]
        yield* Console.log(`\nnever scored, so never trained on:\n  ${listed.join("\n  ")}`)
      }
      const broken = verdicts.filter(({ violations }) => violations > 0)
      const failed = [
        ...(broken.length > 0 ? [`${broken.length} of ${verdicts.length} checks failed`] : []),
        ...(neverScored.length > 0 ? [`${neverScored.length} of ${items} items were never scored`] : [])
      ]
      if (failed.length > 0) return yield* new CommandFailed({ message: failed.join("; ") })
    }).pipe(Services.provide(settings, "none"))
})

const name: string = "validate"

const ofLoss: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(TrainerRun.booleans),
    normalizeArgs: TrainerRun.normalizeArgs,
    command: Command.make(
      name,
      { env: Flag.String("env").pipe(Flag.optional), loss: TrainerRun.flags().loss },
      (input) =>
        Effect.gen(function* () {
          if (Option.isSome(input.env)) {
            return yield* new UsageError({ message: "--env and --loss cannot be combined: check one at a time" })
          }
          const { loss } = yield* TrainerRun.make({
            mode: {},
            file: {},
            input: { trainer: {}, lora: {}, loss: input.loss }
          })
          yield* Losses.run(loss)
        })
    )
  })

export const make: MakeCommand = (words) =>
  words.some((word) => /^--loss(\.preset|\.file)?(=|$)/.test(word)) ? ofLoss(words) : ofEnvironment(words)
