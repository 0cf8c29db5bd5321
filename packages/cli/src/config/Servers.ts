/**
 * Which inference servers a command talks to, from what the environment was written for, the file and the flags: the
 * original's table (spec of its `--openai` resolution), with its holes mended.
 *
 * A list of two or more, from the file or the environment, cannot be changed by flags. One server, from wherever, is
 * merged field by field, flags over file over environment, and is used as given: the original forgets its address
 * unless it stands in a list, and ignores file and flags altogether in `process` and `evaluate`.
 */
import { Predicate, Result } from "effect"
import { UsageError } from "../base/Failure.ts"

type Fields = { readonly [name: string]: unknown }

export interface Sources {
  /** Name of the section and of its flags: `openai`, `judge`, `teacher`. */
  readonly section: string
  /** What the environment was written for: a map, a list, or nothing. */
  readonly environment: unknown
  readonly file: unknown
  readonly flags: Fields
}

const entries = (value: unknown): ReadonlyArray<Fields> =>
  (Array.isArray(value) ? value : [value]).filter(Predicate.isReadonlyObject)

/** One map, or a list of two or more; an empty map where nobody said anything. */
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
  // A single server in the file replaces a list of the environment's; merged into one of several it would be a guess.
  const base = inEnvironment.length === 1 ? inEnvironment[0] : {}
  return Result.succeed({ ...base, ...inFile[0], ...flags })
}
