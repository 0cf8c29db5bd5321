/**
 * Tries a coding agent before training: its version, and one run against scripted answers that call its shell once. A
 * refusal, a missing program or a tool that does not work is reported then, not after the first groups.
 */
import { Message, ServerManager, Tokenizer } from "@atropos/core"
import { Context, Effect, type FileSystem, Layer, Option, type Path, Result } from "effect"
import type { Runnable } from "../coding/CodingAgent.ts"
import * as Attempt from "./Attempt.ts"
import type { CommandLine } from "./CommandLine.ts"
import type { Settings } from "./CommandSettings.ts"
import * as Confinement from "./Confinement.ts"
import { ProgramError, type ProcessSupervisor } from "./ProcessSupervisor.ts"
import * as Program from "./Program.ts"
import * as Variables from "./Variables.ts"
import * as WorkingFolder from "./WorkingFolder.ts"

export interface Options {
  readonly agent: Runnable
  readonly line: CommandLine
  readonly settings: Settings
  readonly supervisor: ProcessSupervisor
}

const versionSeconds = 60
const runSeconds = 180

const problem = ({ name }: Runnable, message: string) => new ProgramError({ message: `agent ${name}: ${message}` })

const numbers = (version: string): ReadonlyArray<number> => version.split(".").map(Number)

/** The first version in a text, such as `codex-cli 0.171.0`. */
export const versionOf = (text: string): string | undefined => /\d{1,9}\.\d{1,9}\.\d{1,9}/.exec(text)?.[0]

export const isOlder = (version: string, than: string): boolean => {
  const [own, other] = [numbers(version), numbers(than)]
  const at = other.findIndex((one, index) => one !== own[index])
  return at !== -1 && (own[at] ?? 0) < other[at]!
}

const version = Effect.fnUntraced(function* ({ agent, line, settings, supervisor }: Options) {
  const folder = yield* WorkingFolder.scoped({ supervisor, copyOf: null, keptIn: null })
  const output = Program.makeOutput()
  const startedIn = process.cwd()
  const words = [...(line.program.length === 0 ? [agent.program] : line.program), "--version"]
  const path = Variables.path(startedIn)
  if (Confinement.pathOf(words[0]!, path) === undefined) {
    return yield* problem(
      agent,
      `its program ${words[0]} is not in PATH (${path}): install it (${agent.install}), or name it (--env.command)`
    )
  }
  const ended = yield* Program.run({
    supervisor,
    words,
    folder: folder.path,
    variables: Variables.make({
      item: null,
      folder,
      home: folder.home,
      startedIn,
      variables: settings.variables,
      pass: settings.passVariables
    }),
    input: "",
    outputBytes: settings.maxOutputBytes,
    output
  }).pipe(Effect.timeoutOption(versionSeconds * 1000))
  const found = versionOf(output.stdout())
  if (agent.minVersion === undefined) return
  if (found === undefined) {
    return yield* problem(
      agent,
      `${words.join(" ")} ${Option.isNone(ended) ? `did not end in ${versionSeconds} seconds` : "printed no version"}: ` +
        (output.complaint() || output.stdout()).slice(-500)
    )
  }
  if (isOlder(found, agent.minVersion)) {
    return yield* problem(agent, `version ${found} is older than ${agent.minVersion}: update it (${agent.install})`)
  }
  yield* Effect.logInfo("coding agent", { agent: agent.name, version: found, tried: agent.triedVersion })
})

const word = "atropos-tries-this-agent"

const nameOf = (tool: unknown): string | undefined =>
  (tool as { readonly function?: { readonly name?: string } }).function?.name

/** Calls the shell once, where it is offered. */
const script =
  ({ shell }: Runnable): ServerManager.Script =>
  (request) => {
    if ("prompt" in request || shell === undefined) return "Done."
    const isOffered = request.tools?.some((tool) => nameOf(tool) === shell.tool) ?? false
    const isCalled = request.messages.some(({ role }) => role === "tool")
    if (!isOffered || isCalled) return "Done."
    const call = { name: shell.tool, arguments: shell.args(`echo ${word}`) }
    return `<tool_call>\n${JSON.stringify(call)}\n</tool_call>`
  }

/** Why the answers of its shell show that it does not work; undefined if it does. */
const shellProblem = ({ shell }: Runnable, messages: ReadonlyArray<Message.Message>): string | undefined => {
  if (shell === undefined) return messages.length === 0 ? "it asked the model nothing" : undefined
  const results = messages.filter(({ role }) => role === "tool").map(Message.text)
  if (results.some((text) => text.includes(word))) return undefined
  return results.length === 0
    ? `it made no call of its tool ${shell.tool}`
    : `its tool ${shell.tool} does not work here: ${results.join("\n").slice(-500)}`
}

const dryRun = Effect.fnUntraced(function* ({ agent, line, settings, supervisor }: Options) {
  const Library = yield* Effect.promise(() => import("@atropos/core/gateway/Gateway"))
  const servers = Layer.provide(ServerManager.layerScripted(script(agent)), Tokenizer.layerBytes)
  const gateway = Context.get(yield* Layer.build(Layer.provide(Library.layer(), servers)), Library.Gateway)
  const session = yield* gateway.open()
  const attempt = yield* Attempt.begin({
    agent,
    item: { task: `Run the command echo ${word}, and say that you are done.` },
    line,
    settings: { ...settings, prompt: "{task}", workspace: null, keepFoldersIn: null },
    supervisor
  })
  const ended = yield* Effect.timeoutOption(Effect.result(attempt.use(session, [session])), runSeconds * 1000)
  const refusal = yield* session.lastFailure
  const messages = yield* session.messages
  const failed =
    refusal !== undefined
      ? `a request was refused: ${refusal}`
      : Option.isNone(ended)
        ? `it did not end in ${runSeconds} seconds`
        : Result.isFailure(ended.value)
          ? ended.value.failure.message
          : shellProblem(agent, messages)
  if (failed !== undefined) {
    return yield* problem(agent, `a trial with scripted answers failed: ${failed} (--env.try_agent false skips it)`)
  }
})

export const check = (options: Options): Effect.Effect<void, ProgramError, FileSystem.FileSystem | Path.Path> =>
  Effect.andThen(version(options), options.settings.tryAgent ? dryRun(options) : Effect.void).pipe(
    Effect.scoped,
    Effect.mapError((error) =>
      error instanceof ProgramError ? error : problem(options.agent, `it cannot be tried: ${error.message}`)
    )
  )
