/** Runs tests of the Python package in integrations/trl, which start the command of this repository. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { having, interpreter } from "../../../core/test/Python.ts"

const folder = fileURLToPath(new URL("../../../../integrations/trl", import.meta.url))
const env = { ...process.env, PYTHONPATH: `${folder}/src`, ATROPOS_TEST_NODE: process.execPath }
const { absence, isPresent } = having("pytest", "peft", "trl", "torch")

/** Runs files in one interpreter, as TRL takes seconds to load; `after` has what it wrote when a file is done. */
const pytest = (names: ReadonlyArray<string>) => {
  const paths = names.map((name) => `tests/${name}`)
  const words = ["-m", "pytest", "-v", "--color=no", "-o", "console_output_style=classic", ...paths]
  const program = spawn(interpreter, words, { cwd: folder, env })
  const ended = new Promise<void>((resolve) => program.on("close", () => resolve()))
  let output = ""
  const waiting = new Set<() => void>()
  for (const stream of [program.stdout, program.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      output += part
      for (const look of waiting) look()
    })
  }
  const after = async (file: string): Promise<string> => {
    const later = names.filter((name) => name > file)
    await Promise.race([
      ended,
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (later.some((name) => output.includes(`\ntests/${name}::`))) resolve()
        }
        waiting.add(look)
        look()
      })
    ])
    return output
  }
  /** All that it wrote: what failed, and where, comes last. */
  const whole = async (): Promise<string> => {
    await ended
    return output
  }
  return { after, whole, stop: () => void program.kill("SIGINT") }
}

/** A suite of files in the order in which pytest runs them, each with what it says. */
export const suite = (files: ReadonlyArray<readonly [file: string, says: string]>): void => {
  let running: ReturnType<typeof pytest> | undefined
  const tried = new Set<string>()

  describe.skipIf(!isPresent)(`TRL's GRPOTrainer on our service${absence}`, () => {
    // Where one failed before it was through.
    afterAll(() => running?.stop())

    for (const [file, says] of files) {
      it.live(says, () =>
        Effect.gen(function* () {
          // One that is repeated runs alone.
          const program = tried.has(file) ? pytest([file]) : (running ??= pytest(files.map(([name]) => name)))
          tried.add(file)
          const output = yield* Effect.promise(() => program.after(file))
          const states = Array.from(output.matchAll(/^tests\/(\w+\.py)::.* ([A-Z]+)$/gm))
            .filter(([, of]) => of === file)
            .map(([, , state]) => state)
          if (states.length > 0 && states.every((state) => state === "PASSED")) return
          assert.fail(yield* Effect.promise(program.whole))
        })
      )
    }
  })
}
