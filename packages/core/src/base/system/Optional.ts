/** Loads packages that only some programs need: optional peers of the package whose manifest is given. */
import { Effect, Schema } from "effect"
import * as Installed from "./Installed.ts"

export class NotInstalled extends Schema.TaggedError<NotInstalled>()("NotInstalled", {
  packages: Schema.Array(Schema.String),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

interface Manifest<Optional> {
  readonly peerDependencies: { readonly [name in keyof Optional]: string }
  readonly peerDependenciesMeta: Optional
}

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error &&
  "code" in cause &&
  (cause.code === "ERR_MODULE_NOT_FOUND" || cause.code === "MODULE_NOT_FOUND")

/** Loaders of the optional peers of `manifest`, as seen from the module at `from`. */
export const of = <Optional extends object>({ peerDependencies }: Manifest<Optional>, from: string) => {
  type Name = keyof Optional & string
  type Names = readonly [Name, ...ReadonlyArray<Name>]

  const notInstalled = (packages: Names, use: string, cause?: unknown): NotInstalled => {
    const [what, are] = packages.length === 1 ? ["package", "which is"] : ["packages", "which are"]
    const versions = packages.map((name) => `${name}@${peerDependencies[name]}`)
    return new NotInstalled({
      packages,
      message: `${use} needs the ${what} ${packages.join(" and ")}, ${are} not installed: npm install ${versions.join(" ")}`,
      ...(cause !== undefined && { cause })
    })
  }

  /** Loads a module that needs these packages; any other throw of the module is a defect. */
  const attempt = <A>(packages: Names, use: string, module: () => Promise<A>): Effect.Effect<A, NotInstalled> =>
    Effect.tryPromise(module).pipe(
      Effect.catch(({ cause }) =>
        isMissing(cause) ? Effect.fail(notInstalled(packages, use, cause)) : Effect.die(cause)
      )
    )

  /** Loads a module. A missing package is a defect: the program cannot continue without it. */
  const load = <A>(packages: Names, use: string, module: () => Promise<A>): Effect.Effect<A> =>
    Effect.orDie(attempt(packages, use, module))

  /** The folder of the first package, if none is missing: for its files, or for a thread that loads them. */
  const folder = (packages: Names, use: string): Effect.Effect<string, NotInstalled> =>
    Effect.suspend(() => {
      const [first, ...others] = packages.map((name) => Installed.folder(name, from))
      return first === undefined || others.includes(undefined)
        ? Effect.fail(notInstalled(packages, use))
        : Effect.succeed(first)
    })

  return { attempt, folder, load }
}
