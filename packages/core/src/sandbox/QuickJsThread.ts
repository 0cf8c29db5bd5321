/**
 * The thread in which JavaScript runs, in QuickJS compiled to WebAssembly; not a module to import.
 *
 * A program gets an engine of its own, memory and all, that knows the language and `console`: no timers, no modules,
 * nothing of Node. Its tests run in another engine, to which plain values cross as JSON. Whatever the engines' own
 * limits do not stop, the deadline of the other side does, by ending the thread.
 */
import { parentPort, workerData } from "node:worker_threads"
import { newQuickJSWASMModuleFromVariant, type QuickJSContext, type QuickJSHandle } from "quickjs-emscripten-core"
import type { Ended } from "./Interpreter.ts"
import { javaScriptJudge, javaScriptRunner } from "./JavaScriptHarness.ts"
import * as SharedOutput from "./SharedOutput.ts"

export interface Job {
  readonly source: string
  readonly stdin: string
  readonly timeMillis: number
  readonly outputBytes: number
  readonly tests?: { readonly setup: string; readonly tests: ReadonlyArray<string>; readonly entry: string | null }
}

/** What became of a job. */
export interface Done {
  readonly type: "done"
  readonly ended: Ended
  /** Whether the time was up. */
  readonly isLate: boolean
  /** The judge's, as JSON. */
  readonly answer?: string
}

/** `ready` is said once, when the thread can take its first job. */
export type FromThread = { readonly type: "ready" } | Done

export interface ThreadData {
  readonly memoryBytes: number
  readonly output: SharedArrayBuffer
}

// Only ever started as a worker, with this data.
const { memoryBytes, output: buffer } = workerData as ThreadData
const output = SharedOutput.over(buffer)
const stackBytes = 256 * 2 ** 10

const write = (descriptor: 1 | 2, text: string, limit: number): boolean =>
  SharedOutput.write(output, descriptor, new TextEncoder().encode(text), limit)

/** An engine with a harness; ends what runs in it once it may not go on. */
const start = async (harness: string, mayGoOn: () => boolean) => {
  // A module of its own, so that not even a broken engine reaches another.
  const runtime = (await newQuickJSWASMModuleFromVariant(import("@jitl/quickjs-wasmfile-release-sync"))).newRuntime()
  runtime.setMemoryLimit(memoryBytes)
  runtime.setMaxStackSize(stackBytes)
  runtime.setInterruptHandler(() => !mayGoOn())
  const context = runtime.newContext()
  const valueOf = (result: ReturnType<QuickJSContext["evalCode"]>): QuickJSHandle => {
    if (result.error === undefined) return result.value
    throw new Uncaught(context.dump(result.error))
  }
  const link = valueOf(context.evalCode(harness, "harness.js"))
  return {
    context,
    link,
    evaluate: (source: string, file: string) => void valueOf(context.evalCode(source, file)),
    call: (target: QuickJSHandle, ...given: ReadonlyArray<QuickJSHandle>) =>
      context.getString(valueOf(context.callFunction(target, context.undefined, ...given))),
    /** Runs what waits for promises. */
    settle: () => {
      while (runtime.hasPendingJob()) {
        const result = runtime.executePendingJobs(1)
        if (result.error !== undefined) throw new Uncaught(context.dump(result.error))
      }
    }
  }
}

/** What a program did not catch, as QuickJS describes it. */
class Uncaught extends Error {
  constructor(thrown: unknown) {
    const { message = "", name = "", stack = "" } = Object(thrown) as { readonly [key: string]: unknown }
    super(name === "" ? String(thrown) : `${String(name)}: ${String(message)}\n${String(stack)}`)
  }
}

const run = async (job: Job): Promise<Done> => {
  const deadline = performance.now() + job.timeMillis
  const isLate = () => performance.now() >= deadline
  let isFull = false
  const { call, context, evaluate, link, settle } = await start(javaScriptRunner, () => !isFull && !isLate())
  const part = (name: string) => context.getProp(link, name)
  const print = context.newFunction("print", (level, text) => {
    isFull ||= !write(context.getString(level) === "out" ? 1 : 2, `${context.getString(text)}\n`, job.outputBytes)
  })
  context.unwrapResult(context.callFunction(part("begin"), context.undefined, print, context.newString(job.stdin)))

  let ended: Ended = { ending: "exited", exitCode: 0 }
  let answer: string | undefined
  try {
    evaluate(job.source, "program.js")
    settle()
    if (job.tests !== undefined) {
      const names: unknown = JSON.parse(call(part("names")))
      const invoke = part("invoke")
      answer = await judge({ ...job.tests, names }, isLate, (name, given) => {
        if (isFull || isLate()) return ""
        const result = call(invoke, context.newString(name), context.newString(given))
        return isFull || isLate() ? "" : result
      })
    }
  } catch (error) {
    ended =
      error instanceof Uncaught
        ? { ending: "exited", exitCode: 1 }
        : { ending: "crashed", why: error instanceof Error ? error.message : String(error) }
    if (!isFull && error instanceof Error) write(2, `${error.message}\n`, job.outputBytes)
  }
  return {
    type: "done",
    ended: isFull ? { ending: "outputLimit" } : ended,
    isLate: isLate(),
    ...(answer !== undefined && { answer })
  }
}

const broken = (why: string): string => JSON.stringify({ broken: why })

/**
 * The results of the tests, which ask the program. Once a call of the program failed here, where its own errors do not
 * come, it is gone: all calls from then on have no answer.
 */
const judge = async (
  job: NonNullable<Job["tests"]> & { readonly names: unknown },
  isLate: () => boolean,
  ask: (name: string, given: string) => string
) => {
  const { call, context, link, settle } = await start(javaScriptJudge, () => !isLate())
  let gone: unknown
  const asking = context.newFunction("ask", (name, given) => {
    if (gone !== undefined) return context.newString("")
    try {
      return context.newString(ask(context.getString(name), context.getString(given)))
    } catch (error) {
      gone = error ?? "gone"
      return context.newString("")
    }
  })
  const callLink = (part: string, ...given: ReadonlyArray<QuickJSHandle>) => call(context.getProp(link, part), ...given)
  const unset = callLink("begin", asking, context.newString(JSON.stringify(job)))
  if (unset !== "") return broken(unset)
  for (const index of job.tests.keys()) {
    const unread = callLink("test", context.newNumber(index))
    if (unread !== "") return broken(unread)
    settle()
    callLink("end")
  }
  return callLink("results")
}

/** To the thread that started this one, which has no origin. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const post = (message: FromThread) => parentPort?.postMessage(message)

parentPort?.on("message", (job: Job) => {
  run(job).then(post, (error: unknown) => {
    // Not the program's doing: the other side is told that this thread is of no use.
    throw error
  })
})
post({ type: "ready" })
