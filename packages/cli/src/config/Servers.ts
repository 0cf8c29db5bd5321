/**
 * Resolves the inference servers of a command from the environment's own, the file and the flags.
 *
 * Flags cannot change a list of two or more. A single server is merged field by field, flags over file over
 * environment. Differs from the original's `--openai` resolution, which ignores a single server's address unless it is
 * in a list, and ignores file and flags in `process` and `evaluate`.
 */
import { Predicate, Result } from "effect"
import { UsageError } from "../base/Failure.ts"

type Fields = { readonly [name: string]: unknown }

export interface Sources {
  /** Name of the section and its flags: `openai`, `judge`, `teacher`. */
  readonly section: string
  /** The environment's own servers: a map, a list, or nothing. */
  readonly environment: unknown
  readonly file: unknown
  readonly flags: Fields
}

const entries = (value: unknown): ReadonlyArray<Fields> =>
  (Array.isArray(value) ? value : [value]).filter(Predicate.isReadonlyObject)

/** Returns one map, or a list of two or more; an empty map if no source has a server. */
export const resolve = ({
  environment,
  file,
  flags,
  section
}: Sources): Result.Result<Fields | ReadonlyArray<Fields>, UsageError> => {
  const flagged = Object.keys(flags)
  const inFile = entries(file)
  const inEnvironment = entries(environment)
  const refuse = (where: string, count: number) =>
    Result.fail(
      new UsageError({
        message: `--${section}.${flagged[0]}: ${where} lists ${count} servers, but flags can only change a single one; edit the list, or list one server`
      })
    )
  if (inFile.length >= 2)
    return flagged.length > 0 ? refuse("the file of --config", inFile.length) : Result.succeed(inFile)
  if (inEnvironment.length >= 2 && inFile.length === 0) {
    return flagged.length > 0 ? refuse("the environment", inEnvironment.length) : Result.succeed(inEnvironment)
  }
  // A single server in the file replaces a list of the environment; merging it into one of several would be a guess.
  const base = inEnvironment.length === 1 ? inEnvironment[0] : {}
  return Result.succeed({ ...base, ...inFile[0], ...flags })
}
