/**
 * `atropos envs harbor --list --tasks FOLDER`: lists task directories with their requirements, or why they are invalid.
 */
import * as Platform from "@atropos/core/base/system/Platform"
import { Effect, Result } from "effect"
import { HarborError } from "./HarborError.ts"
import type { Image, Task } from "./Task.ts"
import * as Tasks from "./Tasks.ts"

const ofImage = (image: Image): string =>
  image._tag === "Built" ? "docker: Dockerfile" : image._tag === "Named" ? `docker: ${image.name}` : "no container"

const ofTask = ({ agent, hasSolution, machine, notes, refusal, verifier }: Task): string =>
  refusal === undefined
    ? [
        ofImage(machine.image),
        `agent ${agent.seconds === undefined ? "no limit" : `${agent.seconds} s`}`,
        `tests ${verifier.seconds} s${verifier.own === undefined ? "" : ", apart"}`,
        ...(machine.hasNetwork ? [] : ["no network"]),
        ...(machine.asksForNetwork ? ["needs the network"] : []),
        ...(hasSolution ? [] : ["no solution"]),
        ...notes
      ].join("; ")
    : `not supported: ${refusal}`

export const names = ({
  tasks
}: {
  readonly tasks: string | null
}): Effect.Effect<ReadonlyArray<string>, HarborError> =>
  Effect.gen(function* () {
    if (tasks === null) {
      return yield* new HarborError({ message: "name the folder with the task directories, as in --env.tasks ./tasks" })
    }
    const found = yield* Tasks.find([tasks])
    return found.map(({ folder, task }) =>
      Result.isSuccess(task)
        ? `${task.success.name}  ${ofTask(task.success)}`
        : `${folder}  broken: ${task.failure.message}`
    )
  }).pipe(Effect.provide(Platform.layer))
