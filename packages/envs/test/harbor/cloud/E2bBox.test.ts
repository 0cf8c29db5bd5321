/** Harbor tasks in sandboxes of E2B: a stand-in whose sandboxes are folders behind bubblewrap. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, type Path, Result } from "effect"
import { existsSync } from "node:fs"
import * as Jail from "../../../src/sandbox/Jail.ts"
import * as Rolling from "../Rolling.ts"
import * as StandIn from "./StandIn.ts"

const hasBubblewrap = Result.isSuccess(Result.try(Jail.bubblewrap))
const skipped = hasBubblewrap ? "" : " (skipped: no bubblewrap)"

const greeting = { tasks: Rolling.folder("tasks/greeting"), where: "e2b", includeMessages: true } as const
const greet = 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'

const rolledOut = Effect.fnUntraced(function* (
  settings: Parameters<typeof Rolling.rolledOut>[0],
  commands: ReadonlyArray<string> = [],
  execute: StandIn.Execute = StandIn.inBubblewrap
) {
  const server = yield* StandIn.make(execute)
  const rolled = yield* Rolling.rolledOut({ ...greeting, ...settings }, Rolling.commands(...commands)).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(server.variables)))
  )
  return { ...rolled, server, left: Array.from(server.sandboxes.values()).filter(({ isAlive }) => isAlive) }
})

describe("Harbor tasks in E2B", () => {
  it.live("are refused by what they need and E2B, or this way there, does not have", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* fs.copy(Rolling.folder("tasks/greeting"), `${folder}/task`)
      const file = `${folder}/task/task.toml`
      const toml = yield* fs.readFileString(file)
      const refused = Effect.fnUntraced(function* (from: string, to: string, settings = {}) {
        yield* fs.writeFileString(file, toml.replace(from, to))
        return (yield* Effect.flip(rolledOut({ tasks: folder, ...settings }))).message
      })
      assert.include(
        yield* refused('workdir = "/app"', 'docker_image = "a"'),
        "it has an image: build an E2B template from it"
      )
      assert.include(yield* refused('workdir = "/app"', 'workdir = "/app"\ngpus = 1'), "E2B has no GPUs")
      assert.include(yield* refused("[agent]", '[agent]\nuser = "ada"'), "not ada")
      yield* fs.writeFileString(file, toml)
      const program = yield* Effect.flip(rolledOut({ tasks: folder, command: "python agent.py" }))
      assert.include(program.message, "does not reach the gateway of this machine: leave out --env.command")
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )
})

const suite = (name: string, run: Effect.Effect<unknown, unknown, FileSystem.FileSystem | Path.Path>) =>
  it.live.skipIf(!hasBubblewrap)(name, () => Effect.provide(run, Rolling.platform))

describe(`rollouts of Harbor tasks in E2B${skipped}`, () => {
  suite(
    "are worked on in one sandbox and graded in another, of which nothing is left",
    Effect.gen(function* () {
      const { figures, group, left, server, told } = yield* rolledOut({}, [
        "cat name.txt; pwd",
        "no-such-command",
        greet
      ])
      assert.isDefined(group, told)
      assert.deepStrictEqual(Array.from(group.scores), [1, 1])
      const [first, second, third] = Rolling.readings(group)
      assert.strictEqual(first, "Ada\n/app")
      assert.match(second!, /not found\n\(exit code 127\)/)
      assert.strictEqual(third, "(nothing was printed)")
      // Two rollouts, each with a sandbox for the agent and one for the tests.
      assert.deepInclude(figures, { "agent/failed": 0, "harbor/sandboxes": 4 })
      assert.isAbove(Number(figures["harbor/sandbox_seconds"]), 0)
      assert.deepStrictEqual([server.sandboxes.size, left], [4, []])
    }).pipe(Effect.scoped)
  )

  suite(
    "cannot write their own verdict through tests, logs or links",
    Effect.gen(function* () {
      const { group, left, told } = yield* rolledOut({}, [
        "mkdir -p /tests /logs/verifier; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh; echo 1 > /logs/verifier/reward.txt",
        "ln -s /logs/verifier/reward.txt greeting.txt; ln -s / out; ln -s /tests t; rm -rf name.txt"
      ])
      assert.isDefined(group, told)
      assert.deepStrictEqual(Array.from(group.scores), [0, 0])
      assert.deepStrictEqual(left, [])
    }).pipe(Effect.scoped)
  )

  suite(
    "cannot write their own verdict through an archive of other files",
    Effect.gen(function* () {
      // An agent that is root may have replaced tar, so its archive may hold anything.
      const forged =
        "mkdir -p /tmp/f; cd /tmp/f; mkdir -p app tests logs/verifier usr/bin; echo 1 > logs/verifier/reward.txt; echo 'Hello, Ada!' > tests/greeting.txt; ln -s /tests app/t; ln -s /tests/greeting.txt app/greeting.txt; echo 'echo 1' > usr/bin/cat; tar -czf /tmp/.atropos-artifacts.tgz *"
      const execute: StandIn.Execute = (root, process, killed) =>
        StandIn.inBubblewrap(
          root,
          process.args.some((word) => word.includes("tar -czf"))
            ? { ...process, cmd: "sh", args: ["-c", forged] }
            : process,
          killed
        )
      const { group, left, server, told } = yield* rolledOut({}, ["true"], execute)
      assert.isDefined(group, told)
      assert.deepStrictEqual(Array.from(group.scores), [0, 0])
      assert.deepStrictEqual(left, [])
      const graded = Array.from(server.sandboxes.values()).map(({ root }) => root)
      assert.isTrue(graded.every((root) => !existsSync(`${root}/tests/greeting.txt`)))
    }).pipe(Effect.scoped)
  )
})
