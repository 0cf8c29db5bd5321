/**
 * Determines the dependencies of a starter such that `npm install` finds them: the versions of this installation, or
 * the archives it was installed from if those were files rather than a registry.
 */
import packageJson from "../../package.json" with { type: "json" }
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { fileURLToPath } from "node:url"

/** npm's record of an installation. */
const Lock = Schema.fromJsonString(
  Schema.Struct({
    packages: Schema.Record(Schema.String, Schema.Struct({ resolved: Schema.optionalKey(Schema.String) }))
  })
)
const decodeLock = Schema.decodeOption(Lock)

const prefix = "node_modules/@atropos/"

/** Archives of our packages in a lock file, whose paths are relative to `root`. */
export const archives = (lock: string, resolve: (file: string) => string): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(Option.match(decodeLock(lock), { onNone: () => ({}), onSome: ({ packages }) => packages })).flatMap(
      ([place, { resolved }]) =>
        place.startsWith(prefix) && resolved?.startsWith("file:") === true
          ? [[place.slice("node_modules/".length), `file:${resolve(resolved.slice("file:".length))}`]]
          : []
    )
  )

/** The dependencies of a starter; both kinds may use the parts in envs, and an agent nothing of core. */
export const dependencies = Effect.fn("Packages.dependencies")(function* (
  kind: "environment" | "agent" = "environment"
): Effect.fn.Return<{ readonly [name: string]: string }, PlatformError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const installed = fileURLToPath(new URL("../..", import.meta.url))
  const modules = path.join(installed, "../..")
  const lock = path.join(modules, ".package-lock.json")
  const found = (yield* fs.exists(lock))
    ? archives(yield* fs.readFileString(lock), (file) => path.resolve(modules, "..", file))
    : {}
  const { version } = packageJson
  const own = { ...(kind === "environment" && { "@atropos/core": version }), "@atropos/envs": version }
  return { "@atropos/cli": version, ...own, ...found, ...packageJson.peerDependencies }
})
