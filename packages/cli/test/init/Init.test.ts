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

describe("atropos init", () => {
  it.live(
    "writes an environment that passes its own test, the laws and the compiler, and says how to go on",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const cwd = yield* Bin.folder
        const { code, stdout } = yield* Bin.run(["init", "my-env"], { cwd })
        assert.strictEqual(code, 0)
        assert.include(stdout, `ln -s ${modules} node_modules`)
        assert.include(stdout, "npx @atropos/cli validate --env ./my-env.ts")
        const folder = `${cwd}/my-env`
        assert.deepStrictEqual((yield* fs.readDirectory(folder)).toSorted(), [
          "my-env.test.ts",
          "my-env.ts",
          "package.json",
          "tsconfig.json"
        ])
        yield* fs.symlink(modules, `${folder}/node_modules`)
        const [tested, compiled, validated, processed] = yield* Effect.all(
          [
            run(process.execPath, ["--conditions=atropos-src", "--test"], folder),
            run(`${modules}/.bin/tsc`, ["-p", "."], folder),
            Bin.run(["validate", "--env", "./my-env.ts", "--texts", "40"], { cwd: folder }),
            Bin.run(["process", "--env", "./my-env.ts", "--testing", "--env.total_steps", "2"], { cwd: folder })
          ],
          { concurrency: 2 }
        )
        assert.strictEqual(tested.code, 0, tested.output)
        assert.match(tested.output, /pass 4\b/)
        // In a checkout the sources of the packages are compiled too, which have a test of their own.
        assert.notMatch(compiled.output, /^(my-env|error)/m)
        assert.strictEqual(validated.code, 0, validated.stdout)
        assert.match(processed.stdout, /groups +2 kept/)
        // Its commands are those of its package.json.
        const { scripts } = yield* Effect.flatMap(fs.readFileString(`${folder}/package.json`), decodePackage)
        assert.deepStrictEqual(scripts["test"], "node --conditions=atropos-src --test")
      }).pipe(Effect.provide(NodeServices.layer)),
    120_000
  )

  it.live(
    "writes an agent in plain TypeScript that passes its own test, the laws and the compiler",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const cwd = yield* Bin.folder
        const { code, stdout } = yield* Bin.run(["init", "--agent", "my-agent"], { cwd })
        assert.strictEqual(code, 0)
        assert.include(stdout, "agents.md")
        const folder = `${cwd}/my-agent`
        yield* fs.symlink(modules, `${folder}/node_modules`)
        assert.notInclude(yield* fs.readFileString(`${folder}/my-agent.ts`), "effect")
        const [tested, compiled, validated, processed] = yield* Effect.all(
          [
            run(process.execPath, ["--conditions=atropos-src", "--test"], folder),
            run(`${modules}/.bin/tsc`, ["-p", "."], folder),
            Bin.run(["validate", "--env", "./my-agent.ts", "--texts", "40"], { cwd: folder }),
            Bin.run(["process", "--env", "./my-agent.ts", "--testing", "--env.total_steps", "2"], { cwd: folder })
          ],
          { concurrency: 2 }
        )
        assert.strictEqual(tested.code, 0, tested.output)
        assert.match(tested.output, /pass 2\b/)
        assert.notMatch(compiled.output, /^(my-agent|error)/m)
        assert.strictEqual(validated.code, 0, `${validated.stdout}${validated.stderr}`)
        assert.match(processed.stdout, /groups +2 kept/)
      }).pipe(Effect.provide(NodeServices.layer)),
    120_000
  )

  it.live("overwrites nothing, and says what is there", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Bin.folder
      yield* fs.makeDirectory(`${cwd}/mine`)
      yield* fs.writeFileString(`${cwd}/mine/package.json`, "{}")
      const { code, stderr } = yield* Bin.run(["init", "mine"], { cwd })
      assert.strictEqual(code, 2)
      assert.match(stderr, /mine has package\.json already; nothing was overwritten/)
      assert.deepStrictEqual(yield* fs.readDirectory(`${cwd}/mine`), ["package.json"])
      assert.strictEqual(yield* fs.readFileString(`${cwd}/mine/package.json`), "{}")
      const misnamed = yield* Bin.run(["init", "My Env"], { cwd })
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
