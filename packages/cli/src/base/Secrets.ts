/** Secret values this process was given, which no text that leaves it shows. */
import * as Context from "effect/Context"

/** Filled where keys are read (flags, files, environment variables); read where text leaves the process. */
export const Secrets = Context.Reference<Set<string>>("@atropos/cli/Secrets", { defaultValue: () => new Set() })

/** Too short to be a key: `x` is what local servers are given. */
const shortestSecret = 6

/** `text` without the secrets, each replaced by `***`. */
export const redact = (text: string, secrets: Iterable<string>): string => {
  let clean = text
  for (const secret of secrets) if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, "***")
  return clean
}
