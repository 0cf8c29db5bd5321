/** Checks the machine: Node, the installed packages, git, disk space, folders. */
import * as EnvironmentLibraries from "@atropos/envs/base/Libraries"
import { Libraries } from "@atropos/core"
import * as fsPromises from "node:fs/promises"
import { Config, Effect, FileSystem, Option, Path } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { broken, type Finding, note, ok } from "./Finding.ts"

const neededNode = [22, 19] as const

export const node: Effect.Effect<Finding> = Effect.sync(() => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  const isRecent = major > neededNode[0] || (major === neededNode[0] && minor >= neededNode[1])
  const found = `${process.version} at ${process.execPath}`
  return isRecent
    ? ok("Node", found)
    : broken(
        "Node",
        found,
        `Node ${neededNode.join(".")} or newer is needed: "npm ci" installs the project's own, or install Node 24`
      )
})

/** Lazily loaded libraries: a missing one is better reported now than in the middle of a run. */
const libraryLoaders: { readonly [name: string]: () => Promise<unknown> } = {
  ...Libraries.lazy,
  ...EnvironmentLibraries.lazy,
  "hyparquet-writer": () => import("hyparquet-writer"),
  yaml: () => import("yaml")
}

export const libraries: Effect.Effect<Finding> = Effect.gen(function* () {
  const failures = yield* Effect.forEach(Object.entries(libraryLoaders), ([name, load]) =>
    Effect.tryPromise(load).pipe(
      Effect.as([]),
      Effect.catch(({ cause }) =>
        Effect.succeed([`${name}: ${cause instanceof Error ? cause.message : String(cause)}`])
      )
    )
  )
  const failed = failures.flat()
  return failed.length === 0
    ? ok("packages", `${Object.keys(libraryLoaders).length} libraries load`)
    : broken("packages", failed.join("; "), 'reinstall: "npm ci" in a checkout, "npm install @atropos/cli" elsewhere')
})

/** git records the commit of a run. */
export const git = Effect.gen(function* () {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  return yield* spawner.string(ChildProcess.make("git", ["--version"])).pipe(
    Effect.map((text) => ok("git", text.trim())),
    Effect.orElseSucceed(() => note("git", "not found", "install git if you want runs to record their commit"))
  )
})

const gibibyte = 1024 ** 3

export const disk: Effect.Effect<Finding> = Effect.gen(function* () {
  const { bavail, bsize } = yield* Effect.promise(() => fsPromises.statfs("."))
  const free = (bavail * bsize) / gibibyte
  const found = `${free.toFixed(1)} GiB free here`
  if (free < 0.2)
    return broken("disk", found, "the database and the spool need disk space: free some, or run on another disk")
  return free < 5
    ? note("disk", found, "rollouts are stored for browsing: free disk space, or keep fewer")
    : ok("disk", found)
})

/** Checks that a folder is writable (or its nearest existing parent if it does not exist yet). */
export const writable = Effect.fn("Machine.writable")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  let at = path.resolve(folder)
  while (!(yield* Effect.orElseSucceed(fs.exists(at), () => false)) && path.dirname(at) !== at) at = path.dirname(at)
  return yield* fs.access(at, { writable: true }).pipe(
    Effect.as(true),
    Effect.orElseSucceed(() => false)
  )
})

const variable = (name: string): Effect.Effect<string | undefined> =>
  Config.option(Config.String(name)).pipe(
    Effect.map(Option.getOrUndefined),
    Effect.orElseSucceed(() => undefined)
  )

/** The cache of models and data sets, and the token for gated ones. */
export const huggingFace = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const home = (yield* variable("HOME")) ?? "."
  const cache = (yield* variable("HF_HOME")) ?? path.join(home, ".cache", "huggingface")
  const hasFile = yield* Effect.orElseSucceed(fs.exists(path.join(cache, "token")), () => false)
  const token =
    (yield* variable("HF_TOKEN")) !== undefined ? "token in HF_TOKEN" : hasFile ? "token in the cache" : "no token"
  const found = `cache ${cache}, ${token}`
  if (!(yield* writable(cache))) {
    return broken("Hugging Face", `${cache} is not writable`, "set HF_HOME to a writable folder")
  }
  return token === "no token"
    ? note("Hugging Face", found, "only needed for gated models and data sets: set HF_TOKEN")
    : ok("Hugging Face", found)
})
