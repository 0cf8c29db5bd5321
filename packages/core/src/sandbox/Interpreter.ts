/**
 * What the sandboxes for Python have in common: interpreters in pools, of which some run programs and some judge them.
 *
 * A runner serves one run and is then as new, or is replaced. A judge sees only trusted tests and plain values, and is
 * kept.
 */
import { type Effect, type Pool, Schema, type Scope } from "effect"

/** The sandbox itself does not work: never the fault of a program, never a score. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** What a run may use up. */
export interface Limits {
  /** Wall-clock time of a run, its tests included, from the moment the interpreter is ready. */
  readonly timeMillis: number
  /** Bytes on stdout and on stderr, each. */
  readonly outputBytes: number
}

/** What a runner is told. */
export interface RunnerJob {
  readonly source: string
  readonly stdin: string
  /** Whether a judge asks afterwards. */
  readonly serve: boolean
  readonly outputBytes: number
}

/** What a judge is told. */
export interface JudgeJob {
  readonly number: number
  /** Secret of this job: an answer without it is none. */
  readonly token: string
  readonly setup: string
  readonly tests: ReadonlyArray<string>
  readonly entry: string | null
  readonly asks: ReadonlyArray<string> | null
}

/** How a run ended by itself. */
export type Ended =
  | { readonly ending: "exited"; readonly exitCode: number }
  | { readonly ending: "outputLimit" | "stopped" }
  | { readonly ending: "crashed"; readonly why: string }
  /** Its thread or process is gone with it. */
  | { readonly ending: "lost"; readonly why: string; readonly outOfMemory: boolean }

export interface Output {
  readonly stdout: string
  readonly stderr: string
}

export interface Runner {
  /** After a run: when it can take another job. Those in the pool can. */
  readonly ready: Effect.Effect<void, SandboxError>
  readonly ended: Effect.Effect<Ended>
  /** What the program has written so far. */
  readonly output: () => Output
  /** Ends a program that waits for its judge. */
  readonly stop: () => void
}

export interface Judge {
  readonly ready: Effect.Effect<void, SandboxError>
  /** The answer to a job, as the judge wrote it; undefined where the judge itself broke. */
  readonly answer: Effect.Effect<string | undefined>
  /** Tells a judge who waits for the program that it waits in vain. */
  readonly abandon: (number: number, why: string) => void
}

export interface Interpreters<R extends Runner, J extends Judge> {
  readonly runners: Pool.Pool<R, SandboxError>
  readonly judges: Pool.Pool<J, SandboxError>
  /** Of the interpreters. */
  readonly scope: Scope.Scope
  /** Whether a runner can be used again after a run that ended by itself. */
  readonly keepsRunners: boolean
  /** Sets a program going, and a judge on it. */
  readonly begin: (runner: R, job: RunnerJob, judging?: { readonly judge: J; readonly job: JudgeJob }) => void
}
