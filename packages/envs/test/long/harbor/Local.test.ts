/** Harbor tasks without containers: rewards of all kinds, verifiers that fail, and agents that are programs. */
import { assert, describe, it } from "@effect/vitest"
import * as Jail from "../../../src/sandbox/Jail.ts"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, FileSystem, Layer, Option, type Path, Result, Stream } from "effect"
import * as Harbor from "../../../src/connected/Harbor.ts"
import * as Rolling from "../../harbor/Rolling.ts"

const hasBubblewrap = Result.isSuccess(Result.try(Jail.bubblewrap))
const skipped = hasBubblewrap ? "" : " (skipped: no bubblewrap)"

const greeting = { tasks: Rolling.folder("tasks/greeting") }
const sum = { tasks: Rolling.folder("tasks/sum") }
const greet = 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'

const script = () => "Hello, Ada!"

const suite = (name: string, run: Effect.Effect<unknown, unknown, FileSystem.FileSystem | Path.Path>) =>
  it.live.skipIf(!hasBubblewrap)(name, () => Effect.provide(run, Rolling.platform))

describe(`Harbor tasks on this machine${skipped}`, () => {
  suite(
    "what is wrong, or not done, scores what the tests say",
    Effect.gen(function* () {
      const wrong = yield* Rolling.rolledOut(greeting, Rolling.commands("echo 'Hello, Bob!' > greeting.txt"))
      assert.deepStrictEqual(Array.from(wrong.group!.scores), [0, 0])
      const idle = yield* Rolling.rolledOut(greeting, Rolling.commands())
      assert.deepStrictEqual(Array.from(idle.group!.scores), [0, 0])
    })
  )

  suite(
    "a task's own solution is worth 1, though nobody made its script executable, and nothing done is worth 0",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      assert.strictEqual((yield* fs.stat(`${sum.tasks}/solution/solve.sh`)).mode & 0o111, 0)
      const { claims } = yield* Environment.Environment
      const [item] = yield* Stream.runCollect(Stream.take(Option.getOrThrow(claims).items, 1))
      assert.deepStrictEqual(yield* item!.score([item!.gold[0]!, item!.wrong[0]!]), [1, 0])
    }).pipe(
      Effect.provide(
        Harbor.layer(sum).pipe(
          Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes])
        )
      )
    )
  )

  suite(
    "several rewards of a JSON file are components, and its reward is the score, whatever the text file says",
    Effect.gen(function* () {
      const { group } = yield* Rolling.rolledOut(sum, Rolling.commands("echo 42 > sum.txt"))
      assert.deepStrictEqual(Array.from(group!.scores), [0, 0])
      assert.deepStrictEqual(group!.rewards, [
        { reward: 0, sum: 1, count: 0 },
        { reward: 0, sum: 1, count: 0 }
      ])
    })
  )

  suite(
    "a rollout whose verifier says nothing, or nonsense, or takes too long, is left out and told",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* fs.copy(Rolling.folder("tasks/greeting"), `${folder}/task`)
      const graded = (script: string) =>
        Effect.gen(function* () {
          yield* fs.writeFileString(`${folder}/task/tests/test.sh`, `#!/bin/sh\n${script}\n`)
          const { figures, group, told } = yield* Rolling.rolledOut({ tasks: folder }, Rolling.commands(greet))
          assert.isUndefined(group)
          assert.deepInclude(figures, { "agent/unrewarded": 2 })
          return told
        })
      assert.match(yield* graded("echo oh no; exit 1"), /wrote neither .*its output: oh no/)
      assert.include(yield* graded("echo good > /logs/verifier/reward.txt"), "expected one number")
      assert.include(yield* graded("ln -s /app/name.txt /logs/verifier/reward.txt"), "cannot read reward.txt")
      yield* fs.writeFileString(
        `${folder}/task/task.toml`,
        (yield* fs.readFileString(`${folder}/task/task.toml`)).replace(
          "[verifier]\ntimeout_sec = 30.0",
          "[verifier]\ntimeout_sec = 0.5"
        )
      )
      assert.include(
        yield* graded("echo 1 > /logs/verifier/reward.txt; sleep 60"),
        "the verifier took longer than 0.5 seconds (verifier.timeout_sec)"
      )
    }).pipe(Effect.scoped)
  )

  suite(
    "an agent's own program asks the model through its SDK, and what it left is graded however it ended",
    Effect.gen(function* () {
      const ask = `const r = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ messages: [{ role: "user", content: process.env.INSTRUCTION }] }) }); require("fs").writeFileSync("greeting.txt", (await r.json()).choices[0].message.content)`
      const program = (end: string) => `'${process.execPath}' -e '(async () => { ${ask} })().then(() => ${end})'`
      const visible = [process.execPath.replace(/\/bin\/node$/, "")]
      const offline = { tasks: Rolling.folder("tasks/greeting"), visible, groupSize: 1 }
      const alone = yield* Rolling.rolledOut({ ...offline, command: program("0") }, script)
      assert.deepStrictEqual(Array.from(alone.group!.scores), [1], alone.told)
      const settings = { ...offline, tasks: yield* Rolling.greetingOnline, groupSize: 2 }
      const failing = yield* Rolling.rolledOut({ ...settings, command: program("process.exit(3)") }, script)
      assert.deepStrictEqual(Array.from(failing.group!.scores), [1, 1])
      assert.deepInclude(failing.figures, { "agent/threw": 2 })
      const silent = yield* Rolling.rolledOut({ ...settings, command: "true" }, script)
      assert.isUndefined(silent.group)
      assert.include(silent.told, "made no request to the model")
    }).pipe(Effect.scoped)
  )
})
