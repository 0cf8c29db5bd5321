/** `atropos validate --env …`: an environment's own laws, on some of its items; exit code 1 when one is broken. */
import { ServerSettings, Settings } from "@atropos/core"
import { Console, Effect } from "effect"
import { Flag } from "effect/cli"
import * as Services from "../config/Services.ts"
import { CommandFailed } from "../base/Failure.ts"
import * as Table from "../base/Table.ts"
import * as Validate from "../validate/Validate.ts"
import * as EnvironmentVerb from "./EnvironmentVerb.ts"

export const make = EnvironmentVerb.make({
  name: "validate",
  own: {
    items: Flag.Int("items").pipe(Flag.withDescription("items to check [default: 32]"), Flag.withDefault(32)),
    texts: Flag.Int("texts").pipe(
      Flag.withDescription("random texts to score, over all items [default: 1000]"),
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
    }
  ],
  // It asks no policy, sends nothing and measures nothing.
  ignored: [
    "openai.",
    "metrics.",
    ...Object.keys(ServerSettings.managerFields).map(Settings.wireName),
    ...Array.from(EnvironmentVerb.everyEnvironments).filter(
      (flag) => !["env.group_size", "env.max_token_length"].includes(flag)
    )
  ],
  handle: (settings, options) =>
    Effect.gen(function* () {
      const { items, unscorable, untestable, verdicts } = yield* Validate.run(options)
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
      yield* Console.log(`\n${items} items${unscorable > 0 ? `, ${unscorable} checks unscorable` : ""}`)
      const broken = verdicts.filter(({ violations }) => violations > 0)
      if (broken.length > 0) {
        return yield* new CommandFailed({ message: `${broken.length} of ${verdicts.length} laws do not hold` })
      }
    }).pipe(Services.provide(settings, "none"))
})
