/** Builds or pulls each image of a task once per environment, even if several rollouts request it simultaneously. */
import { createHash } from "node:crypto"
import { Effect, FileSystem, Semaphore } from "effect"
import type { ProcessSupervisor, ProgramError } from "../command/ProcessSupervisor.ts"
import type { Docker } from "./Docker.ts"
import * as GatewayRelay from "./GatewayRelay.ts"
import { HarborError } from "./HarborError.ts"
import * as Leftovers from "./Leftovers.ts"
import type { Machine, Task } from "./Task.ts"
import * as Tree from "./Tree.ts"

export interface Images {
  /** Provides the image of a task's machine; returns its name. */
  readonly of: (task: Task, machine: Machine) => Effect.Effect<string, Failure>
  /** An image without files, and the libraries of this machine that Node needs in it. */
  readonly empty: Effect.Effect<string, Failure>
  readonly libraries: Effect.Effect<ReadonlyArray<string>, Failure>
}

type Failure = HarborError | ProgramError

/** Concurrent builds: each uses a whole machine for a while. */
const atOnce = 2

/** One name per folder, so that a rebuild replaces the earlier image. */
const nameOf = (folder: string): string =>
  `${Leftovers.repository}:${createHash("sha256").update(folder).digest("hex").slice(0, 24)}`

/** An archive of no files. */
const nothing = "\0".repeat(1024)

export const make = Effect.fnUntraced(function* (
  docker: Docker,
  supervisor: ProcessSupervisor
): Effect.fn.Return<Images, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const builds = yield* Semaphore.make(atOnce)
  const ready = new Map<string, Effect.Effect<string, Failure>>()

  /** Once a day, so that an image in use has the day as its label; a failed one is retried with the next rollout. */
  const daily = Effect.fnUntraced(function* (key: string, prepare: (used: string) => Effect.Effect<string, Failure>) {
    const used = yield* Leftovers.usedToday
    const name = `${used} ${key}`
    const known = ready.get(name)
    if (known !== undefined) return yield* known
    const once = yield* Effect.cached(Effect.tapError(prepare(used), () => Effect.sync(() => ready.delete(name))))
    ready.set(name, once)
    return yield* once
  })

  const prepare = Effect.fnUntraced(function* (
    { name }: Task,
    { buildSeconds: seconds, image }: Machine,
    used: string
  ): Effect.fn.Return<string, Failure> {
    if (image._tag === "None") {
      return yield* new HarborError({
        message: `the task ${name} has no container: neither environment/Dockerfile nor environment.docker_image`
      })
    }
    if (image._tag === "Built") {
      yield* Effect.provideService(Tree.check(image.folder), FileSystem.FileSystem, fs)
      const tag = nameOf(image.folder)
      yield* docker.call({
        words: ["build", "--force-rm", "--label", used, "--tag", tag, image.folder],
        what: `cannot build the image of the task ${name} (${image.folder})`,
        seconds
      })
      return tag
    }
    const { ending } = yield* docker.run({ words: ["image", "inspect", image.name], seconds: 60 })
    if (ending?._tag === "Exited" && ending.code === 0) return image.name
    yield* docker.call({ words: ["pull", image.name], what: `cannot pull the image of the task ${name}`, seconds })
    return image.name
  })

  return {
    libraries: yield* Effect.cached(GatewayRelay.libraries(supervisor)),
    of: (task, machine) => {
      const { image } = machine
      const key = image._tag === "Built" ? image.folder : image._tag === "Named" ? image.name : ""
      return daily(key, (used) => builds.withPermits(1)(prepare(task, machine, used)))
    },
    empty: daily("empty", (used) => {
      const tag = `${Leftovers.repository}:empty`
      return Effect.as(
        docker.call({
          words: ["import", "--change", `LABEL ${used}`, "-", tag],
          input: nothing,
          what: "cannot make an image without files",
          seconds: 60
        }),
        tag
      )
    })
  }
})
