/** Loads packages that only some programs need, and that are therefore not dependencies. */
import { Effect, Schema } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import * as Installed from "./Installed.ts"

export class NotInstalled extends Schema.TaggedError<NotInstalled>()("NotInstalled", {
  packages: Schema.Array(Schema.String),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

type Name = keyof typeof packageJson.peerDependenciesMeta
type Names = readonly [Name, ...ReadonlyArray<Name>]

const notInstalled = (packages: Names, use: string, cause?: unknown): NotInstalled => {
  const [what, are] = packages.length === 1 ? ["package", "which is"] : ["packages", "which are"]
  const versions = packages.map((name) => `${name}@${packageJson.peerDependencies[name]}`)
  return new NotInstalled({
    packages,
    message: `${use} needs the ${what} ${packages.join(" and ")}, ${are} not installed: npm install ${versions.join(" ")}`,
    ...(cause !== undefined && { cause })
  })
}

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error &&
  "code" in cause &&
  (cause.code === "ERR_MODULE_NOT_FOUND" || cause.code === "MODULE_NOT_FOUND")

/** Loads a module that needs these packages; any other throw of the module is a defect. */
export const attempt = <A>(packages: Names, use: string, module: () => Promise<A>): Effect.Effect<A, NotInstalled> =>
  Effect.tryPromise(module).pipe(
    Effect.catch(({ cause }) =>
      isMissing(cause) ? Effect.fail(notInstalled(packages, use, cause)) : Effect.die(cause)
    )
  )

/** Loads a module. A missing package is a defect: the program cannot continue without it. */
export const load = <A>(packages: Names, use: string, module: () => Promise<A>): Effect.Effect<A> =>
  Effect.orDie(attempt(packages, use, module))

/** The folder of the first package, if none is missing: for its files, or for a thread that loads them. */
export const folder = (packages: Names, use: string): Effect.Effect<string, NotInstalled> =>
  Effect.suspend(() => {
    const [first, ...others] = packages.map((name) => Installed.folder(name, import.meta.url))
    return first === undefined || others.includes(undefined)
      ? Effect.fail(notInstalled(packages, use))
      : Effect.succeed(first)
  })
