/** Programs in Python against a gateway, for Python's own SDKs. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { interpreter } from "../Python.ts"

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
