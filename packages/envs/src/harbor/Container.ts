/**
 * Runs one container for the lifetime of a scope; its first process waits on its input, which this process holds.
 *
 * So it stops by itself when this process ends, even by `kill -9`: the end of the input ends the container, and the
 * supervisor removes it (`Leftovers`).
 */
import { randomBytes } from "node:crypto"
import { Deferred, Effect, type Scope } from "effect"
import * as Program from "../command/Program.ts"
import * as CommandVariables from "../command/Variables.ts"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import * as Box from "./Box.ts"
import type { Docker } from "./Docker.ts"
import { HarborError } from "./HarborError.ts"
import * as Leftovers from "./Leftovers.ts"
import type { Machine, Variables } from "./Task.ts"

export interface Options {
  readonly docker: Docker
  readonly image: string
  readonly machine: Pick<Machine, "cpus" | "gpus" | "memoryMb" | "workdir">
  readonly env: Variables
  /** `container:NAME`: that of another container. */
  readonly network: "none" | "default" | `container:${string}`
  /** Folders of this machine, as `HOST:CONTAINER` or `HOST:CONTAINER:ro`. */
  readonly volumes: ReadonlyArray<string>
  /** A stopped container whose volumes it sees. */
  readonly volumesFrom?: string
  /** More options of `docker run`. */
  readonly options?: ReadonlyArray<string>
  /** Its first process, which prints the line `ready` and ends with its input; absent: a shell that only waits. */
  readonly command?: ReadonlyArray<string>
  /** The error if it does not start. */
  readonly what: string
}

export interface Container {
  readonly name: string
  /** Fails if the engine does; a container that was ended from the inside is an ending of the run. */
  readonly exec: (run: Box.Run) => Effect.Effect<Program.Printed, HarborError | ProgramError>
  /** Ends all its processes; its files stay until the scope closes. */
  readonly stop: Effect.Effect<void, HarborError | ProgramError>
}

export const ready = "atropos: the container is ready"
const startSeconds = 300
const callSeconds = 120

/** Processes and threads of a container; a fork bomb ends there. */
const maxProcesses = 4096

/** The exit code of `docker` if it failed itself, as when the daemon ends. */
const failedItself = 125

/** Messages of `docker exec` itself; a script may print the same. */
const ofClient = /^(?:error|cannot connect|oci runtime|unable to find)/im

/** Waits for the end of its input; requires only a shell. */
const waiting = `echo "${ready}"; while read -r _; do :; done`

/**
 * A variable by its name alone, with the value in the call's environment; a variable that would affect the call itself
 * is passed with its value.
 */
const variables = (env: Variables): ReadonlyArray<string> =>
  Object.entries(env).flatMap(([name, value]) => ["--env", CommandVariables.steers(name) ? `${name}=${value}` : name])

const ofCall = (env: Variables): Variables =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !CommandVariables.steers(name)))

const limits = ({ cpus, gpus, memoryMb, workdir }: Options["machine"]): ReadonlyArray<string> => [
  "--pids-limit",
  String(maxProcesses),
  ...(cpus === undefined ? [] : ["--cpus", String(cpus)]),
  // The same limit with swap: Docker's own is twice the memory.
  ...(memoryMb === undefined ? [] : ["--memory", `${memoryMb}m`, "--memory-swap", `${memoryMb}m`]),
  ...(gpus === undefined ? [] : ["--gpus", String(gpus)]),
  ...(workdir === undefined ? [] : ["--workdir", workdir])
]

