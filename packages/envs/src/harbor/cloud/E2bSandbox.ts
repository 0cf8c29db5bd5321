/**
 * Runs one E2B sandbox for the lifetime of a scope.
 *
 * It lives by a lease, which is extended while the scope is open: a sandbox whose process was killed ends by itself
 * within `leaseSeconds`.
 */
import { Clock, Effect, Option, Schema, type Scope, Stream } from "effect"
import * as Program from "../../command/Program.ts"
import * as Box from "../Box.ts"
import { HarborError } from "../HarborError.ts"
import type { Variables } from "../Task.ts"
import type { Api, Created } from "./E2bApi.ts"

export const leaseSeconds = 180
const renewal = "1 minute"

export interface Sandbox {
  /** `folder`: where it runs; default: the task's working directory. */
  readonly run: (run: Box.Run, folder?: string) => Effect.Effect<Program.Printed, HarborError>
  /** Writes a file as root. */
  readonly write: (path: string, bytes: Uint8Array) => Effect.Effect<void, HarborError>
  /** Reads a file as root; None if missing. */
  readonly read: (path: string) => Effect.Effect<Option.Option<Uint8Array>, HarborError>
}

/** What sandboxes have cost: their number, and the seconds that they lived. */
export interface Usage {
  sandboxes: number
  seconds: number
}

export interface Options {
  readonly api: Api
  readonly template: string
  readonly hasNetwork: boolean
  readonly env: Variables
  readonly workdir: string
  readonly task: string
  readonly usage: Usage
}

const Event = Schema.Struct({
  event: Schema.Struct({
    start: Schema.optionalKey(Schema.Struct({ pid: Schema.Int })),
    data: Schema.optionalKey(
      Schema.Struct({ stdout: Schema.optionalKey(Schema.String), stderr: Schema.optionalKey(Schema.String) })
    ),
    end: Schema.optionalKey(
      Schema.Struct({
        // Protobuf's JSON omits zeros.
        exitCode: Schema.optionalKey(Schema.Int),
        exited: Schema.optionalKey(Schema.Boolean),
        status: Schema.optionalKey(Schema.String)
      })
    ),
    keepalive: Schema.optionalKey(Schema.Unknown)
  })
})
const decodeEvent = Schema.decodeUnknownEffect(Event)

type End = NonNullable<(typeof Event.Type)["event"]["end"]>

/** A shell's code for a command that was killed, as by its own time limit. */
const killed = 137

const endingOf = ({ exitCode = 0, exited = false, status = "" }: End): Program.Ending => {
  if (exited) return { _tag: "Exited", code: exitCode }
  return /killed/i.test(status)
    ? { _tag: "Exited", code: killed }
    : { _tag: "Stopped", why: `was ended (${status || "no reason given"})` }
}

const executed = Effect.fnUntraced(function* (
  { api, env }: Options,
  created: Created,
  { env: own = {}, input, script, seconds, user = "root" }: Box.Run,
  cwd: string
): Effect.fn.Return<Program.Printed, HarborError> {
  const output = Program.makeOutput()
  let bytesLeft = Box.outputBytes
  let pid: number | undefined
  let ending: Program.Ending | undefined
  const words = Box.words(script, seconds)
  const file = `/tmp/.atropos-input-${user}`
  if (input !== undefined) yield* api.write(created, file, new TextEncoder().encode(input), user)
  const args = input === undefined ? words.slice(1) : ["-c", `exec "$@" <${file}`, "sh", ...words]
  const kill = Effect.suspend(() =>
    pid === undefined || ending !== undefined
      ? Effect.void
      : Effect.ignore(api.end(created, pid, user), { log: "Warn" })
  )
  const add = (stream: "stdout" | "stderr", text: string | undefined): void => {
    if (text === undefined) return
    const bytes = Buffer.from(text, "base64")
    bytesLeft -= bytes.length
    output.add(stream, bytes)
  }
  const running = api.start(created, { cmd: words[0], args, envs: { ...env, ...own }, cwd }, user).pipe(
    Stream.mapEffect((message) =>
      Effect.mapError(
        decodeEvent(message),
        ({ message }) => new HarborError({ message: `the answer of a sandbox cannot be read: ${message}` })
      )
    ),
    Stream.tap(({ event: { data, end, start } }) => {
      if (start !== undefined) pid = start.pid
      add("stdout", data?.stdout)
      add("stderr", data?.stderr)
      if (end !== undefined) ending = endingOf(end)
      return Effect.void
    }),
    Stream.takeUntil(() => ending !== undefined || bytesLeft < 0),
    Stream.runDrain
  )
  // The limit inside fires first, if the machine has one.
  const limited = seconds === undefined ? Effect.asSome(running) : Effect.timeoutOption(running, (seconds + 5) * 1000)
  const isOver = Option.isSome(yield* Effect.ensuring(limited, kill))
  if (isOver && ending === undefined && bytesLeft >= 0) {
    return yield* new HarborError({ message: `the sandbox ${created.sandboxID} reported no end of a command` })
  }
  if (bytesLeft < 0) ending = { _tag: "Stopped", why: `printed more than ${Box.outputBytes} bytes` }
  return { ending, stdout: output.stdout(), complaint: output.complaint() }
})

export const scoped = Effect.fn("E2bSandbox.scoped")(function* (
  options: Options
): Effect.fn.Return<Sandbox, HarborError, Scope.Scope> {
  const { api, hasNetwork, task, template, usage } = options
  const created = yield* Effect.acquireRelease(
    Effect.gen(function* () {
      const made = yield* api.create({
        templateID: template,
        timeout: leaseSeconds,
        secure: true,
        allow_internet_access: hasNetwork,
        metadata: { atropos: task }
      })
      return { made, since: yield* Clock.currentTimeMillis }
    }),
    ({ made, since }) =>
      Effect.gen(function* () {
        usage.sandboxes += 1
        usage.seconds += ((yield* Clock.currentTimeMillis) - since) / 1000
        yield* api
          .kill(made.sandboxID)
          .pipe(
            Effect.catch(({ message }) =>
              Effect.logWarning("a sandbox stays until its lease ends", { sandbox: made.sandboxID, reason: message })
            )
          )
      })
  )
  const { made } = created
  yield* Effect.sleep(renewal).pipe(
    Effect.andThen(api.extend(made.sandboxID, leaseSeconds)),
    // The lease has room for another try.
    Effect.catch(({ message }) =>
      Effect.as(Effect.logWarning("a sandbox was not extended", { sandbox: made.sandboxID, reason: message }), true)
    ),
    Effect.repeat({ while: (isThere) => isThere }),
    Effect.forkScoped
  )
  return {
    run: (run, folder = options.workdir) => executed(options, made, run, folder),
    write: (path, bytes) => api.write(made, path, bytes, "root"),
    read: (path) => api.read(made, path, "root")
  }
})
