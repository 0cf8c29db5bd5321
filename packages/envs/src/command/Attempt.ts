/**
 * Runs one rollout of a program: working directory, run with a session, reward.
 *
 * The scorer runs in the same working directory after the program has ended. It reads a JSON object: `item`; `result`,
 * the program's output; `exit_code`, null if it was stopped; `failure`, the reason of a failure, or null; `messages`,
 * the longest chat of the session; `rewards`, the posted ones, or null; and `folder`.
 */
import { ExactJson } from "@atropos/core"
import type * as Gateway from "@atropos/core/gateway/Gateway"
import { Effect, FileSystem, Option, type Path, Result, type Scope } from "effect"
import type * as Outcome from "../agent/Outcome.ts"
import type * as RunReport from "../agent/RunReport.ts"
import type { Attempt } from "../agent/SessionRuns.ts"
import * as AgentProgram from "../coding/AgentProgram.ts"
import type { Runnable } from "../coding/CodingAgent.ts"
import * as Task from "../coding/Task.ts"
import * as Acp from "../coding/Acp.ts"
import type { CommandLine } from "./CommandLine.ts"
import type { Settings } from "./CommandSettings.ts"
import * as Confinement from "./Confinement.ts"
import * as Judging from "./Judging.ts"
import * as Program from "./Program.ts"
import * as Variables from "./Variables.ts"
import { ProgramError, type ProcessSupervisor } from "./ProcessSupervisor.ts"
import * as WorkingFolder from "./WorkingFolder.ts"

export interface Options {
  readonly item: unknown
  readonly line: CommandLine
  /** Absent: the command line is the program. */
  readonly agent?: Runnable | undefined
  readonly settings: Settings
  readonly supervisor: ProcessSupervisor
}

type Services = FileSystem.FileSystem | Path.Path

/** Why a program failed; undefined if it did not. */
const failureOf = ({ complaint, ending }: Program.Printed): string | undefined => {
  if (ending === undefined || (ending._tag === "Exited" && ending.code === 0)) return undefined
  const how = ending._tag === "Exited" ? `exited with ${ending.code}` : ending.why
  return `the program ${how}${complaint === "" ? "" : `; its output: ${complaint.slice(-500)}`}`
}

export const begin = Effect.fn("Attempt.begin")(function* ({
  agent,
  item,
  line,
  settings,
  supervisor
}: Options): Effect.fn.Return<Attempt<Program.Printed, ProgramError, Services>, ProgramError, Services | Scope.Scope> {
  const folder = yield* WorkingFolder.scoped({ supervisor, copyOf: settings.workspace, keptIn: settings.keepFoldersIn })
  const output = Program.makeOutput()
  let ended: Program.Ending | undefined
  let broken: ProgramError | undefined

  let reported: Acp.Report | undefined
  /** What an agent over ACP left instead of its output; called after its end. */
  const report = (): Acp.Report | undefined =>
    agent?.isOverAcp === true ? (reported ??= Acp.read(output.stdout())) : undefined
  const stdout = (): string => report()?.answer ?? output.stdout()
  const printed = (): Program.Printed => ({ ending: ended, stdout: stdout(), complaint: output.complaint() })

  const task = agent === undefined ? Result.succeed("") : Task.of(settings.prompt, item)
  if (Result.isFailure(task)) return yield* new ProgramError({ message: `prompt: ${task.failure}` })

  const program = (
    session: Gateway.Session
  ): Pick<Running, "words" | "input" | "extra" | "talk"> & { readonly files: Files } =>
    agent === undefined
      ? { words: line.program, input: ExactJson.write(item) ?? "null", extra: {}, files: {} }
      : programOf({ agent, line, session, settings, task: task.success })

  const use = (session: Gateway.Session) =>
    Effect.suspend(() => {
      const { files, ...source } = program(session)
      return Effect.andThen(
        WorkingFolder.write(folder.home, files),
        run({ item, settings, supervisor, folder, ...source, output, model: session })
      )
    }).pipe(
      Effect.tap((ending) => Effect.sync(() => void (ended = ending))),
      // Failing to start is not the program's failure; it is reported when the rollout is judged.
      Effect.tapError((error) => Effect.sync(() => void (broken = error))),
      Effect.mapError(({ message }) => ({ message, cause: new Error(message) })),
      Effect.flatMap(() => {
        const message = failureOf(printed())
        return message === undefined ? Effect.succeed(printed()) : Effect.fail({ message, cause: new Error(message) })
      })
    )

  const scorer = (words: ReadonlyArray<string>, outcome: Outcome.Outcome<Program.Printed>) =>
    Effect.suspend(() => {
      const answer = Program.makeOutput()
      const input = ExactJson.write({
        item,
        result: stdout(),
        exit_code: ended?._tag === "Exited" ? ended.code : null,
        failure: outcome._tag === "Failed" ? outcome.reason : null,
        messages: outcome.messages,
        rewards: outcome.reported ?? null,
        folder: folder.path
      })!
      // The program may have removed its working directory.
      return Effect.ignore(FileSystem.FileSystem.use((fs) => fs.makeDirectory(folder.path, { recursive: true }))).pipe(
        Effect.andThen(run({ item, settings, supervisor, folder, words, output: answer, input })),
        Effect.timeoutOption(settings.scorerTimeout * 1000),
        Effect.map((ending): Program.Printed => ({
          ending: Option.getOrUndefined(ending),
          stdout: answer.stdout(),
          complaint: answer.complaint()
        }))
      )
    })

  return {
    use,
    report: (): RunReport.RunReport | undefined => report(),
    judge: (outcome) =>
      Effect.suspend(() =>
        broken === undefined
          ? Judging.judge({
              reward: settings.reward,
              outcome,
              ending: ended,
              rewardFile: folder.rewardFile,
              scorer: line.scorer && scorer(line.scorer, outcome)
            })
          : Effect.fail(broken)
      )
  }
})

