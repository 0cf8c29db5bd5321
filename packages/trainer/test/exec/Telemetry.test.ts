import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const program = fileURLToPath(new URL("telemetryProgram.ts", import.meta.url))

describe("ONNX Runtime", () => {
  for (const where of ["process", "thread"])
    it.live(`reports nothing to its maker, and leaves nothing behind: in a ${where}`, () =>
      Effect.gen(function* () {
        const files = yield* FileSystem.FileSystem
        const home = yield* files.makeTempDirectoryScoped()
        // It also keeps quiet where `CI` is set, as a build machine has it.
        const env = { PATH: process.env["PATH"], HOME: home, XDG_CACHE_HOME: home, TMPDIR: home }
        const { stdout } = yield* Effect.promise(() =>
          promisify(execFile)(process.execPath, ["--conditions=atropos-src", program, where], { env })
        )
        assert.strictEqual(stdout, "4\n")
        assert.deepStrictEqual(yield* files.readDirectory(home), [])
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )
})
