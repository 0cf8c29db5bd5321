/** Reads the settings of the command environment before anything runs; errors explain how to fix them. */
import * as Reason from "@atropos/core/base/Reason"
import * as Jail from "../sandbox/Jail.ts"
import { Effect, FileSystem, Result } from "effect"
import { resolve } from "node:path"
import type { Settings } from "./CommandSettings.ts"
import * as Confinement from "./Confinement.ts"
import * as Variables from "./Variables.ts"
import { ProgramError } from "./ProcessSupervisor.ts"
import * as Words from "../base/Words.ts"

export interface CommandLine {
  /** Empty: that of the coding agent. */
  readonly program: ReadonlyArray<string>
  readonly scorer: ReadonlyArray<string> | undefined
  readonly user: ReadonlyArray<string> | undefined
  readonly items: string
}

const mistake = (message: string) => new ProgramError({ message })

/** The program and the scorer, runnable in any working directory. */
export const read = Effect.fn("CommandLine.read")(function* (settings: Settings) {
  const { agent, command, items, reward, sandbox, scorer, user, workspace } = settings
  if (process.platform === "win32") return yield* mistake("the environment command needs Linux or macOS")
  if (command.trim() === "" && agent === null) {
    return yield* mistake(
      'command: name the program to run, as in --env.command "python agent.py", or a coding agent, as in --env.agent pi'
    )
  }
  if (items === null) return yield* mistake("items: name a file or a data set, as in --env.items tasks.jsonl")
  if (reward === "scorer" && scorer === null) {
    return yield* mistake('reward is "scorer", but no scorer is set: name it, as in --env.scorer "python check.py"')
  }
  if (scorer !== null && reward !== "scorer" && reward !== "auto") {
    return yield* mistake(`reward is "${reward}", so the scorer would never run: remove one of them`)
  }
  if (user !== null && !(agent?.startsWith("acp:") ?? false)) {
    return yield* mistake("user: only an agent over ACP takes further turns: name it, as in --env.agent acp:opencode")
  }
  if (sandbox === "bubblewrap") {
    yield* Effect.try({ try: Jail.bubblewrap, catch: (cause) => mistake(`sandbox: ${Reason.of(cause)}`) })
  }
  const fs = yield* FileSystem.FileSystem
  if (workspace !== null && !(yield* Effect.orElseSucceed(fs.exists(workspace), () => false))) {
    return yield* mistake(`workspace: folder not found: ${resolve(workspace)}`)
  }
  return {
    program: command.trim() === "" ? [] : yield* wordsOf("command", command),
    scorer: scorer === null ? undefined : yield* wordsOf("scorer", scorer),
    user: user === null ? undefined : yield* wordsOf("user", user),
    items
  } satisfies CommandLine
})

/** The words of a command line for any working directory; fails immediately if its program is missing. */
const wordsOf = Effect.fnUntraced(function* (setting: string, line: string) {
  const words = Words.split(line)
  if (Result.isFailure(words)) return yield* mistake(`${setting}: ${JSON.stringify(line)}: ${words.failure}`)
  const folder = process.cwd()
  const located = Words.located(words.success, folder)
  const path = Variables.path(folder)
  const [program = ""] = located
  if (Confinement.pathOf(program, path) !== undefined) return located
  return yield* mistake(
    program.includes("/")
      ? `${setting}: program not found: ${resolve(folder, program)}`
      : `${setting}: program ${program} not found in PATH (${path})`
  )
})
