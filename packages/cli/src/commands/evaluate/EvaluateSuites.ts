/** `atropos evaluate suites`: lists the bundled suites; with a name, shows that suite in full. */
import { Suite } from "@atropos/envs"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Table from "../../base/Table.ts"
import * as Suites from "../../config/Suites.ts"

const suites = Command.make(
  "suites",
  {
    suite: Argument.String("suite").pipe(
      Argument.withDescription("a suite to show: a name or a YAML file"),
      Argument.optional
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
  },
  Effect.fnUntraced(function* ({ json, suite: word }) {
    if (Option.isSome(word)) {
      const { suite } = yield* Suites.choose(word.value)
      const { stringify } = yield* Effect.promise(() => import("yaml"))
      return yield* Console.log(json ? JSON.stringify(suite, null, 2) : stringify(suite).trimEnd())
    }
    const all = (yield* Suites.all).map(({ suite }) => suite)
    if (json) return yield* Console.log(JSON.stringify(all, null, 2))
    const rows = all.map((suite) => [
      suite.name,
      Suite.mainOf(suite),
      Suite.asksJudge(suite.score) ? "judge" : "",
      suite.data === undefined ? "--data" : Suite.sourceOf(suite),
      `${suite.title}: ${suite.about}`
    ])
    yield* Console.log(Table.columns(["suite", "score", "needs", "rows", "what"], rows))
  })
).pipe(Command.withDescription("List the standard benchmarks, or show one"))

const name: string = "evaluate"

export const command = Command.make(name).pipe(Command.withSubcommands([suites]))
