/**
 * Defines the machine in which a task runs and is graded: a container, or namespaces of this machine.
 *
 * The agent's commands see the task's machine without `tests/` and `solution/`. Grading ends all processes they have
 * left running before the tests are added.
 */
import { type Effect, Result, type Scope } from "effect"
import type { Judged } from "../agent/SessionGroup.ts"
import type * as Program from "../command/Program.ts"
import type { ProgramError, ProcessSupervisor } from "../command/ProcessSupervisor.ts"
import type { HarborError } from "./HarborError.ts"
import * as RewardFile from "./RewardFile.ts"
import type { Settings } from "./HarborSettings.ts"
import type { Machine, Task, Variables } from "./Task.ts"

/** A shell command (bash, or sh if missing). */
export interface Run {
  readonly script: string
  readonly input?: string
  readonly env?: Variables
  readonly user?: string
  /** The time limit, after which a command is ended; absent: no limit. */
  readonly seconds?: number
}

export interface Box {
  readonly run: (run: Run) => Effect.Effect<Program.Printed, ProgramError | HarborError>
  /** Copies `solution/` of the task to `/solution`. */
  readonly putSolution: Effect.Effect<void, ProgramError | HarborError>
  /** Ends the agent's work, runs the tests, and returns the reward or the reason if none. */
  readonly grade: Effect.Effect<Result.Result<Judged, string>, ProgramError | HarborError>
}

export interface OpenOptions {
  readonly task: Task
  readonly supervisor: ProcessSupervisor
  /** The gateway, if an agent in the machine calls the model; null: none does. */
  readonly gatewayUrl: string | null
  /** A folder of this machine with the agent's program, visible at `/agent`. */
  readonly agentFolder: string | null
  /** A folder in which logs and tests of trials are kept. */
  readonly keptIn: string | null
  readonly network: Settings["network"]
  /** Variables of this process that the task may use. */
  readonly passed: Variables
}

export type Open<R> = (options: OpenOptions) => Effect.Effect<Box, ProgramError | HarborError, R | Scope.Scope>

/** Maximum output of a command, in bytes. */
export const outputBytes = 10_000_000

/**
 * Runs a script under the machine's own time limit, if it has the program `timeout`; `$1`: the script, `$2`: seconds,
 * or empty. `--norc`, because bash would read its start files if its input is a socket.
 */
const limited = `script=$1 seconds=$2
if command -v bash >/dev/null 2>&1; then set -- bash --norc; else set -- sh; fi
if [ -n "$seconds" ] && command -v timeout >/dev/null 2>&1; then set -- timeout -s KILL "$seconds" "$@"; fi
exec "$@" -c "$script"`

/** The command line that runs a script in the machine. */
export const words = (script: string, seconds: number | undefined): ReadonlyArray<string> => [
  "sh",
  "-c",
  limited,
  "sh",
  script,
  seconds === undefined ? "" : String(seconds)
]

/** Runs the tests; their output is logged and their exit code ignored. */
export const testScript =
  "chmod +x /tests/test.sh 2>/dev/null; /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1; exit 0"

/**
 * Decides on a network: the machine's (`full`), or the Internet by a proxy (`web`). `byDefault` applies if neither the
 * task nor the setting specifies it.
 */
export const networkOf = (
  { asksForNetwork, hasNetwork }: Pick<Machine, "asksForNetwork" | "hasNetwork">,
  network: Settings["network"],
  byDefault: boolean
): "none" | "full" | "web" => {
  if (!hasNetwork || network === "none") return "none"
  if (network !== "public" && asksForNetwork !== true && !byDefault) return "none"
  return network === "web" ? "web" : "full"
}

/** Exit code if the machine's own `timeout` ended it. */
const killed = 137

/** A verifier stopped by its limit has no verdict, even if it wrote one before. */
export const verdictOf = (
  { verifier: { seconds } }: Task,
  { ending }: Pick<Program.Printed, "ending">,
  folder: string
): Result.Result<Judged, string> =>
  ending?._tag === "Stopped"
    ? Result.fail(`the verifier ${ending.why}`)
    : ending === undefined || ending.code === killed
      ? Result.fail(`the verifier took longer than ${seconds} seconds (verifier.timeout_sec)`)
      : RewardFile.read(folder)
