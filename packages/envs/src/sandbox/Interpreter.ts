/**
 * Provides common parts of the sandboxes for Python: pools of interpreters, of which some run programs and some judge
 * them.
 *
 * A runner serves one run and is then reset or replaced. A judge only sees trusted tests and plain values, and is kept.
 */
import { type Effect, type Pool, Schema, type Scope } from "effect"

/** The sandbox itself does not work: never the program's fault, never a score. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Limits {
  /** Wall-clock time of a run, including its tests, from the moment the interpreter is ready. */
  readonly timeMillis: number
  /** Bytes on stdout and on stderr, each. */
  readonly outputBytes: number
}

export interface RunnerJob {
  readonly source: string
  readonly stdin: string
  /** True if a judge calls it afterwards. */
  readonly serve: boolean
  readonly outputBytes: number
}

export interface JudgeJob {
  readonly number: number
  /** Secret of this job: an answer without it is invalid. */
  readonly token: string
  readonly setup: string
  readonly tests: ReadonlyArray<string>
  readonly entry: string | null
  readonly asks: ReadonlyArray<string> | null
}

/** Ends of a run other than at its time limit. */
export type Ended =
  | { readonly ending: "exited"; readonly exitCode: number }
  | { readonly ending: "outputLimit" | "stopped" }
  | { readonly ending: "crashed"; readonly why: string }
  /** Its thread or process ended with it. */
  | { readonly ending: "lost"; readonly why: string; readonly outOfMemory: boolean }

export interface Output {
  readonly stdout: string
  readonly stderr: string
}

export interface Runner {
  /** After a run: completes when it can take another job. Those in the pool can. */
  readonly ready: Effect.Effect<void, SandboxError>
  readonly ended: Effect.Effect<Ended>
  readonly output: () => Output
  /** Ends a program that waits for its judge. */
  readonly stop: () => void
}

export interface Judge {
  readonly ready: Effect.Effect<void, SandboxError>
  /** The judge's answer to a job; undefined if the judge itself failed. */
  readonly answer: Effect.Effect<string | undefined>
  /** Notifies a waiting judge that the program has ended. */
  readonly abandon: (number: number, why: string) => void
}

export interface Interpreters<R extends Runner, J extends Judge> {
  readonly runners: Pool.Pool<R, SandboxError>
  readonly judges: Pool.Pool<J, SandboxError>
  readonly scope: Scope.Scope
  /** True if a runner is reusable after a run that ended by itself. */
  readonly keepsRunners: boolean
  /** Starts a program, optionally with a judge. */
  readonly begin: (runner: R, job: RunnerJob, judging?: { readonly judge: J; readonly job: JudgeJob }) => void
}
