/** `atropos init`: what it writes is run, as its reader would. */
import packageJson from "../../package.json" with { type: "json" }
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { fileURLToPath } from "node:url"
import * as Packages from "../../src/init/Packages.ts"
import * as Starter from "../../src/init/Starter.ts"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"

const modules = fileURLToPath(new URL("../../../../node_modules", import.meta.url))

const text = (stream: Stream.Stream<Uint8Array, unknown>) => Stream.mkString(Stream.decodeText(stream))

/** Runs a command line in a folder; its exit code and output. */
const run = Effect.fnUntraced(function* (command: string, args: ReadonlyArray<string>, cwd: string) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const child = yield* spawner.spawn(ChildProcess.make(command, args, { cwd, extendEnv: true }))
  const [stdout, stderr, code] = yield* Effect.all([text(child.stdout), text(child.stderr), child.exitCode], {
    concurrency: "unbounded"
  })
  return { code: Number(code), output: `${stdout}${stderr}` }
}, Effect.scoped)

/** A folder with a new starter, which finds the packages; and what `init` said. */
const started = Effect.fnUntraced(function* (name: string, ...flags: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* InProcess.folder}/${name}`
  const { code, stdout } = yield* InProcess.run(["init", ...flags, name])
  assert.strictEqual(code, 0)
  yield* fs.symlink(modules, `${folder}/node_modules`)
  return { folder, said: stdout }
})

/** Runs the starter's own test, the laws and two rollouts. */
const tried = Effect.fnUntraced(function* (folder: string, name: string) {
  const env = ["--env", `./${name}/${name}.ts`]
  const tested = yield* run(process.execPath, ["--conditions=atropos-src", "--test"], folder)
  const validated = yield* InProcess.run(["validate", ...env, "--texts", "40"])
  const processed = yield* InProcess.run(["process", ...env, "--testing", "--env.total_steps", "2"])
  assert.strictEqual(tested.code, 0, tested.output)
  assert.strictEqual(validated.code, 0, `${validated.stdout}${validated.stderr}`)
  assert.match(processed.stdout, /groups +2 kept/)
  return tested.output
})

describe("atropos init", () => {
  it.live("writes an environment that passes its own test and the laws, and says how to go on", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder, said } = yield* started("my-env")
      assert.include(said, `ln -s ${modules} node_modules`)
      assert.include(said, "npx @atropos/cli validate --env ./my-env.ts")
      assert.deepStrictEqual((yield* fs.readDirectory(folder)).toSorted(), [
        "my-env.test.ts",
        "my-env.ts",
        "node_modules",
        "package.json",
        "tsconfig.json"
      ])
      assert.match(yield* tried(folder, "my-env"), /pass 4\b/)
      // Its commands are those of its package.json, which run where it stands.
      const { scripts } = yield* Effect.flatMap(fs.readFileString(`${folder}/package.json`), decodePackage)
      assert.deepStrictEqual(scripts["test"], "node --conditions=atropos-src --test")
      assert.strictEqual(scripts["validate"], "atropos validate --env ./my-env.ts")
      const there = yield* Bin.run(["validate", "--env", "./my-env.ts", "--texts", "40"], { cwd: folder })
      assert.strictEqual(there.code, 0, there.stdout)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("writes an agent in plain TypeScript that passes its own test and the laws", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder, said } = yield* started("my-agent", "--agent")
      assert.include(said, "agents.md")
      assert.notInclude(yield* fs.readFileString(`${folder}/my-agent.ts`), "effect")
      assert.match(yield* tried(folder, "my-agent"), /pass 2\b/)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("writes what the compiler passes with the options beside it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { folder } = yield* started("my-env")
      yield* InProcess.run(["init", "--agent", "my-agent"])
      const above = `${folder}/..`
      yield* fs.symlink(modules, `${above}/node_modules`)
      const options = (name: string) => fs.readFileString(`${above}/${name}/tsconfig.json`)
      assert.strictEqual(yield* options("my-agent"), yield* options("my-env"))
      // Both at once: most of the work is the packages' sources.
      const both = { extends: "./my-env/tsconfig.json", include: ["my-env/*.ts", "my-agent/*.ts"] }
      yield* fs.writeFileString(`${above}/tsconfig.json`, JSON.stringify(both))
      const { output } = yield* run(`${modules}/.bin/tsc`, ["-p", ".", "--singleThreaded", "--listFiles"], above)
      for (const name of ["my-env", "my-agent"]) assert.include(output, `/${name}/${name}.test.ts`)
      // In a checkout the sources of the packages are compiled too, which have a test of their own.
      assert.notMatch(output, /^(my-|error)/m)
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
      assert.match(stderr, /mine has package\.json already; nothing was overwritten/)
      assert.deepStrictEqual(yield* fs.readDirectory(`${cwd}/mine`), ["package.json"])
      assert.strictEqual(yield* fs.readFileString(`${cwd}/mine/package.json`), "{}")
      const misnamed = yield* InProcess.run(["init", "My Env"])
      assert.strictEqual(misnamed.code, 2)
      assert.include(misnamed.stderr, "like my-env")
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
