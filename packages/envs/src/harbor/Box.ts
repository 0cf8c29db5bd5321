/**
 * Where a task is worked on and graded: a container, or namespaces of this machine.
 *
 * The agent's commands see the task's machine and nothing of `tests/` or `solution/`. Grading ends all that they have
 * left running before the tests are there at all.
 */
import { type Effect, Result, type Scope } from "effect"
import type { Judged } from "../agent/SessionGroup.ts"
import type * as Program from "../command/Program.ts"
import type { ProgramError, Warden } from "../command/Warden.ts"
import type { HarborError } from "./HarborError.ts"
import * as RewardFile from "./RewardFile.ts"
import type { Settings } from "./HarborSettings.ts"
import type { Machine, Task, Variables } from "./Task.ts"

/** A line of the shell (bash, or sh where there is none). */
export interface Run {
  readonly script: string
  readonly input?: string
  readonly env?: Variables
  readonly user?: string
  /** A command that takes longer is ended; absent: no limit. */
  readonly seconds?: number
}

export interface Box {
  readonly run: (run: Run) => Effect.Effect<Program.Printed, ProgramError | HarborError>
  /** Copies `solution/` of the task to `/solution`. */
  readonly putSolution: Effect.Effect<void, ProgramError | HarborError>
  /** Ends the agent's work, runs the tests, and tells the reward or why there is none. */
  readonly grade: Effect.Effect<Result.Result<Judged, string>, ProgramError | HarborError>
}

export interface OpenOptions {
  readonly task: Task
  readonly warden: Warden
  /** Whether an agent in there asks the model over the network. */
  readonly needsGateway: boolean
  /** A folder of this machine with the agent's program, to be seen at `/agent`. */
  readonly agentFolder: string | null
  /** A folder in which logs and tests of trials are kept. */
  readonly keptIn: string | null
  readonly network: Settings["network"]
  /** Variables of this process that the task may take. */
  readonly passed: Variables
}

export type Open<R> = (options: OpenOptions) => Effect.Effect<Box, ProgramError | HarborError, R | Scope.Scope>

/** Most bytes that a command may print. */
export const outputBytes = 10_000_000

/**
 * A script under a time limit of the machine's own, where it has the program `timeout`; `$1`: the script, `$2`:
 * seconds, or nothing. Bash would read its start files where its input is a socket.
 */
const limited = `script=$1 seconds=$2
if command -v bash >/dev/null 2>&1; then set -- bash --norc; else set -- sh; fi
if [ -n "$seconds" ] && command -v timeout >/dev/null 2>&1; then set -- timeout -s KILL "$seconds" "$@"; fi
exec "$@" -c "$script"`

/** The words that run a script in there. */
export const words = (script: string, seconds: number | undefined): ReadonlyArray<string> => [
  "sh",
  "-c",
  limited,
  "sh",
  script,
  seconds === undefined ? "" : String(seconds)
]

/** Runs the tests; their output is a log, and their exit code says nothing. */
export const testScript =
  "chmod +x /tests/test.sh 2>/dev/null; /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1; exit 0"

/** Whether a machine gets a network, given what it gets if neither task nor setting says a word. */
export const hasNetwork = (
  { asksForNetwork, hasNetwork }: Pick<Machine, "asksForNetwork" | "hasNetwork">,
  network: Settings["network"],
  byDefault: boolean
): boolean => hasNetwork && network !== "none" && (network === "public" || asksForNetwork === true || byDefault)

/** What is said where an agent's program could not reach the model. */
export const unreachable = ({ name }: Task): string =>
  `the task ${name} wants no network (or --env.network none does), so an agent's program in there could not reach the model: leave --env.command out, and the model is asked from outside`

/** The machine's own `timeout` ended it. */
const killed = 137

/** Nothing that was stopped by its limit has said anything, whatever it had written before. */
export const verdictOf = (
  { verifier: { seconds } }: Task,
  { ending }: Pick<Program.Printed, "ending">,
  folder: string
): Result.Result<Judged, string> =>
  ending?._tag !== "Exited" || ending.code === killed
    ? Result.fail(`the verifier took longer than ${seconds} seconds (verifier.timeout_sec)`)
    : RewardFile.read(folder)
