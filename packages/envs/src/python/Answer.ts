/** Parses one line of the bridge: the response to a request, by its number. */
import { Effect, Option, Schema } from "effect"
import * as Words from "../command/Words.ts"
import { PythonError } from "./PythonError.ts"

const Line = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({
      id: Schema.Int,
      error: Schema.String,
      kind: Schema.String,
      trace: Schema.Array(Schema.String),
      /** The distribution to install, if its name differs from the package's. */
      distribution: Schema.optionalKey(Schema.String)
    }),
    Schema.Struct({ id: Schema.Int, result: Schema.Unknown })
  ])
)
const decode = Schema.decodeUnknownOption(Line)

export interface Answer {
  readonly id: number
  readonly result: Effect.Effect<unknown, PythonError>
}

/** Instructions to install a package for an interpreter; uv installs the packages it is given. */
export const installation = (packageName: string, words: ReadonlyArray<string>): string =>
  words[0] === "uv"
    ? `name it in --env.packages '["${packageName}"]'`
    : `install it with ${Words.join(words)} -m pip install "${packageName}"`

/** The response in a line; undefined if it is not one. */
export const read = (line: string, packageName: string, words: ReadonlyArray<string>): Answer | undefined => {
  const answer = Option.getOrUndefined(decode(line))
  if (answer === undefined) return undefined
  if (!("error" in answer)) return { id: answer.id, result: Effect.succeed(answer.result) }
  const { distribution = packageName, error, id, kind, trace } = answer
  // The missing module may be a dependency that the package did not install.
  if (kind === "Unknown") {
    const message = error.replace("Unknown: ", "")
    return { id, result: Effect.fail(new PythonError({ reason: "unknown", message, trace: [] })) }
  }
  const isMissing = kind === "ModuleNotFoundError" || kind === "PackageNotFoundError" || kind === "NotInstalled"
  return {
    id,
    result: Effect.fail(
      isMissing
        ? new PythonError({
            reason: "notInstalled",
            message: `${Words.join(words)} lacks ${distribution} (${error}); ${installation(distribution, words)}, or name another Python with --env.python`,
            trace
          })
        : new PythonError({ reason: "raised", message: [error, ...trace.slice(0, -1)].join("\n  "), trace })
    )
  }
}
