/**
 * Runs our files in worker threads: starts them, sends requests, and ends them with their scope.
 *
 * A thread handles one question at a time, and posts one message per question; callers with several fibers must
 * serialize them. A failure of the thread fails the current question and every later one. Threads with more message
 * types (several concurrent questions, progress, their own end) are made by `spawn`, and managed by their owner.
 */
import { Effect, Schema, type Scope } from "effect"
import { Worker, type WorkerOptions } from "node:worker_threads"
import * as Reason from "./Reason.ts"

/** A thread could not be started, or has ended. */
export class ThreadError extends Schema.TaggedError<ThreadError>()("ThreadError", {
  reason: Schema.Literals(["notStarted", "failed", "outOfMemory", "exited"]),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Thread<Question, Answer> {
  /** Posts a question, moving `transfer` without a copy, and waits for the answer. */
  readonly ask: (question: Question, transfer?: ReadonlyArray<ArrayBuffer>) => Effect.Effect<Answer, ThreadError>
  /** Waits for an unsolicited message, for example that it is ready. */
  readonly next: Effect.Effect<Answer, ThreadError>
  /** Sets whether it alone keeps the process running. Default: it does. */
  readonly keepsProcess: (keeps: boolean) => void
}

/**
 * A file next to the module that names it (`import.meta.url`). tsc rewrites extensions in import statements only, not
 * in URLs, so the extension is the module's own: `.ts` if sources run under type stripping, `.js` in a build.
 */
export const fileBeside = (moduleUrl: string, name: string): URL =>
  new URL(`./${name}${moduleUrl.endsWith(".ts") ? ".ts" : ".js"}`, moduleUrl)

/**
 * A thread that runs such a file, ended by its caller. If it runs sources it must also resolve the other packages to
 * sources. Of the process's other flags, V8's apply to its threads anyway (and are rejected here), and each thread
 * reads `NODE_OPTIONS`.
 */
export const spawn = (file: URL, options: WorkerOptions = {}): Worker =>
  new Worker(file, {
    ...(file.pathname.endsWith(".ts") && { execArgv: ["--conditions=atropos-src"] }),
    ...options
  })

/** A thread that is terminated when the scope closes, even while it works. */
// Stated by the caller once, so that no question of another kind is sent.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export const start = <Question, Answer>(
  file: URL,
  options?: WorkerOptions
): Effect.Effect<Thread<Question, Answer>, ThreadError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.try({
        try: () => {
          const worker = spawn(file, options)
          // Immediately: messages before there is a listener are lost, including its end.
          return { worker, thread: toThread<Question, Answer>(worker) }
        },
        catch: (cause) =>
          new ThreadError({ reason: "notStarted", message: `cannot start a thread from ${file.href}`, cause })
      }),
      ({ worker }) => Effect.promise(() => worker.terminate())
    ),
    ({ thread }) => thread
  )

const failed = (cause: Error): ThreadError =>
  new ThreadError({
    reason: "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY" ? "outOfMemory" : "failed",
    message: Reason.of(cause),
    cause
  })

const toThread = <Question, Answer>(worker: Worker): Thread<Question, Answer> => {
  const unread: Array<Answer> = []
  let failure: ThreadError | undefined
  let waiting: ((result: Effect.Effect<Answer, ThreadError>) => void) | undefined
  /** Questions whose caller was interrupted: their answers still arrive, and are dropped. */
  let abandoned = 0
  const settle = (result: Effect.Effect<Answer, ThreadError>) => {
    const resume = waiting
    waiting = undefined
    resume?.(result)
  }
  const end = (error: ThreadError) => settle(Effect.fail((failure ??= error)))
  // Even if nothing waits: a message must not be lost, and an unhandled error would end the process.
  worker.on("message", (message: Answer) => {
    if (abandoned > 0) abandoned--
    else if (waiting === undefined) unread.push(message)
    else settle(Effect.succeed(message))
  })
  worker.on("messageerror", (cause) => end(failed(cause)))
  worker.on("error", (cause: Error) => end(failed(cause)))
  worker.on("exit", (code) =>
    end(new ThreadError({ reason: "exited", message: `the thread exited with code ${code}` }))
  )
  const receive = (isAsked: boolean) =>
    Effect.callback<Answer, ThreadError>((resume) => {
      if (unread.length > 0) return resume(Effect.succeed(unread.shift()!))
      if (failure !== undefined) return resume(Effect.fail(failure))
      waiting = resume
      return Effect.sync(() => {
        // Otherwise its answer has arrived.
        if (waiting !== resume) return
        waiting = undefined
        if (isAsked) abandoned++
      })
    })
  return {
    ask: (question, transfer = []) =>
      Effect.suspend(() => {
        // Unsolicited messages are not answers to this question.
        unread.length = 0
        if (failure === undefined) worker.postMessage(question, [...transfer])
        return receive(true)
      }),
    next: receive(false),
    keepsProcess: (keeps) => (keeps ? worker.ref() : worker.unref())
  }
}
