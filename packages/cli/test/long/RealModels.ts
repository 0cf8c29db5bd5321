/**
 * Folders of published models for tests: `ATROPOS_TEST_MODELS` names a folder that holds them by name, each as
 * `--model` takes it. Suites that need one skip without.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"

const root = process.env["ATROPOS_TEST_MODELS"]

/** The folder of a published model; undefined where there is none. */
export const folder = (name: string): string | undefined => {
  const path = root === undefined ? undefined : join(root, name)
  return path !== undefined && existsSync(join(path, "config.json")) ? path : undefined
}

export const absence = (name: string): string =>
  folder(name) === undefined ? ` (skipped: ATROPOS_TEST_MODELS names no folder with ${name})` : ""
