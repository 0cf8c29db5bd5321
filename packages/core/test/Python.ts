/**
 * The interpreter of tests on Python's own packages: `ATROPOS_TEST_PYTHON` names it (`python3` otherwise). A suite
 * whose packages it lacks skips itself and says so; `npm run test:interop` brings all of them.
 */
import { spawnSync } from "node:child_process"

export const interpreter = process.env["ATROPOS_TEST_PYTHON"] ?? "python3"

/** Looks for packages and imports none of them: torch alone takes seconds. */
const program = `
import sys
from importlib.util import find_spec

def has(name):
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False

sys.exit(not all(map(has, sys.argv[1:])))
`

/** Whether the interpreter has these modules, and what the name of a suite ends in if it does not. */
export const having = (
  ...modules: ReadonlyArray<string>
): { readonly isPresent: boolean; readonly absence: string } => {
  const isPresent = spawnSync(interpreter, ["-c", program, ...modules], { stdio: "ignore" }).status === 0
  return {
    isPresent,
    absence: isPresent ? "" : ` (skipped: ${interpreter} cannot import ${modules.join(", ")}; npm run test:interop can)`
  }
}
