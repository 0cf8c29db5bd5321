/**
 * Runs one container for the lifetime of a scope; its first process waits on its input, which this process holds.
 *
 * So it stops by itself when this process ends, even by `kill -9`: the end of the input ends the container. Containers
 * stopped in that way are removed by the next environment on this machine (`sweep`).
 */
import { randomBytes } from "node:crypto"
import * as Platform from "@atropos/core/base/Platform"
import { Deferred, Effect, type Scope } from "effect"
import * as Program from "../command/Program.ts"
import * as CommandVariables from "../command/Variables.ts"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import * as Box from "./Box.ts"
import type { Docker } from "./Docker.ts"
import { HarborError } from "./HarborError.ts"
import type { Machine, Variables } from "./Task.ts"

export interface Options {
  readonly docker: Docker
  readonly image: string
  readonly machine: Machine
  readonly env: Variables
  readonly network: "none" | "host" | "default"
  /** Folders of this machine, as `HOST:CONTAINER` or `HOST:CONTAINER:ro`. */
  readonly volumes: ReadonlyArray<string>
  /** A stopped container whose volumes it sees. */
  readonly volumesFrom?: string
  /** The error if it does not start. */
  readonly what: string
}

export interface Container {
  readonly name: string
  readonly exec: (run: Box.Run) => Effect.Effect<Program.Printed, ProgramError>
  /** Ends all its processes; its files stay until the scope closes. */
  readonly stop: Effect.Effect<void, HarborError | ProgramError>
}

/** Labels containers and images of this process. */
export const label = (pid: number = process.pid): string => `atropos.harbor=${pid}`

const ready = "atropos: the container is ready"
const startSeconds = 300
const callSeconds = 120

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

const limits = ({ cpus, gpus, memoryMb, workdir }: Machine): ReadonlyArray<string> => [
  ...(cpus === undefined ? [] : ["--cpus", String(cpus)]),
  ...(memoryMb === undefined ? [] : ["--memory", `${memoryMb}m`]),
  ...(gpus === undefined ? [] : ["--gpus", String(gpus)]),
  ...(workdir === undefined ? [] : ["--workdir", workdir])
]

export const scoped = Effect.fn("Container.scoped")(function* ({
  docker,
  env,
  image,
  machine,
  network,
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
    label(),
    ...(network === "default" ? [] : ["--network", network]),
    ...limits(machine),
    ...variables(env),
    ...volumes.flatMap((volume) => ["--volume", volume]),
    ...(volumesFrom === undefined ? [] : ["--volumes-from", volumesFrom]),
    image,
    "sh",
    "-c",
    waiting
  ]
  yield* docker.run({ words, env: ofCall(env), holdsInput: true, output }).pipe(
    Effect.flatMap(({ complaint }) =>
      Deferred.fail(
        isReady,
        new HarborError({ message: `${what}: ${complaint.slice(-1000) || "it exited immediately"}` })
      )
    ),
    Effect.catch((error) => Deferred.fail(isReady, error)),
    Effect.forkScoped
  )
  yield* Effect.timeoutOrElse(Deferred.await(isReady), {
    duration: startSeconds * 1000,
    orElse: () => Effect.fail(new HarborError({ message: `${what}: it did not start within ${startSeconds} seconds` }))
  })
  return {
    name,
    exec: ({ env: own = {}, input, script, seconds, user }) =>
      docker.run({
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
      }),
    stop: Effect.asVoid(
      docker.call({ words: ["stop", "--time", "0", name], what: "cannot stop a container", seconds: callSeconds })
    )
  }
})

/** Removes containers and images left by processes that have ended. */
export const sweep = Effect.fn("Container.sweep")(function* ({ call, run }: Docker) {
  for (const [list, remove] of [
    [
      ["ps", "--all", "--filter", "label=atropos.harbor", "--format", '{{.ID}} {{.Label "atropos.harbor"}}'],
      ["rm", "--force", "--volumes"]
    ],
    [
      ["images", "--filter", "label=atropos.harbor", "--format", "{{.ID}} {{.Repository}}:{{.Tag}}"],
      ["rmi", "--force"]
    ]
  ] as const) {
    const lines = (yield* call({ words: list, what: "cannot list containers", seconds: callSeconds })).split("\n")
    for (const line of lines) {
      const [id, owner = ""] = line.split(" ")
      // The label itself, or the name of a snapshot.
      const pid = /^(?:.*:)?(\d+)(?:-\w+)?$/.exec(owner)?.[1]
      if (id !== undefined && pid !== undefined && !(yield* Platform.isAlive(Number(pid))))
        yield* run({ words: [...remove, id], seconds: callSeconds })
    }
  }
})
