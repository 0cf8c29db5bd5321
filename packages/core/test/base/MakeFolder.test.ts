import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { existsSync } from "node:fs"
import * as MakeFolder from "../../src/base/system/MakeFolder.ts"

const isLinux = existsSync("/proc/self")

describe("a folder that is to be made", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("is made with those above it, and may be there already", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const root = yield* fs.makeTempDirectoryScoped()
        yield* MakeFolder.make(`${root}/a/b/c`)
        yield* MakeFolder.make(`${root}/a/b/c/`)
        assert.deepStrictEqual(yield* fs.readDirectory(`${root}/a/b`), ["c"])
      })
    )

    it.effect("is not made below or over a file", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const root = yield* fs.makeTempDirectoryScoped()
        yield* fs.writeFileString(`${root}/file`, "")
        for (const folder of ["file", "file/below"]) {
          assert.strictEqual((yield* Effect.flip(MakeFolder.make(`${root}/${folder}`)))._tag, "PlatformError")
        }
      })
    )

    // Only Linux has a folder that holds no others.
    it.effect.skipIf(!isLinux)("is not waited for where the system allows none", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(MakeFolder.make("/proc/mine/checkpoints"))
        assert.strictEqual(error.reason._tag, "NotFound")
      })
    )
  })
})
