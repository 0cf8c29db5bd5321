/**
 * A line that starts this command again, as the user can type it: for all that is said of what to do next.
 *
 * `atropos` alone is the name of another project's package, so `npx atropos` may run that. Three spellings run ours:
 * `npm run atropos --` where npm runs a script of the checkout, `atropos` where the shell's PATH leads to this very
 * installation, and `npx @atropos/cli`, which is right everywhere.
 */
import { existsSync, realpathSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

export interface Caller {
  readonly env: { readonly [name: string]: string | undefined }
  /** The script that `atropos` starts, with no link in its path. */
  readonly script: string
  /** Whether packages are those of a checkout, not installed ones. */
  readonly isCheckout: boolean
  /** Where a path leads to; undefined where there is nothing. */
  readonly real: (path: string) => string | undefined
}

/** What is right in any folder. */
export const anywhere = "npx @atropos/cli"

/** What stands before the verb. */
export const spelling = ({ env, isCheckout, real, script }: Caller): string => {
  if (env["npm_command"] !== undefined) {
    // npm sets the first of the names for a script, and "npx" for `npx` and `npm exec`.
    const isOwnScript = env["npm_lifecycle_event"] === "atropos" || env["npm_lifecycle_event"] === "start"
    return isCheckout && isOwnScript && env["npm_package_name"] === "atropos" ? "npm run atropos --" : anywhere
  }
  const first = (env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => real(join(folder, "atropos")))
    .find((path) => path !== undefined)
  return first === script ? "atropos" : anywhere
}

let own: string | undefined

/** The line for a verb with its flags: `of("serve --env gsm8k")`. */
export const of = (words: string): string => {
  own ??= spelling({
    env: process.env,
    script: fileURLToPath(new URL("../../bin/atropos.js", import.meta.url)),
    isCheckout: !import.meta.url.includes("/node_modules/"),
    real: (path) => (existsSync(path) ? realpathSync(path) : undefined)
  })
  return words === "" ? own : `${own} ${words}`
}
