/**
 * Runs interpreters of this machine's Python, each a process in a jail (`Jail`): for programs that need native
 * packages, on Linux.
 *
 * A runner is a process for one run. Its lines to the judge go through this process, which counts the traffic. Output
 * and process are cut at the output limit. Ending a jail ends everything in it.
 */
import type { Socket } from "node:net"
import type { Writable } from "node:stream"
import { Deferred, Duration, Effect, Pool, Queue, type Scope } from "effect"
import { type Ended, type Interpreters, type Judge, type Runner, SandboxError } from "./Interpreter.ts"
import * as Jail from "./Jail.ts"
import { inLines, maxTrafficBytes, whyEnded } from "./Lines.ts"
import { script } from "./PythonHarness.ts"

export interface Options {
  readonly workers: number
  readonly memoryBytes: number
  readonly python: string
  /** Additional folders that it needs, for example those of a virtual environment. */
  readonly visible: ReadonlyArray<string>
}

const fileBytes = 32 * 2 ** 20
const idle = Duration.minutes(2)
const startTimeout = Duration.seconds(30)

/** Control in and out, peer in and out. */
const descriptors = ["3", "4", "5", "6"] as const

/** Closes all other inherited descriptors, and reports that it is ready before it waits for a job. */
const prelude = `
for name in os.listdir("/proc/self/fd"):
    if int(name) > ${2 + descriptors.length}:
        try:
            os.close(int(name))
        except OSError:
            # The listing's own.
            pass
sender(4)("ready")
`

/** A process in a jail, with its lines. */
interface Inmate {
  readonly stdin: Writable
  readonly control: Writable
  readonly peer: Writable
  readonly lines: Queue.Queue<string>
  readonly ended: Effect.Effect<Ended>
  readonly end: (ended: Ended) => void
  readonly listen: (listeners: Listeners) => void
}

interface Listeners {
  readonly output?: (descriptor: 1 | 2, bytes: Uint8Array) => void
  readonly peer?: (bytes: Uint8Array) => void
  readonly ended?: (ended: Ended) => void
}

interface BubblewrapRunner extends Runner {
  readonly inmate: Inmate
  readonly keepOutput: (limit: number) => NonNullable<Listeners["output"]>
}

interface BubblewrapJudge extends Judge {
  readonly inmate: Inmate
}

/** Starts none before it is needed. */
export const make = Effect.fn("Bubblewrap.make")(function* (options: Options) {
  const pool = { min: 0, max: options.workers, timeToLive: idle }
  return {
    runners: yield* Pool.makeWithTTL({ acquire: Effect.map(start(options, "runner"), toRunner), ...pool }),
    judges: yield* Pool.makeWithTTL({ acquire: Effect.map(start(options, "judge"), toJudge), ...pool }),
    scope: yield* Effect.scope,
    keepsRunners: false,
    begin
  } satisfies Interpreters<BubblewrapRunner, BubblewrapJudge>
})

const begin: Interpreters<BubblewrapRunner, BubblewrapJudge>["begin"] = (
  { inmate, keepOutput },
  { outputBytes, serve, source, stdin },
  judging
) => {
  const output = keepOutput(outputBytes)
  if (judging === undefined) {
    inmate.listen({ output })
  } else {
    const { job, judge } = judging
    const toJudge = (line: string) => judge.inmate.peer.write(`${job.number} ${line}\n`)
    const lines = inLines(toJudge)
    let trafficBytes = 0
    const peer = (bytes: Uint8Array) => {
      trafficBytes += bytes.length
      if (trafficBytes > maxTrafficBytes) inmate.end({ ending: "outputLimit" })
      else lines(bytes)
    }
    inmate.listen({ output, peer, ended: (ended) => toJudge(`!${whyEnded(ended)}`) })
    judge.inmate.listen({ peer: (bytes) => inmate.peer.write(bytes) })
    judge.inmate.control.write(`${JSON.stringify(job)}\n`)
  }
  inmate.stdin.end(stdin)
  inmate.control.write(`${JSON.stringify({ source, serve })}\n`)
}