type Files = AgentProgram.AgentProgram["files"]

/** A coding agent as a program: it has its task as an argument, and reads nothing. */
const programOf = ({
  agent,
  line,
  session,
  settings,
  task
}: Pick<Options, "line" | "settings"> & {
  readonly agent: Runnable
  readonly session: Gateway.Session
  readonly task: string
}) => {
  const made = AgentProgram.of({
    agent,
    program: line.program.length === 0 ? undefined : line.program,
    task,
    session,
    maxTokens: settings.maxTokenLength
  })
  return {
    words: made.words,
    input: "",
    extra: made.variables,
    files: made.files,
    ...(made.task !== undefined && {
      talk: { task: made.task, user: line.user ?? null, maxTurns: settings.maxUserTurns }
    })
  }
}

interface Running extends Pick<Options, "item" | "settings" | "supervisor"> {
  readonly folder: WorkingFolder.WorkingFolder
  readonly words: ReadonlyArray<string>
  readonly output: Program.Output
  readonly input: string
  readonly model?: Variables.Model
  /** Over the Agent Client Protocol, instead of the input. */
  readonly talk?: Parameters<typeof Acp.program>[1]
  /** Variables of a coding agent. */
  readonly extra?: { readonly [name: string]: string }
}

/** Runs a program in the folder, with the limits of the settings. */
const run = ({ extra = {}, folder, input, item, model, output, settings, supervisor, talk, words }: Running) => {
  const isConfined = settings.sandbox === "bubblewrap"
  const startedIn = process.cwd()
  const variables = Variables.make({
    item,
    folder,
    startedIn,
    variables: { ...extra, ...settings.variables },
    pass: settings.passVariables,
    ...((isConfined || settings.home === "fresh") && { home: folder.home }),
    ...(model !== undefined && { model })
  })
  const confined = isConfined
    ? Confinement.words({
        words,
        path: Variables.path(startedIn),
        writable: [folder.path, folder.temporary, folder.home, folder.reports],
        visible: settings.visible
      })
    : words
  return Program.run({
    supervisor,
    ...(talk === undefined ? { words: confined, input } : Acp.program(confined, talk)),
    folder: folder.path,
    variables,
    outputBytes: settings.maxOutputBytes + (talk === undefined ? 0 : Acp.reportBytes),
    ...(settings.maxMemoryMb !== null && { memoryBytes: settings.maxMemoryMb * 1e6 }),
    output
  })
}
