/** Where the lock of an output may lie. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Bin from "./Bin.ts"
import * as Atropos from "./crash/Atropos.ts"

const env = ["--env", Bin.myEnvironment]

describe("an output", () => {
  it.live("is locked in no folder that another user could have laid there", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Atropos.folder
      const temporary = yield* Atropos.folder
      const victim = yield* Atropos.folder
      yield* fs.symlink(victim, `${temporary}/atropos-locks-${process.getuid?.()}`)
      const words = ["process", ...env, "--testing", "--env.total_steps", "5"]
      const { code, err } = yield* Atropos.run(words, { cwd, env: { TMPDIR: temporary } })
      assert.strictEqual(code, 1)
      assert.include(err, "is accessible to other users, so it cannot hold a lock")
      assert.deepStrictEqual(yield* fs.readDirectory(victim), [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