export const scoped = Effect.fn("Container.scoped")(function* ({
  command = ["sh", "-c", waiting],
  docker,
  env,
  image,
  machine,
  network,
  options = [],
  volumes,
  volumesFrom,
  what
}: Options): Effect.fn.Return<Container, HarborError | ProgramError, Scope.Scope> {
  const name = `atropos-${randomBytes(6).toString("hex")}`
  const isReady = yield* Deferred.make<void, HarborError | ProgramError>()
  yield* Effect.addFinalizer(() =>
    docker.run({ words: ["rm", "--force", "--volumes", name], seconds: callSeconds }).pipe(
      Effect.flatMap(({ complaint, ending }) =>
        ending?._tag === "Exited" && (ending.code === 0 || /no such container/i.test(complaint))
          ? Effect.void
          : Effect.logWarning("a container stays", { name, reason: complaint })
      ),
      Effect.catch(({ message }) => Effect.logWarning("a container stays", { name, reason: message }))
    )
  )
  const printed = Program.makeOutput()
  const output: Program.Output = {
    ...printed,
    add: (stream, bytes) => {
      printed.add(stream, bytes)
      if (printed.stdout().includes(ready)) Deferred.doneUnsafe(isReady, Effect.void)
    }
  }
  const words = [
    "run",
    "--interactive",
    "--init",
    "--name",
    name,
    "--label",
    Leftovers.label,
    ...(network === "default" ? [] : ["--network", network]),
    ...limits(machine),
    ...variables(env),
    ...volumes.flatMap((volume) => ["--volume", volume]),
    ...(volumesFrom === undefined ? [] : ["--volumes-from", volumesFrom]),
    ...options,
    image,
    ...command
  ]
  const ended = yield* Deferred.make<Program.Printed, HarborError | ProgramError>()
  yield* docker.run({ words, env: ofCall(env), holdsInput: true, output }).pipe(
    Effect.tap(({ complaint }) =>
      Deferred.fail(
        isReady,
        new HarborError({ message: `${what}: ${complaint.slice(-1000) || "it exited immediately"}` })
      )
    ),
    Effect.tapError((error) => Deferred.fail(isReady, error)),
    Deferred.into(ended),
    Effect.forkScoped
  )
  yield* Effect.timeoutOrElse(Deferred.await(isReady), {
    duration: startSeconds * 1000,
    orElse: () => Effect.fail(new HarborError({ message: `${what}: it did not start within ${startSeconds} seconds` }))
  })
  /** An exit code of `docker exec` is the script's unless the container, or the engine, has ended. */
  const checked = Effect.fnUntraced(function* (printed: Program.Printed) {
    const { complaint, ending } = printed
    if (ending?._tag !== "Exited" || ending.code === 0) return printed
    if (ending.code < failedItself && !ofClient.test(complaint)) return printed
    const isRunning = yield* docker.call({
      words: ["inspect", "--format", "{{.State.Running}}", name],
      what: `a command in a container failed (${complaint || `exit code ${ending.code}`})`,
      seconds: callSeconds
    })
    if (isRunning === "true") return printed
    const end = yield* Deferred.await(ended)
    if (end.ending?._tag === "Exited" && end.ending.code !== failedItself) {
      const why = `stopped its container (exit code ${end.ending.code}), in which nothing runs any more`
      return { ...printed, ending: { _tag: "Stopped", why } } satisfies Program.Printed
    }
    return yield* new HarborError({ message: `a container was ended by its engine: ${end.complaint}` })
  })
  return {
    name,
    exec: ({ env: own = {}, input, script, seconds, user }) =>
      docker
        .run({
          words: [
            "exec",
            ...(input === undefined ? [] : ["--interactive"]),
            ...(user === undefined ? [] : ["--user", user]),
            ...(machine.workdir === undefined ? [] : ["--workdir", machine.workdir]),
            ...variables(own),
            name,
            ...Box.words(script, seconds)
          ],
          env: ofCall(own),
          ...(input !== undefined && { input }),
          // The container's own limit fires first, if it has one.
          ...(seconds !== undefined && { seconds: seconds + 5 })
        })
        .pipe(Effect.flatMap(checked)),
    stop: Effect.asVoid(
      docker.call({ words: ["stop", "--time", "0", name], what: "cannot stop a container", seconds: callSeconds })
    )
  }
})
