/**
 * Programs in Python against a gateway, for Python's own SDKs: `ATROPOS_TEST_PYTHON` names an interpreter that has them
 * (`python3` otherwise). Where it lacks a package, tests of it skip themselves and say so.
 */
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"

const interpreter = process.env["ATROPOS_TEST_PYTHON"] ?? "python3"

/** What a suite's name ends in where it cannot run, and whether it can. */
export const having = (name: string): { readonly isPresent: boolean; readonly absence: string } => {
  const isPresent = spawnSync(interpreter, ["-c", `import ${name}`], { stdio: "ignore" }).status === 0
  return {
    isPresent,
    absence: isPresent
      ? ""
      : ` (skipped: ${interpreter} cannot import ${name}; pip install it, and name its interpreter in ATROPOS_TEST_PYTHON)`
  }
}

/** What a program prints last, which is JSON; fails with what it complained of. */
export const run = (program: string, environment: Record<string, string>): Effect.Effect<unknown> =>
  Effect.promise(
    (signal) =>
      new Promise((resolve, reject) => {
        const started = execFile(
          interpreter,
          ["-"],
          { env: { ...process.env, ...environment }, signal },
          (error, output, complaint) => {
            if (error === null) resolve(JSON.parse(output.trim().split("\n").at(-1) ?? ""))
            else reject(new Error(`${error.message}\n${complaint}`))
          }
        )
        started.stdin?.end(program)
      })
  )
