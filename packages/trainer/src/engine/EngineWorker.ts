/**
 * The engine's thread: executes commands between steps of the scheduler, and reports each step in one message.
 *
 * An error is reported and ends the thread; its owner starts another. When asked to close, it ends between two runs.
 */
import { Cause, Effect, Latch } from "effect"
import { parentPort, workerData } from "node:worker_threads"
import * as Ort from "../exec/Ort.ts"
import * as ExecutorRunner from "./ExecutorRunner.ts"
import type { Command } from "./EngineProtocol.ts"
import type { Closing, Message, Setup } from "./EngineThread.ts"
import { Scheduler } from "./Scheduler.ts"

/** Below this, a second thread costs more than it saves. */
const smallModel = 2_000_000

/** Interval of heartbeats during steps without results, such as those of a long prompt. */
const silentMillis = 1000

const program = Effect.gen(function* () {
  const port = parentPort
  if (port === null) return yield* Effect.die("this module must run in the engine's thread")
  // The owner started this thread with these.
  const { device, model, settings } = workerData as Setup
  const threads = settings.threads === 0 && model.parameters < smallModel ? 1 : settings.threads
  const executor = yield* Ort.make({ device, threads })
  const work = yield* Latch.make()
  const scheduler = new Scheduler(yield* ExecutorRunner.make(executor, model), settings, () => void work.openUnsafe())
  yield* Effect.addFinalizer(() => Effect.sync(() => scheduler.dispose()))
  const commands: Array<Command> = []
  const closing = { isAsked: false }
  port.on("message", (command: Command | Closing) => {
    if (command._tag === "Close") closing.isAsked = true
    else commands.push(command)
    work.openUnsafe()
  })
  const send = (message: Message) => port.postMessage(message)
  send({ _tag: "Ready" })
  let reportedAt = performance.now()
  while (!closing.isAsked) {
    if (commands.length === 0 && scheduler.isIdle) {
      work.closeUnsafe()
      yield* work.await
    }
    for (const command of commands.splice(0)) yield* scheduler.execute(command)
    yield* scheduler.step
    const report = scheduler.takeReport()
    const now = performance.now()
    if (report.tokens.length + report.answers.length === 0 && now - reportedAt < silentMillis) continue
    reportedAt = now
    send({ _tag: "Report", ...report })
  }
}).pipe(
  Effect.scoped,
  Effect.tap(Effect.sync(() => parentPort?.close())),
  Effect.catchCause((cause) =>
    Effect.sync(() => {
      const error = Cause.squash(cause)
      const message = error instanceof Error ? error.message : String(error)
      parentPort?.postMessage({ _tag: "Broken", message } satisfies Message)
      process.exitCode = 1
      parentPort?.close()
    })
  )
)

Effect.runFork(program)
