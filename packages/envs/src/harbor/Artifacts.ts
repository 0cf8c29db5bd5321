/**
 * Copies an agent's files from its stopped container to the machine of the tests.
 *
 * Links are copied as links, and no copy affects the destination of the next: a path inside another is copied with it,
 * a path that is itself a link counts as missing, and the parents of each path are checked for links in the machine of
 * the tests before any file of the agent's is in it.
 */
import { basename, dirname, posix } from "node:path"
import { Effect, FileSystem } from "effect"
import type * as Container from "./Container.ts"
import type { Docker } from "./Docker.ts"
import { HarborError } from "./HarborError.ts"
import type { Task } from "./Task.ts"
import * as Tree from "./Tree.ts"

const logs = "/logs/artifacts"
const callSeconds = 300

/** Paths that the tests' machine uses itself. */
const reserved = ["/tests", "/logs/verifier", "/proc", "/sys", "/dev"]

/** The paths to copy, without those inside others; fails for a path that is not the agent's. */
export const paths = Effect.fnUntraced(function* ({ name }: Task, named: ReadonlyArray<string>) {
  const all = [...new Set([...named.map((path) => posix.resolve("/", path)), logs])]
  const taken = all.find(
    (path) => path === "/" || reserved.some((one) => `${path}/`.startsWith(`${one}/`) || one.startsWith(`${path}/`))
  )
  if (taken !== undefined) {
    return yield* new HarborError({
      message: `the task ${name} copies ${taken} to its tests (artifacts, or its working directory), which does not belong to the agent: use a folder such as /app`
    })
  }
  return all.filter((path) => !all.some((other) => path.startsWith(`${other}/`)))
})

/** Fails if the parents of a path contain a link: one copy could redirect the next. */
const straight = Effect.fnUntraced(function* (
  verifier: Container.Container,
  { name }: Task,
  paths: ReadonlyArray<string>
) {
  const folders = [...new Set(paths.map(dirname))].filter((folder) => folder !== dirname(logs))
  if (paths.length < 3 || folders.length === 0) return
  const script = folders
    .map(
      (folder) => `mkdir -p -- ${quoted(folder)}; test "$(cd -P -- ${quoted(folder)} && pwd -P)" = ${quoted(folder)}`
    )
    .join(" || exit 1\n")
  const { ending } = yield* verifier.exec({ script, user: "root", seconds: 60 })
  if (ending?._tag === "Exited" && ending.code === 0) return
  return yield* new HarborError({
    message: `the task ${name}: the path of an artifact (${paths.join(", ")}) contains a symbolic link on the machine of its tests: use the target's path`
  })
})

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`

export interface Options {
  readonly docker: Docker
  readonly from: string
  readonly to: Container.Container
  readonly task: Task
  readonly paths: ReadonlyArray<string>
  /** A folder of this machine, created here. */
  readonly staging: string
}

export const copy = Effect.fnUntraced(function* ({ docker, from, paths, staging, task, to }: Options) {
  yield* FileSystem.FileSystem.use((fs) => fs.makeDirectory(staging)).pipe(Effect.orDie)
  yield* straight(to, task, paths)
  for (const [index, source] of paths.entries()) {
    const held = `${staging}/${index}`
    yield* FileSystem.FileSystem.use((fs) => fs.makeDirectory(held)).pipe(Effect.orDie)
    const { complaint, ending } = yield* docker.run({
      words: ["cp", `${from}:${source}`, `${held}/`],
      seconds: callSeconds
    })
    const isCopied = ending?._tag === "Exited" && ending.code === 0
    // Missing files are for the tests to judge.
    if (!isCopied && !/could not find|no such (?:file|container:path)|not found/i.test(complaint)) {
      return yield* new HarborError({ message: `cannot copy ${source} of the task ${task.name}: ${complaint}` })
    }
    const kept = `${held}/${basename(source)}`
    const isLink = isCopied && (yield* Effect.orDie(Tree.status(kept))).isSymbolicLink()
    if (isLink) {
      yield* Effect.logWarning("artifact not copied: it is a link", { task: task.name, artifact: source })
    }
    // Files that the agent removed must not reappear from the image.
    yield* to.exec({
      script: `rm -rf -- ${quoted(source)}; mkdir -p -- ${quoted(dirname(source))}`,
      user: "root",
      seconds: 120
    })
    if (!isCopied || isLink) continue
    yield* docker.call({
      words: ["cp", kept, `${to.name}:${dirname(source)}/`],
      what: `cannot copy ${source} of the task ${task.name}`,
      seconds: callSeconds
    })
  }
})
