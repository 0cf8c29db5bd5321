/** Runs one rollout of a task: the agent's work in its machine, and its grading. */
import { Environment } from "@atropos/core"
import { Effect, Option, Result, type Scope } from "effect"
import * as Outcome from "../agent/Outcome.ts"
import type { Judged } from "../agent/SessionGroup.ts"
import type { Attempt } from "../agent/SessionRuns.ts"
import * as AgentProgram from "../coding/AgentProgram.ts"
import type { Runnable } from "../coding/CodingAgent.ts"
import * as CommandVariables from "../command/Variables.ts"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import * as Words from "../base/Words.ts"
import type { Box } from "./Box.ts"
import type { HarborError } from "./HarborError.ts"
import type { Settings } from "./HarborSettings.ts"
import type { Task, Variables } from "./Task.ts"
import * as Templates from "./Templates.ts"
import * as Terminal from "./Terminal.ts"

type Failure = HarborError | ProgramError

export interface Options {
  readonly box: Box
  /** Absent: the setting `command` is the program, or the model itself is the agent. */
  readonly agent?: Runnable | undefined
  readonly settings: Settings
  readonly task: Task
}

const isBroken = (error: object): error is Failure =>
  "_tag" in error && (error._tag === "HarborError" || error._tag === "ProgramError")

/** A coding agent has its instruction as an argument, and reads nothing. */
const programOf = (
  { agent, settings: { command, maxTokenLength }, task }: Options,
  session: CommandVariables.Model
): { readonly script: string; readonly input: string } | undefined => {
  if (agent === undefined) return command === null ? undefined : { script: command, input: task.instruction }
  const program = command === null ? undefined : Result.getOrUndefined(Words.split(command))
  const made = AgentProgram.of({ agent, program, task: task.instruction, session, maxTokens: maxTokenLength })
  return { script: AgentProgram.script(made), input: "" }
}

export const begin = (options: Options): Attempt<void, Failure, never> => {
  const { agent, box, settings, task } = options
  const { command, commandTimeout, maxOutputCharacters, maxTurns } = settings
  const { seconds } = task.agent
  /** A failure of the machine, which is not the agent's. */
  let broken: Failure | undefined

  const program = (run: { readonly script: string; readonly input: string }, model: CommandVariables.Model) =>
    box
      .run({
        ...run,
        env: { ...CommandVariables.ofModel(model), INSTRUCTION: task.instruction, TASK: task.name }
      })
      .pipe(
        Effect.flatMap(({ complaint, ending }) => {
          if (ending === undefined || (ending._tag === "Exited" && ending.code === 0)) return Effect.void
          const how = ending._tag === "Exited" ? `exited with ${ending.code}` : ending.why
          const message = `the agent's program ${how}${complaint === "" ? "" : `; its output: ${complaint.slice(-500)}`}`
          return Effect.fail({ message, cause: new Error(message) })
        })
      )

  return {
    use: (session) => {
      const run = programOf(options, session)
      const work =
        run === undefined
          ? Terminal.run({
              box,
              instruction: task.instruction,
              session,
              maxTurns,
              commandSeconds: commandTimeout,
              mostCharacters: maxOutputCharacters
            })
          : program(run, session)
      const timed =
        seconds === undefined
          ? work
          : Effect.flatMap(
              Effect.timeoutOption(work, seconds * 1000),
              Option.match({
                onSome: () => Effect.void,
                onNone: () => {
                  const message = `the agent took longer than ${seconds} seconds (agent.timeout_sec of the task ${task.name})`
                  return Effect.fail({ message, cause: new Error(message) })
                }
              })
            )
      return Effect.mapError(timed, (error) => {
        if (!isBroken(error)) return error
        broken = error
        return { message: error.message, cause: error }
      })
    },
    // Like in Harbor, an agent's work is graded regardless of how the agent ended.
    judge: (outcome) =>
      Effect.suspend(() => {
        if (broken !== undefined) return Effect.fail(broken)
        if (outcome.trajectories.length === 0)
          return Effect.succeed(unasked(outcome, command !== null || agent !== undefined))
        return Effect.map(
          box.grade,
          Result.match({
            onSuccess: (judged) => judged,
            onFailure: (reason) =>
              outcome._tag === "Failed" ? outcome : Outcome.failed(outcome, "unrewarded", `${task.name}: ${reason}`)
          })
        )
      })
  }
}

/** Nothing was sampled, so a verdict could not train anything. */
const unasked = (outcome: Outcome.Outcome<void>, isProgram: boolean): Outcome.Failed =>
  outcome._tag === "Failed" && outcome.kind !== "silent"
    ? outcome
    : Outcome.failed(
        outcome,
        "silent",
        !isProgram
          ? "no response from the model"
          : "the agent's program made no request to the model: its SDK must take its base URL from OPENAI_BASE_URL or ANTHROPIC_BASE_URL"
      )

/** The answer that represents the task's own solution, in claims. */
export const solution = "(solution/solve.sh)"

const solve = "chmod +x /solution/solve.sh 2>/dev/null; exec /solution/solve.sh"

/** The reward of a task's own solution, and of doing nothing; each is tried once. */
export const worthOf = Effect.fnUntraced(function* <R>(
  open: (task: Task) => Effect.Effect<Box, Failure, R | Scope.Scope>,
  passed: Variables
) {
  const services = yield* Effect.context<Exclude<R, Scope.Scope>>()
  const known = new Map<string, Effect.Effect<Judged, Failure | Environment.Unscorable>>()

  const trial = (task: Task, isSolved: boolean) =>
    Effect.gen(function* () {
      const box = yield* open(task)
      if (isSolved) {
        yield* box.putSolution
        const { complaint, ending } = yield* box.run({
          script: solve,
          env: yield* Templates.resolve(task, "solution.env", task.solutionEnv, passed),
          ...(task.agent.seconds !== undefined && { seconds: task.agent.seconds })
        })
        if (ending?._tag !== "Exited" || ending.code !== 0) {
          yield* Effect.logWarning("solution failed", { task: task.name, complaint })
        }
      }
      const graded = yield* box.grade
      if (Result.isSuccess(graded)) return graded.success
      return yield* new Environment.Unscorable({ message: `${task.name}: ${graded.failure}` })
    }).pipe(Effect.scoped, Effect.provide(services))

  return (task: Task, isSolved: boolean) =>
    Effect.gen(function* () {
      const key = `${isSolved} ${task.folder}`
      const once = known.get(key) ?? (yield* Effect.cached(trial(task, isSolved)))
      known.set(key, once)
      return yield* once
    })
})
