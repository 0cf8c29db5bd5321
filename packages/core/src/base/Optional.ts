/** Packages that only some programs need, and that are therefore not installed with this one. */
import { Effect, Schema } from "effect"
import packageJson from "../../package.json" with { type: "json" }

export class NotInstalled extends Schema.TaggedError<NotInstalled>()("NotInstalled", {
  package: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}

type Name = keyof typeof packageJson.peerDependenciesMeta

/** What to say where it is missing, with the version that is tested. */
export const remedy = (name: Name, use: string): string =>
  `${use} needs the package ${name}, which is not installed: npm install ${name}@${packageJson.peerDependencies[name]}`

/** Loads it. That it is missing is a defect: no program can go on without what it is made of. */
export const load = <A>(name: Name, use: string, module: () => Promise<A>): Effect.Effect<A> =>
  Effect.tryPromise(module).pipe(
    Effect.catch(({ cause }) =>
      Effect.die(
        cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND"
          ? new NotInstalled({ package: name, message: remedy(name, use), cause })
          : cause
      )
    )
  )
