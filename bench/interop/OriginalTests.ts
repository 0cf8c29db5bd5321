/**
 * Runs the original's own API tests against our service.
 *
 * They start `atroposlib.cli.run_api` on port 8000 themselves; in a copy of the package this module starts our command
 * instead.
 */
import { cp, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Servers from "../internal/Servers.ts"
import * as Processes from "./Processes.ts"

const files = ["test_api_messages_handling", "test_api_compression", "test_api_legacy"]

export const run = async ({ folder, python }: Processes.Original, command: ReadonlyArray<string>): Promise<void> => {
  const copy = await mkdtemp(join(tmpdir(), "atropos-interop-"))
  try {
    await cp(join(folder, "atroposlib"), join(copy, "atroposlib"), { recursive: true })
    await cp(join(folder, "pytest.ini"), join(copy, "pytest.ini"))
    await cp(new URL("./python/run_api.py", import.meta.url), join(copy, "atroposlib", "cli", "run_api.py"))
    await makeDatabase(command, join(copy, "data"))
    const tests = Processes.start({
      name: "the original's API tests",
      command: python,
      args: ["-m", "pytest", "-q", "-p", "no:cacheprovider", ...files.map((file) => `atroposlib/tests/${file}.py`)],
      cwd: copy,
      env: {
        // Otherwise an installed atroposlib could shadow the copy.
        PYTHONPATH: copy,
        ATROPOS_SERVICE: JSON.stringify([...command, "api"]),
        ATROPOS_DATA_DIR: join(copy, "data")
      }
    })
    const output = await Processes.finish(tests, 300)
    console.log(`the original's API tests: ${output.trim().split("\n").at(-1)}`)
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/** The tests give a server ten seconds to start; on a busy machine the first start of a new database takes longer. */
const makeDatabase = async ([executable = "", ...rest]: ReadonlyArray<string>, folder: string): Promise<void> => {
  const port = await Servers.freePort()
  const service = Processes.start({
    name: "our service",
    command: executable,
    args: [...rest, "api", "--port", String(port)],
    env: { ATROPOS_DATA_DIR: folder }
  })
  try {
    await Processes.untilAnswers(`http://127.0.0.1:${port}/info`, service)
  } finally {
    await service.stop()
  }
}
