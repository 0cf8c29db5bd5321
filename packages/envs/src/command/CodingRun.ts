/**
 * A coding agent of the terminal as the `run` of `defineAgent`: plain values and promises. Each run has its own working
 * folder and home, which are removed afterwards; `result` reads what the agent left there.
 */
import { Effect } from "effect"
import * as Platform from "@atropos/core/base/system/Platform"
import type { AgentRun } from "../agent/AgentDefinition.ts"
import type { Awaitable } from "../agent/Foreign.ts"
import * as RunReport from "../agent/RunReport.ts"
import * as AgentProgram from "../coding/AgentProgram.ts"
import type { CodingAgent, Runnable } from "../coding/CodingAgent.ts"
import * as CodingAgents from "../coding/CodingAgents.ts"
import * as Acp from "../coding/Acp.ts"
import * as ProcessSupervisor from "./ProcessSupervisor.ts"
import * as Program from "./Program.ts"
import * as Variables from "./Variables.ts"
import * as WorkingFolder from "./WorkingFolder.ts"

/** The results of an agent; the folder is removed afterwards. */
export interface Finished<Item> {
  readonly item: Item
  /** The working folder. */
  readonly folder: string
  /** Output of the program. */
  readonly text: string
  /** Undefined if it was stopped. */
  readonly exitCode: number | undefined
}

export interface CodingRunOptions<Item, Result> {
  /** A preset by name, or one of your own. */
  readonly agent: string | CodingAgent
  /** The task's text. */
  readonly task: (item: Item) => string
  /** The program and its first arguments, if it is not in PATH. */
  readonly program?: ReadonlyArray<string>
  /** A folder that is copied into the working folder. */
  readonly workspace?: (item: Item) => string
  readonly variables?: { readonly [name: string]: string }
  /** Megabytes of the program and its child processes. Default: 4096. */
  readonly maxMemoryMb?: number
  /** Speaks for the user between the turns of an agent over ACP; see the setting `user`. Default: none. */
  readonly user?: ReadonlyArray<string>
  /** Max turns of such an agent, the task included. Default: 8. */
  readonly maxUserTurns?: number
  readonly result: (finished: Finished<Item>) => Awaitable<Result>
}

const outputBytes = 10_000_000

const work = Effect.fn("CodingRun.work")(function* <Item, Result>(
  {
    maxMemoryMb = 4096,
    maxUserTurns = 8,
    program,
    result,
    task,
    user,
    variables = {},
    workspace,
    ...options
  }: CodingRunOptions<Item, Result>,
  { item, model, settings }: Pick<AgentRun<Item, { readonly maxTokenLength: number }>, "item" | "model" | "settings">
) {
  const agent: Runnable = typeof options.agent === "string" ? yield* CodingAgents.find(options.agent) : options.agent
  const supervisor = yield* ProcessSupervisor.make
  const folder = yield* WorkingFolder.scoped({ supervisor, copyOf: workspace?.(item) ?? null, keptIn: null })
  const session = { ...model, modelName: model.name }
  const made = AgentProgram.of({ agent, program, task: task(item), session, maxTokens: settings.maxTokenLength })
  yield* WorkingFolder.write(folder.home, made.files)
  const output = Program.makeOutput()
  const ending = yield* Program.run({
    supervisor,
    ...(made.task === undefined
      ? { words: made.words, input: "" }
      : Acp.program(made.words, { task: made.task, user: user ?? null, maxTurns: maxUserTurns })),
    folder: folder.path,
    variables: Variables.make({
      model: session,
      item,
      folder,
      home: folder.home,
      startedIn: process.cwd(),
      variables: { ...made.variables, ...variables },
      pass: []
    }),
    outputBytes: outputBytes + (made.task === undefined ? 0 : Acp.reportBytes),
    memoryBytes: maxMemoryMb * 1e6,
    output
  }).pipe(
    // Also if it was interrupted: its program has ended by then.
    Effect.ensuring(
      Effect.sync(() => {
        if (made.task !== undefined) RunReport.report(model, Acp.read(output.stdout()))
      })
    )
  )
  const text = made.task === undefined ? output.stdout() : Acp.read(output.stdout()).answer
  const exitCode = ending._tag === "Exited" ? ending.code : undefined
  return yield* Effect.promise(async () => result({ item, folder: folder.path, text, exitCode }))
}, Effect.scoped)

/** The `run` of an agent that is a program. An abort ends the program and all that it started. */
export const codingAgent =
  <Item, Result>(options: CodingRunOptions<Item, Result>) =>
  (run: AgentRun<Item, { readonly maxTokenLength: number }>): Promise<Result> => {
    const ran = Effect.runPromise(Effect.provide(work(options, run), Platform.layer), { signal: run.signal })
    RunReport.runsUntil(run.model, ran)
    return ran
  }
