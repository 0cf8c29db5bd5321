/** Builds or pulls each image of a task once per environment, even if several rollouts request it simultaneously. */
import { createHash } from "node:crypto"
import { Effect, FileSystem, Semaphore } from "effect"
import type { ProgramError } from "../command/ProcessSupervisor.ts"
import type { Docker } from "./Docker.ts"
import { HarborError } from "./HarborError.ts"
import type { Machine, Task } from "./Task.ts"
import * as Tree from "./Tree.ts"

/** Provides the image of a machine; returns its name. */
export type Images = (task: Task, machine: Machine) => Effect.Effect<string, HarborError | ProgramError>

/** Concurrent builds: each uses a whole machine for a while. */
const atOnce = 2

/** One name per folder, so that a rebuild replaces the earlier image. */
const nameOf = (folder: string): string =>
  `atropos-harbor:${createHash("sha256").update(folder).digest("hex").slice(0, 24)}`

export const make = Effect.fnUntraced(function* (
  docker: Docker
): Effect.fn.Return<Images, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const builds = yield* Semaphore.make(atOnce)
  const ready = new Map<string, Effect.Effect<string, HarborError | ProgramError>>()

  const prepare = Effect.fnUntraced(function* ({ name }: Task, { buildSeconds: seconds, image }: Machine) {
    if (image._tag === "None") {
      return yield* new HarborError({
        message: `the task ${name} has no container: neither environment/Dockerfile nor environment.docker_image`
      })
    }
    if (image._tag === "Built") {
      yield* Effect.provideService(Tree.check(image.folder), FileSystem.FileSystem, fs)
      const tag = nameOf(image.folder)
      yield* docker.call({
        words: ["build", "--tag", tag, image.folder],
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

  return (task, machine) =>
    Effect.gen(function* () {
      const { image } = machine
      const key = image._tag === "Built" ? image.folder : image._tag === "Named" ? image.name : ""
      const known = ready.get(key)
      if (known !== undefined) return yield* known
      // A failed one is retried with the next rollout.
      const once = yield* Effect.cached(
        builds
          .withPermits(1)(prepare(task, machine))
          .pipe(Effect.tapError(() => Effect.sync(() => ready.delete(key))))
      )
      ready.set(key, once)
      return yield* once
    })
})
