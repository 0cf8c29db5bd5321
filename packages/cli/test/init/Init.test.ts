/** `atropos init`: what it writes is run, as its reader would. (Agents, and the compiler: `long/Starters.test.ts`.) */
import packageJson from "../../package.json" with { type: "json" }
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import * as Packages from "../../src/init/Packages.ts"
import * as Starter from "../../src/init/Starter.ts"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as Started from "./Started.ts"

describe("atropos init", () => {
  it.live("writes an environment that passes its own test and the laws, and says how to go on", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder, said } = yield* Started.started("my-env")
      assert.include(said, `ln -s ${Started.modules} node_modules`)
      assert.include(said, "npx @atropos/cli validate --env ./my-env.ts")
      assert.deepStrictEqual((yield* fs.readDirectory(folder)).toSorted(), [
        "my-env.test.ts",
        "my-env.ts",
        "node_modules",
        "package.json",
        "tsconfig.json"
      ])
      assert.match(yield* Started.tried(folder, "my-env"), /pass 4\b/)
      // Its commands are those of its package.json, which run where it stands.
      const { scripts } = yield* Effect.flatMap(fs.readFileString(`${folder}/package.json`), decodePackage)
      assert.deepStrictEqual(scripts["test"], "node --conditions=atropos-src --test")
      assert.strictEqual(scripts["validate"], "atropos validate --env ./my-env.ts")
      const there = yield* Bin.run(["validate", "--env", "./my-env.ts", "--texts", "40"], { cwd: folder })
      assert.strictEqual(there.code, 0, there.stdout)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("overwrites nothing, and says what is there", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      yield* fs.makeDirectory(`${cwd}/mine`)
      yield* fs.writeFileString(`${cwd}/mine/package.json`, "{}")
      const { code, stderr } = yield* InProcess.run(["init", "mine"])
      assert.strictEqual(code, 2)
      assert.match(stderr, /mine already has package\.json; nothing was overwritten/)
      assert.deepStrictEqual(yield* fs.readDirectory(`${cwd}/mine`), ["package.json"])
      assert.strictEqual(yield* fs.readFileString(`${cwd}/mine/package.json`), "{}")
      const misnamed = yield* InProcess.run(["init", "My Env"])
      assert.strictEqual(misnamed.code, 2)
      assert.include(misnamed.stderr, "for example my-env")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it("outside of a checkout asks for the packages by their versions, and for no flag of Node", () => {
    const given = { "@atropos/cli": "1.2.3", "@atropos/core": "1.2.3", effect: "4.1.0" }
    const files = Starter.files({ name: "my-env", dependencies: given, isCheckout: false })
    const { dependencies, scripts } = Schema.decodeSync(Package)(files.get("package.json") ?? "")
    assert.deepStrictEqual(dependencies, given)
    assert.strictEqual(scripts["test"], "node --test")
    assert.notInclude(files.get("tsconfig.json"), "atropos-src")
  })
})

const atRoot = (file: string) => `/root/${file}`

describe("what a starter depends on", () => {
  it("are the archives that its maker was installed from, where that were files", () => {
    const lock = {
      packages: {
        "node_modules/@atropos/core": { resolved: "file:packed/core.tgz", version: "1.2.3" },
        "node_modules/@atropos/cli": { resolved: "https://example.org/cli.tgz" },
        "node_modules/yaml": { resolved: "file:yaml.tgz" },
        "node_modules/@atropos/api": {}
      }
    }
    assert.deepStrictEqual(Packages.archives(JSON.stringify(lock), atRoot), {
      "@atropos/core": "file:/root/packed/core.tgz"
    })
    assert.deepStrictEqual(Packages.archives("no JSON", atRoot), {})
  })

  it.effect("are versions else, with Effect as the command itself takes it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Packages.dependencies(), {
        "@atropos/cli": packageJson.version,
        "@atropos/core": packageJson.version,
        "@atropos/envs": packageJson.version,
        ...packageJson.peerDependencies
      })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

const Package = Schema.fromJsonString(
  Schema.Struct({
    scripts: Schema.Record(Schema.String, Schema.String),
    dependencies: Schema.Record(Schema.String, Schema.String)
  })
)
const decodePackage = Schema.decodeEffect(Package)
