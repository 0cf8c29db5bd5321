/**
 * Runs one rollout of a program: working directory, run with a session, reward.
 *
 * The scorer runs in the same working directory after the program has ended. It reads a JSON object: `item`; `result`,
 * the program's output; `exit_code`, null if it was stopped; `failure`, the reason of a failure, or null; `messages`,
 * the longest chat of the session; `rewards`, the posted ones, or null; and `folder`.
 */
import { ExactJson } from "@atropos/core"
import type * as Gateway from "@atropos/core/gateway/Gateway"
import { Effect, FileSystem, Option, type Path, type Scope } from "effect"
import type * as Outcome from "../agent/Outcome.ts"
import type { Attempt } from "../agent/SessionRuns.ts"
import type { CommandLine } from "./CommandLine.ts"
import type { Settings } from "./CommandSettings.ts"
import * as Confinement from "./Confinement.ts"
import * as Judging from "./Judging.ts"
import * as Program from "./Program.ts"
import * as Variables from "./Variables.ts"
import type { ProgramError, ProcessSupervisor } from "./ProcessSupervisor.ts"
import * as WorkingFolder from "./WorkingFolder.ts"

export interface Options {
  readonly item: unknown
  readonly line: CommandLine
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
  item,
  line,
  settings,
  supervisor
}: Options): Effect.fn.Return<Attempt<Program.Printed, ProgramError, Services>, ProgramError, Services | Scope.Scope> {
  const folder = yield* WorkingFolder.scoped({ supervisor, copyOf: settings.workspace, keptIn: settings.keepFoldersIn })
  const output = Program.makeOutput()
  let ended: Program.Ending | undefined
  let broken: ProgramError | undefined

  const printed = (): Program.Printed => ({
    ending: ended,
    stdout: output.stdout(),
    complaint: output.complaint()
  })

  const use = (session: Gateway.Session) =>
    run({
      item,
      settings,
      supervisor,
      folder,
      words: line.program,
      output,
      input: ExactJson.write(item) ?? "null",
      model: session
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
      const said = Program.makeOutput()
      const input = ExactJson.write({
        item,
        result: output.stdout(),
        exit_code: ended?._tag === "Exited" ? ended.code : null,
        failure: outcome._tag === "Failed" ? outcome.reason : null,
        messages: outcome.messages,
        rewards: outcome.reported ?? null,
        folder: folder.path
      })!
      // The program may have removed its working directory.
      return Effect.ignore(FileSystem.FileSystem.use((fs) => fs.makeDirectory(folder.path, { recursive: true }))).pipe(
        Effect.andThen(run({ item, settings, supervisor, folder, words, output: said, input })),
        Effect.timeoutOption(settings.scorerTimeout * 1000),
        Effect.map((ending): Program.Printed => ({
          ending: Option.getOrUndefined(ending),
          stdout: said.stdout(),
          complaint: said.complaint()
        }))
      )
    })

  return {
    use,
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

interface Running extends Pick<Options, "item" | "settings" | "supervisor"> {
  readonly folder: WorkingFolder.WorkingFolder
  readonly words: ReadonlyArray<string>
  readonly output: Program.Output
  readonly input: string
  readonly model?: Variables.Model
}

/** Runs a program in the folder, with the limits of the settings. */
const run = ({ folder, input, item, model, output, settings, supervisor, words }: Running) => {
  const isConfined = settings.sandbox === "bubblewrap"
  const startedIn = process.cwd()
  const variables = Variables.make({
    item,
    folder,
    startedIn,
    variables: settings.variables,
    pass: settings.passVariables,
    ...(isConfined && { home: folder.path }),
    ...(model !== undefined && { model })
  })
  return Program.run({
    supervisor,
    words: isConfined
      ? Confinement.words({
          words,
          path: Variables.path(startedIn),
          writable: [folder.path, folder.temporary, folder.reports],
          visible: settings.visible
        })
      : words,
    folder: folder.path,
    variables,
    input,
    outputBytes: settings.maxOutputBytes,
    ...(settings.maxMemoryMb !== null && { memoryBytes: settings.maxMemoryMb * 1e6 }),
    output
  })
}
