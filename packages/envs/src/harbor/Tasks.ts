/**
 * Finds tasks in folders: each is a task itself, or holds task directories, at any depth. A link to a task directory
 * counts; a link to another folder is not searched.
 */
import * as Reason from "@atropos/core/base/Reason"
import { Effect, FileSystem, Option, Path, Result } from "effect"
import { HarborError } from "./HarborError.ts"
import * as Task from "./Task.ts"

type Services = FileSystem.FileSystem | Path.Path

/** A directory with its task, or why it is invalid. */
export interface Found {
  readonly folder: string
  readonly task: Result.Result<Task.Task, HarborError>
}

const deepest = 4

interface Directories {
  readonly tasks: ReadonlyArray<string>
  /** Links to folders that are not tasks. */
  readonly links: ReadonlyArray<string>
}

/** Directories that contain a `task.toml`, ordered by name; folders inside a task are not searched. */
const directories = (folder: string, depth: number): Effect.Effect<Directories, HarborError, Services> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const names = yield* Effect.mapError(
      fs.readDirectory(folder),
      (cause) => new HarborError({ message: `tasks: cannot read the folder ${folder}: ${Reason.ofFile(cause)}`, cause })
    )
    if (names.includes("task.toml")) return { tasks: [folder], links: [] }
    if (depth === deepest) return { tasks: [], links: [] }
    const inner = yield* Effect.filter(
      names.filter((name) => !name.startsWith(".") && name !== "node_modules").toSorted(),
      (name) =>
        Effect.orElseSucceed(
          Effect.map(fs.stat(join(folder, name)), ({ type }) => type === "Directory"),
          () => false
        )
    )
    const found = yield* Effect.forEach(
      inner,
      Effect.fnUntraced(function* (name) {
        const path = join(folder, name)
        const isLink = Option.isSome(yield* Effect.option(fs.readLink(path)))
        if (!isLink) return yield* directories(path, depth + 1)
        const isTask = yield* Effect.orElseSucceed(fs.exists(join(path, "task.toml")), () => false)
        return isTask ? { tasks: [path], links: [] } : { tasks: [], links: [path] }
      })
    )
    return { tasks: found.flatMap(({ tasks }) => tasks), links: found.flatMap(({ links }) => links) }
  })

/** Matches patterns such as `hello-*` against whole names. */
const matches = (pattern: string, name: string): boolean => {
  const [first = "", ...others] = pattern.split("*")
  if (others.length === 0) return name === pattern
  if (!name.startsWith(first)) return false
  let from = first.length
  const last = others.pop()!
  for (const part of others) {
    const at = name.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return name.length - last.length >= from && name.endsWith(last)
}

/** All task directories in some folders, read; only those whose names match, if patterns are given. */
export const find = Effect.fn("Tasks.find")(function* (
  folders: ReadonlyArray<string>,
  only: ReadonlyArray<string> = []
): Effect.fn.Return<ReadonlyArray<Found>, HarborError, Services> {
  const { basename, resolve } = yield* Path.Path
  const all = yield* Effect.forEach(folders, (folder) => directories(resolve(folder), 0))
  const found = [...new Set(all.flatMap(({ tasks }) => tasks))]
  for (const link of all.flatMap(({ links }) => links)) {
    yield* Effect.logWarning("symbolic link not searched for tasks: name its target folder", { link })
  }
  if (found.length === 0) {
    return yield* new HarborError({
      message: `tasks: no task directory (a folder with a task.toml) in ${folders.join(" or ")}`
    })
  }
  const read = yield* Effect.forEach(found, (folder) =>
    Effect.map(Effect.result(Task.read(folder)), (task): Found => ({ folder, task }))
  )
  const wanted = read.filter(({ folder, task }) => {
    const names = [basename(folder), ...(Result.isSuccess(task) ? [task.success.name] : [])]
    return only.length === 0 || only.some((pattern) => names.some((name) => matches(pattern, name)))
  })
  if (wanted.length > 0) return wanted
  return yield* new HarborError({
    message: `only: none of the ${read.length} tasks is named ${only.join(" or ")}; there are ${read
      .slice(0, 5)
      .map(({ folder }) => basename(folder))
      .join(", ")}${read.length > 5 ? ", …" : ""}`
  })
})

const mostTold = 5

/**
 * The tasks that can be run; fails with what is wrong with the others, or with `skip` drops them. `problemThere`: what
 * keeps a task from running in the place that was chosen.
 */
export const runnable = (
  found: ReadonlyArray<Found>,
  skip: boolean,
  problemThere: (task: Task.Task) => string | undefined = () => undefined
): Effect.Effect<ReadonlyArray<Task.Task>, HarborError> => {
  const refusalOf = (task: Task.Task) => task.refusal ?? problemThere(task)
  const faults = found.flatMap(({ folder, task }) => {
    if (Result.isFailure(task)) return [task.failure.message]
    const refusal = refusalOf(task.success)
    return refusal === undefined ? [] : [`${folder}: not supported: ${refusal}`]
  })
  const tasks = found.flatMap(({ task }) =>
    Result.isSuccess(task) && refusalOf(task.success) === undefined ? [task.success] : []
  )
  if (faults.length > 0 && (!skip || tasks.length === 0)) {
    const told = [
      ...faults.slice(0, mostTold),
      ...(faults.length > mostTold ? [`and ${faults.length - mostTold} more`] : [])
    ]
    return Effect.fail(
      new HarborError({
        message: `${faults.length} of ${found.length} tasks cannot be run${skip ? "" : " (--env.skip_refused true skips them)"}:\n  ${told.join("\n  ")}`
      })
    )
  }
  return Effect.as(
    Effect.forEach(tasks, ({ name, notes }) =>
      Effect.forEach(notes, (note) => Effect.logWarning("part of a task ignored", { task: name, note }))
    ),
    tasks
  )
}
