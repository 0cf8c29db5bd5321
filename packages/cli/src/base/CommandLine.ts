/**
 * Formats a command line that starts this command again, for hints about the next step.
 *
 * `npx atropos` may run another project's package. Right are `npm run atropos --` if npm runs a script of the checkout,
 * `atropos` if the shell's PATH leads to this installation, and always `npx @atropos/cli`.
 */
import { existsSync, realpathSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

export interface Caller {
  readonly env: { readonly [name: string]: string | undefined }
  /** The script that `atropos` starts, with symlinks resolved. */
  readonly script: string
  /** True if the packages come from a checkout rather than an installation. */
  readonly isCheckout: boolean
  /** Resolves symlinks; undefined if the path does not exist. */
  readonly real: (path: string) => string | undefined
}

export const anywhere = "npx @atropos/cli"

/** The prefix before the subcommand. */
export const spelling = ({ env, isCheckout, real, script }: Caller): string => {
  if (env["npm_command"] !== undefined) {
    // npm sets `npm_lifecycle_event` to the script's name, and to "npx" for `npx` and `npm exec`.
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

/** The line for a subcommand with its flags: `of("serve --env gsm8k")`. */
export const of = (words: string): string => {
  own ??= spelling({
    env: process.env,
    script: fileURLToPath(new URL("../../bin/atropos.js", import.meta.url)),
    isCheckout: !import.meta.url.includes("/node_modules/"),
    real: (path) => (existsSync(path) ? realpathSync(path) : undefined)
  })
  return words === "" ? own : `${own} ${words}`
}
