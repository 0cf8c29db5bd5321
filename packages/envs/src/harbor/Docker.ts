/**
 * Calls Docker by its command line: each call is a run of the program `docker`, bounded in time, ended with this
 * process.
 *
 * Works with Podman, too. Values of variables are passed in the environment of the call, never on its command line,
 * which other users of this machine can read.
 */
import { Effect, Option } from "effect"
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
}

export interface Docker {
  /** The output of a call; fails with its error output. */
  readonly call: (call: Call) => Effect.Effect<string, HarborError | ProgramError>
  /** A call whose ending the caller evaluates. */
  readonly run: (
    call: Omit<Call, "what"> & {
      readonly input?: string
      readonly holdsInput?: boolean
      readonly output?: Program.Output
    }
  ) => Effect.Effect<Program.Printed, ProgramError>
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

/** Ends a run after a number of seconds; undefined if it did. */
export const within = (
  running: Effect.Effect<Program.Ending, ProgramError>,
  seconds: number | undefined
): Effect.Effect<Program.Ending | undefined, ProgramError> =>
  seconds === undefined ? running : Effect.map(Effect.timeoutOption(running, seconds * 1000), Option.getOrUndefined)

export const make = (program: ReadonlyArray<string>, supervisor: ProcessSupervisor): Docker => {
  const run: Docker["run"] = Effect.fnUntraced(function* ({
    env = {},
    holdsInput = false,
    input = "",
    output = Program.makeOutput(),
    seconds,
    words
  }) {
    const running = Program.run({
      supervisor,
      words: [...program, ...words],
      folder: tmpdir(),
      variables: { ...Variables.kept(own), ...env },
      input,
      holdsInput,
      outputBytes,
      output
    })
    const ending = yield* within(running, seconds)
    return { ending, stdout: output.stdout(), complaint: output.complaint() }
  })
  return {
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
}

export const answers = ({ call }: Docker): Effect.Effect<string, HarborError | ProgramError> =>
  call({ words: ["version", "--format", "{{.Server.Version}}"], what: "no Docker daemon responds", seconds: 30 })
