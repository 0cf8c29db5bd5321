/** Removes the secret values given to this process from all output. */
import * as Context from "effect/Context"

/** Filled where keys are read (flags, files, environment variables); read where text leaves the process. */
export const Secrets = Context.Reference<Set<string>>("@atropos/cli/Secrets", { defaultValue: () => new Set() })

/** Shorter values are placeholders: local servers get `x`. */
const minSecretLength = 6

export const redact = (text: string, secrets: Iterable<string>): string => {
  let clean = text
  for (const secret of secrets) if (secret.length >= minSecretLength) clean = clean.replaceAll(secret, "***")
  return clean
}
