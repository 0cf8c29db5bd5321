/** `atropos init`: its agent is run, and the compiler passes all that it writes. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as InProcess from "../InProcess.ts"
import * as Started from "../init/Started.ts"

describe("atropos init", () => {
  it.live("writes an agent in plain TypeScript that passes its own test and the laws", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder, said } = yield* Started.started("my-agent", "--agent")
      assert.include(said, "agents.md")
      assert.notInclude(yield* fs.readFileString(`${folder}/my-agent.ts`), "effect")
      assert.match(yield* Started.tried(folder, "my-agent"), /pass 2\b/)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("writes what the compiler passes with the options beside it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder } = yield* Started.started("my-env")
      yield* InProcess.run(["init", "--agent", "my-agent"])
      const above = `${folder}/..`
      yield* fs.symlink(Started.modules, `${above}/node_modules`)
      const options = (name: string) => fs.readFileString(`${above}/${name}/tsconfig.json`)
      assert.strictEqual(yield* options("my-agent"), yield* options("my-env"))
      // Both at once: most of the work is the packages' sources.
      const both = { extends: "./my-env/tsconfig.json", include: ["my-env/*.ts", "my-agent/*.ts"] }
      yield* fs.writeFileString(`${above}/tsconfig.json`, JSON.stringify(both))
      const { code, output } = yield* Started.run(
        `${Started.modules}/.bin/tsc`,
        ["-p", ".", "--singleThreaded", "--listFiles"],
        above
      )
      for (const name of ["my-env", "my-agent"]) assert.include(output, `/${name}/${name}.test.ts`)
      // In a checkout the sources of the packages are compiled too, by these options instead of their own.
      assert.strictEqual(
        code,
        0,
        output
          .split("\n")
          .filter((line) => line.includes("error TS"))
          .join("\n")
      )
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
