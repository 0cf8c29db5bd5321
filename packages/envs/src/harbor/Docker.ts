/**
 * Calls Docker by its command line: each call is a run of the program `docker`, bounded in time, ended with this
 * process.
 *
 * Works with Podman, too. Values of variables are passed in the environment of the call, never on its command line,
 * which other users of this machine can read. While calls run, the daemon is asked for its version: if it stops
 * answering, they fail, and so does every new call until it answers again.
 */
import { Deferred, Effect, Option, type Scope } from "effect"
import { tmpdir } from "node:os"
import * as Program from "../command/Program.ts"
import * as Variables from "../command/Variables.ts"
import type { ProgramError, ProcessSupervisor } from "../command/ProcessSupervisor.ts"
import { HarborError } from "./HarborError.ts"

export interface Call {
  readonly words: ReadonlyArray<string>
  /** The prefix of its error message. */
  readonly what: string
  readonly seconds?: number
  /** Variables of the call itself. */
  readonly env?: { readonly [name: string]: string }
  readonly input?: string
}

export interface Docker {
  /** The output of a call; fails with its error output. */
  readonly call: (call: Call) => Effect.Effect<string, HarborError | ProgramError>
  /** A call whose ending the caller evaluates. */
  readonly run: (
    call: Omit<Call, "what"> & {
      readonly holdsInput?: boolean
      readonly output?: Program.Output
    }
  ) => Effect.Effect<Program.Printed, HarborError | ProgramError>
  /** Program and variables of its calls, for those made when this process has been killed. */
  readonly program: ReadonlyArray<string>
  readonly variables: { readonly [name: string]: string }
}

/** Variables by which the program finds its daemon. */
const own = [
  "DOCKER_HOST",
  "DOCKER_CONTEXT",
  "DOCKER_CONFIG",
  "DOCKER_TLS_VERIFY",
  "DOCKER_CERT_PATH",
  "DOCKER_API_VERSION",
  "DOCKER_BUILDKIT",
  "CONTAINER_HOST",
  "XDG_RUNTIME_DIR",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY"
]

const outputBytes = 20_000_000

/** Pause between questions to the daemon, and the time for an answer; twice without one, it is down. */
const pauseSeconds = 5
const answerSeconds = 10

/** Ends a run after a number of seconds; undefined if it did. */
export const within = (
  running: Effect.Effect<Program.Ending, ProgramError>,
  seconds: number | undefined
): Effect.Effect<Program.Ending | undefined, ProgramError> =>
  seconds === undefined ? running : Effect.map(Effect.timeoutOption(running, seconds * 1000), Option.getOrUndefined)

const version = ["version", "--format", "{{.Server.Version}}"]

export const make = Effect.fnUntraced(function* (
  program: ReadonlyArray<string>,
  supervisor: ProcessSupervisor
): Effect.fn.Return<Docker, never, Scope.Scope> {
  const variables = Variables.kept(own)
  const unwatched = Effect.fnUntraced(function* ({
    env = {},
    holdsInput = false,
    input = "",
    output = Program.makeOutput(),
    seconds,
    words
  }: Parameters<Docker["run"]>[0]) {
    const running = Program.run({
      supervisor,
      words: [...program, ...words],
      folder: tmpdir(),
      variables: { ...variables, ...env },
      input,
      holdsInput,
      outputBytes,
      output
    })
    const ending = yield* within(running, seconds)
    return { ending, stdout: output.stdout(), complaint: output.complaint() }
  })

  const isDown = new HarborError({
    message: `the Docker daemon does not respond: ${program.join(" ")} version had no answer in ${answerSeconds} seconds, twice`
  })
  let running = 0
  let silences = 0
  let down = Deferred.makeUnsafe<never, HarborError>()
  const ask = Effect.gen(function* () {
    yield* Effect.sleep(pauseSeconds * 1000)
    if (running === 0 && silences === 0) return
    const { ending } = yield* unwatched({ words: version, seconds: answerSeconds })
    silences = ending === undefined ? silences + 1 : 0
    if (silences !== 2) return
    const fallen = down
    down = Deferred.makeUnsafe()
    yield* Deferred.fail(fallen, isDown)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.ignore(ask)))

  const run: Docker["run"] = (call) =>
    Effect.suspend(() => {
      if (silences >= 2) return Effect.fail(isDown)
      running++
      return Effect.raceFirst(unwatched(call), Deferred.await(down)).pipe(Effect.ensuring(Effect.sync(() => running--)))
    })
  return {
    program,
    variables,
    run,
    call: Effect.fnUntraced(function* ({ what, ...call }) {
      const { complaint, ending, stdout } = yield* run(call)
      if (ending?._tag === "Exited" && ending.code === 0) return stdout.trim()
      const how =
        ending === undefined
          ? `it took longer than ${call.seconds} seconds`
          : ending._tag === "Exited"
            ? complaint.slice(-1000) || `exit code ${ending.code}`
            : ending.why
      return yield* new HarborError({ message: `${what}: ${program.join(" ")} ${call.words[0]}: ${how}` })
    })
  }
})

export const answers = ({ call }: Docker): Effect.Effect<string, HarborError | ProgramError> =>
  call({ words: version, what: "no Docker daemon responds", seconds: 30 })

/** Processors of the engine; undefined if it does not report them (Podman). */
export const cpus = ({ run }: Docker): Effect.Effect<number | undefined, HarborError | ProgramError> =>
  Effect.map(run({ words: ["info", "--format", "{{.NCPU}}"], seconds: 30 }), ({ ending, stdout }) => {
    const count = Number(stdout)
    return ending?._tag === "Exited" && ending.code === 0 && count > 0 ? count : undefined
  })
