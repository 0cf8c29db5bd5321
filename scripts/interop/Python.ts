/**
 * Finds a Python interpreter: `python3` and its numbered names on the path, then those that pyenv has installed. One
 * that cannot create virtual environments is ignored.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

export interface Python {
  /** The executable itself, even if one of its virtual environments is active. */
  readonly path: string
  readonly version: readonly [major: number, minor: number, patch: number]
  /** The machine's platform, as Python names it. */
  readonly platform: string
}

const program =
  "import ensurepip, json, sys, sysconfig, venv; " +
  "print(json.dumps({'path': sys._base_executable, 'version': sys.version_info[:3], 'platform': sysconfig.get_platform()}))"

const read = (name: string): Python | undefined => {
  const { status, stdout } = spawnSync(name, ["-c", program], { encoding: "utf8" })
  return status === 0 ? (JSON.parse(stdout) as Python) : undefined
}

const ofPyenv = (): ReadonlyArray<string> => {
  const folder = join(process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv"), "versions")
  return existsSync(folder)
    ? readdirSync(folder)
        .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }))
        .map((name) => join(folder, name, "bin/python3"))
    : []
}

/** The first interpreter of at least Python 3.`minor`. */
export const find = (minor: number): Python | undefined => {
  const numbered = [11, 12, 13, 14].map((one) => `python3.${one}`)
  for (const name of ["python3", ...numbered, ...ofPyenv()]) {
    const found = read(name)
    if (found !== undefined && found.version[0] === 3 && found.version[1] >= minor) return found
  }
  return undefined
}
