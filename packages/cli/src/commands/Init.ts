/**
 * `atropos init NAME`: scaffolds an environment with its test in a new folder; with `--agent`, an agent in plain
 * TypeScript.
 */
import { Docs } from "@atropos/core"
import * as Reason from "@atropos/core/base/Reason"
import { Console, Effect, FileSystem, Path } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as CommandLine from "../base/CommandLine.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as AgentStarter from "../init/AgentStarter.ts"
import * as Packages from "../init/Packages.ts"
import * as Starter from "../init/Starter.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "init"

/** Packages outside `node_modules` belong to a checkout. */
const isCheckout = !import.meta.url.includes("/node_modules/")

/** Returns true if the packages can be resolved from a folder. */
const findsPackages = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  let at = folder
  for (;;) {
    if (yield* fs.exists(path.join(at, "node_modules", "@atropos", "core"))) return true
    const above = path.dirname(at)
    if (above === at) return false
    at = above
  }
})

/**
 * Setup steps that make the packages resolvable. Below an installation Node would find them by itself but npx would
 * not: it only checks next to the nearest package.json and downloads what is missing there.
 */
const installation = Effect.fnUntraced(function* (folder: string) {
  const path = yield* Path.Path
  if (!isCheckout) return ["npm install"]
  if (yield* findsPackages(folder)) return []
  const modules = yield* path.fromFileUrl(new URL("../../../../node_modules", import.meta.url))
  return [`ln -s ${modules} node_modules   (the packages of this checkout)`]
})

const write = Effect.fn("init.write")(function* (text: string, isAgent: boolean) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = path.resolve(text)
  const selected = path.basename(folder)
  if (!Starter.isName(selected)) {
    return yield* new UsageError({
      message: `${text}: a name must consist of lower-case letters, digits and dashes and begin with a letter, for example my-env`
    })
  }
  const starter = isAgent ? AgentStarter : Starter
  const files = starter.files({
    name: selected,
    dependencies: yield* Packages.dependencies(isAgent ? "agent" : "environment"),
    isCheckout
  })
  const taken = yield* Effect.filter(files.keys(), (file) => fs.exists(path.join(folder, file)))
  if (taken.length > 0) {
    return yield* new UsageError({
      message: `${folder} already has ${taken.join(", ")}; nothing was overwritten. Choose another name, or move ${taken.length === 1 ? "it" : "them"} away`
    })
  }
  yield* fs.makeDirectory(folder, { recursive: true })
  for (const [file, content] of files) {
    // Fails if the file was created in the meantime.
    yield* fs.writeFileString(path.join(folder, file), content, { flag: "wx" })
  }
  const steps = [
    `cd ${path.relative(path.resolve("."), folder) || "."}`,
    ...(yield* installation(folder)),
    `npm test   # tests ${isAgent ? "agent and score" : "the scoring"}, without a model`,
    `${CommandLine.anywhere} validate --env ./${selected}.ts   # checks its claims, and scoring of 1,000 random texts`,
    `${CommandLine.anywhere} process --env ./${selected}.ts --testing   # makes groups with scripted answers, without a model`
  ]
  yield* Console.log(
    [
      `${selected} in ${folder}: ${Array.from(files.keys()).join(", ")}`,
      "",
      "next:",
      ...steps.map((step) => `  ${step}`),
      "",
      "then:",
      `  ${CommandLine.anywhere} serve --env ./${selected}.ts   # sends rollouts to a service`,
      `  ${CommandLine.anywhere} up --env ./${selected}.ts --model FOLDER   # trains a model`,
      `  ${path.resolve(Docs.path(isAgent ? "agents.md" : "writing-an-environment.md"))} explains the rest`
    ].join("\n")
  )
})

export const make: MakeCommand = () =>
  Effect.succeed({
    command: Command.make(
      name,
      {
        folder: Argument.String("name").pipe(
          Argument.withDescription("name of the environment and of the folder to create: my-env, or path/to/my-env")
        ),
        agent: Flag.Boolean("agent").pipe(
          Flag.withDescription("an agent in plain TypeScript that calls the model over HTTP as an SDK does"),
          Flag.withDefault(false)
        )
      },
      ({ agent, folder }) =>
        write(folder, agent).pipe(
          Effect.mapError((error) =>
            error instanceof UsageError
              ? error
              : new CommandFailed({
                  message: `cannot write ${folder}: ${error._tag === "PlatformError" ? Reason.ofFile(error) : error.message}`,
                  cause: error
                })
          )
        )
    ).pipe(
      Command.withExamples([
        { command: "atropos init my-env", description: "creates my-env/my-env.ts and its test" },
        { command: "atropos init --agent my-agent", description: "the same for an agent, without Effect" }
      ])
    ),
    booleans: new Set(["agent"])
  })