const toRunner = (inmate: Inmate): BubblewrapRunner => {
  const output = {
    1: { chunks: [] as Array<Uint8Array>, length: 0 },
    2: { chunks: [] as Array<Uint8Array>, length: 0 }
  }
  const textOf = (descriptor: 1 | 2) =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(output[descriptor].chunks))
  return {
    inmate,
    ready: Effect.void,
    ended: inmate.ended,
    output: () => ({ stdout: textOf(1), stderr: textOf(2) }),
    stop: () => inmate.end({ ending: "stopped" }),
    keepOutput: (limit) => (descriptor, bytes) => {
      const one = output[descriptor]
      const fitting = bytes.subarray(0, limit - one.length)
      one.chunks.push(fitting)
      one.length += fitting.length
      if (fitting.length < bytes.length) inmate.end({ ending: "outputLimit" })
    }
  }
}

const toJudge = (inmate: Inmate): BubblewrapJudge => ({
  inmate,
  // It waits for the next job as soon as it has answered, if it is still alive.
  ready: Effect.raceFirst(
    Effect.flatMap(inmate.ended, (ended) => Effect.fail(new SandboxError({ message: whyEnded(ended) }))),
    Effect.void
  ),
  answer: Effect.raceFirst(Queue.take(inmate.lines), Effect.as(inmate.ended, undefined)),
  abandon: (number, why) => inmate.peer.write(`${number} !${why}\n`)
})

const start = Effect.fnUntraced(function* (
  { memoryBytes, python, visible }: Options,
  role: "judge" | "runner"
): Effect.fn.Return<Inmate, SandboxError, Scope.Scope> {
  const lines = yield* Queue.unbounded<string>()
  const ended = yield* Deferred.make<Ended>()
  let listeners: Listeners = {}
  let complaint = ""
  const finish = (how: Ended): void => {
    if (Deferred.doneUnsafe(ended, Effect.succeed(how))) listeners.ended?.(how)
  }

  const source = script(role, descriptors, prelude)
  const command = [python, "-s", "-P", "-B", "-X", "utf8", "-c", source]
  const child = yield* Jail.scoped({ command, visible, memoryBytes, fileBytes, extraPipes: descriptors.length })
  // Sockets, despite their types: each is readable and writable.
  const [stdin, stdout, stderr, control, controlOut, peer, peerOut] = child.stdio as unknown as ReadonlyArray<Socket>
  for (const pipe of [stdin, stdout, stderr, control, controlOut, peer, peerOut]) {
    // A pipe breaks when the process ends, which is reported below.
    pipe?.on("error", () => undefined)
  }
  const hear = (descriptor: 1 | 2) => (bytes: Uint8Array) => {
    if (complaint.length < 1000) complaint += new TextDecoder().decode(bytes)
    listeners.output?.(descriptor, bytes)
  }
  stdout?.on("data", hear(1))
  stderr?.on("data", hear(2))
  controlOut?.on(
    "data",
    inLines((line) => Queue.offerUnsafe(lines, line))
  )
  peerOut?.on("data", (bytes: Uint8Array) => listeners.peer?.(bytes))
  child
    .on("error", (error) => finish({ ending: "lost", why: error.message, outOfMemory: false }))
    .on("close", (code, signal) =>
      finish(code === null ? { ending: "crashed", why: `ended by ${signal}` } : { ending: "exited", exitCode: code })
    )

  const failed = (why: string) =>
    new SandboxError({ message: `${python} did not start in bubblewrap: ${complaint.trim() || why}` })
  yield* Effect.raceFirst(
    Queue.take(lines),
    Effect.flatMap(Deferred.await(ended), (how) => Effect.fail(failed(whyEnded(how))))
  ).pipe(
    Effect.timeoutOrElse({
      duration: startTimeout,
      orElse: () => Effect.fail(failed(`no response within ${Duration.format(startTimeout)}`))
    })
  )
  if (stdin === undefined || control === undefined || peer === undefined) return yield* failed("its pipes are missing")
  // A runner sends nothing more here, and its program must not fill this process with unread data.
  if (role === "runner") controlOut?.destroy()
  return {
    stdin,
    control,
    peer,
    lines,
    ended: Deferred.await(ended),
    end: (how) => {
      finish(how)
      Jail.kill(child)
    },
    listen: (to) => {
      listeners = to
    }
  }
})
