import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import * as Jail from "../../src/sandbox/Jail.ts"
import { Context, Effect, FileSystem, Layer, Logger, Option, Result, type Scope, Stream } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { defineAgent } from "../../src/agent/Agent.ts"
import * as Command from "../../src/connected/Command.ts"
import type { Settings } from "../../src/command/CommandSettings.ts"
import * as Words from "../../src/base/Words.ts"

const file = (name: string) => fileURLToPath(new URL(`agents/${name}`, import.meta.url))
const node = `'${process.execPath}'`
const agent = `${node} ${file("agent.mjs")}`
const check = `${node} ${file("check.mjs")}`

/** The command line that runs a script of the shell. */
const shell = (script: string) => Words.join(["sh", "-c", script])

const hasPython = spawnSync("python3", ["--version"]).status === 0
const hasBubblewrap = Result.isSuccess(Result.try(Jail.bubblewrap))

/** The model says 4 whatever it is asked. */
const four: ServerManager.Script = () => "4"

/** The first group over one item, and the environment's figures with all that was logged. */
const rolledOut = Effect.fnUntraced(function* (settings: Partial<Settings>, script = four) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
  const items = `${folder}/tasks.jsonl`
  yield* fs.writeFileString(items, `${JSON.stringify({ question: "2 + 2?", answer: "4" })}\n`)
  const told: Array<unknown> = []
  const { figures, group } = yield* Effect.gen(function* () {
    const environment = yield* Environment.Environment
    const [work] = yield* environment.work(0).pipe(Stream.take(1), Stream.runCollect)
    const rolled = yield* Effect.result(work!.rollOut)
    const group = Result.isSuccess(rolled) ? rolled.success.groups[0] : undefined
    if (Result.isFailure(rolled)) told.push(rolled.failure.message)
    return { group, figures: yield* environment.metrics }
  }).pipe(
    Effect.provide(
      Command.layer({ command: agent, items, groupSize: 2, ensureScoresAreNotSame: false, ...settings }).pipe(
        Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes])
      )
    ),
    Effect.provide(Logger.layer([Logger.make(({ message }) => void told.push(message))]))
  )
  return { group, figures, told: JSON.stringify(told), folder }
})

const suite = (
  name: string,
  run: Effect.Effect<unknown, unknown, Layer.Success<typeof NodeServices.layer> | Scope.Scope>,
  skip = false
) => it.live.skipIf(skip)(name, () => run.pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

describe("the command environment", () => {
  suite(
    "runs a program for every rollout with a session of its own, and has it judged by a second one",
    Effect.gen(function* () {
      const { figures, group } = yield* rolledOut({ scorer: check, rewardWeights: { turns: 0, exit: 0 } })
      assert.deepStrictEqual(group!.rewards, [
        { correct: 1, turns: 1, exit: 0, secret: 0 },
        { correct: 1, turns: 1, exit: 0, secret: 0 }
      ])
      assert.deepStrictEqual(Array.from(group!.scores), [1, 1])
      assert.deepStrictEqual(
        group!.messages?.[0]?.map(({ content }) => content),
        ["2 + 2?", "4"]
      )
      assert.deepInclude(figures, { "agent/sessions": 2, "agent/failed": 0 })
    })
  )

  suite(
    `trains on both turns of a Python program that knows nothing but urllib${hasPython ? "" : " (skipped: no python3)"}`,
    Effect.gen(function* () {
      const { group } = yield* rolledOut({ command: `python3 ${file("agent.py")}`, scorer: check })
      assert.deepStrictEqual(
        group?.rewards?.map(({ correct, turns }) => [correct, turns]),
        [
          [1, 2],
          [1, 2]
        ]
      )
      // "4" and the end of its turn, twice.
      assert.deepStrictEqual(
        group!.masks.map((mask) => mask.reduce((sum, one) => sum + one, 0)),
        [4, 4]
      )
    }),
    !hasPython
  )

  suite(
    "gives the group that the same agent gives as a function of this process, token by token",
    Effect.gen(function* () {
      const seeds = new Set<number | undefined>()
      // What is sampled depends on the prompt and the seed alone, as in an engine.
      const sampled: ServerManager.Script = ({ seed }) => {
        seeds.add(seed)
        return String((seed ?? 0) % 1000)
      }
      const asProgram = yield* rolledOut({ groupSize: 4, seed: 7 }, sampled)
      const asFunction = yield* defineAgent({
        name: "same",
        items: [{ question: "2 + 2?", answer: "4" }],
        run: async ({ item, model }) => {
          await fetch(`${model.baseURL}/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model: model.name, messages: [{ role: "user", content: item.question }] })
          })
          return 1
        }
      })({ groupSize: 4, seed: 7 }).pipe(
        Layer.provide([ServerManager.layerScripted(sampled), Dataset.layer, Tokenizer.layerBytes]),
        Layer.build,
        Effect.flatMap((context) => Stream.runHead(Context.get(context, Environment.Environment).work(0))),
        Effect.flatMap((work) => Option.getOrThrow(work).rollOut)
      )
      assert.strictEqual(seeds.size, 4)
      assert.deepStrictEqual(asProgram.group!.tokens, asFunction.groups[0]!.tokens)
      assert.deepStrictEqual(asProgram.group!.masks, asFunction.groups[0]!.masks)
    })
  )

  suite(
    "takes the reward from the file or the POST of the program, else its exit code, in this order",
    Effect.gen(function* () {
      const scores = (words: string, settings: Partial<Settings> = {}) =>
        Effect.map(
          rolledOut({ command: `${agent} ${words}`, ...settings }),
          ({ group }) => group?.rewards ?? Array.from(group?.scores ?? [])
        )
      assert.deepStrictEqual(yield* scores("file"), [{ correct: 0.5 }, { correct: 0.5 }])
      assert.deepStrictEqual(yield* scores("post"), [{ posted: 0.25 }, { posted: 0.25 }])
      assert.deepStrictEqual(yield* scores("none"), [1, 1])
      assert.deepStrictEqual(yield* scores("fail"), [0, 0])
      assert.deepStrictEqual(yield* scores("file", { reward: "exit" }), [1, 1])
    })
  )

  suite(
    "leaves out, counts and tells rollouts of which nobody says what they were worth, or says nonsense",
    Effect.gen(function* () {
      const silent = yield* rolledOut({ reward: "post" })
      assert.isUndefined(silent.group)
      assert.deepInclude(silent.figures, { "agent/unrewarded": 2, "agent/failed": 2 })
      assert.include(silent.told, "posted no reward to REWARD_URL")
      const nonsense = yield* rolledOut({ command: `${agent} nonsense` })
      assert.isUndefined(nonsense.group)
      assert.include(nonsense.told, "the reward file does not contain a reward; good is not JSON")
      const endless = yield* rolledOut({ command: shell(`${agent}; ln -s /dev/zero "$REWARD_FILE"`) })
      assert.isUndefined(endless.group)
      assert.include(endless.told, "not a file of up to 65536 bytes (CharacterDevice")
      const broken = yield* rolledOut({ scorer: "sh -c 'echo no such check >&2; exit 1'" })
      assert.isUndefined(broken.group)
      assert.include(broken.told, "the scorer exited with 1; its output: no such check")
    })
  )

  suite(
    "ends a program whose time is over: without a verdict it is left out, and a scorer may still judge its folder",
    Effect.gen(function* () {
      const hanging = { command: `${agent} hang`, sessionTimeout: 2 }
      const late = yield* rolledOut(hanging)
      assert.isUndefined(late.group)
      assert.deepInclude(late.figures, { "agent/timeouts": 2 })
      assert.include(late.told, "took longer than 2 seconds")
      // It has to come to its work on any machine.
      const judged = yield* rolledOut({ ...hanging, sessionTimeout: 20, scorer: check })
      assert.deepStrictEqual(
        judged.group?.rewards?.map(({ correct, exit }) => [correct, exit]),
        [
          [1, -1],
          [1, -1]
        ]
      )
    })
  )

  suite(
    "tries an item again where the servers failed, which is no failure of the program",
    Effect.gen(function* () {
      const { figures, told } = yield* rolledOut({}, () =>
        Effect.fail(new InferenceError({ reason: "malformed", server: "script", message: "out of order" }))
      )
      assert.include(told, "out of order")
      assert.deepInclude(figures, { "agent/sessions": 0 })
    })
  )

  suite(
    "judges a program that has removed its folder, or locked it, like any other",
    Effect.gen(function* () {
      const removed = yield* rolledOut({ command: shell(`${agent}; rm -r "$PWD"`), scorer: check })
      assert.deepStrictEqual(
        removed.group?.rewards?.map(({ correct }) => correct),
        [0, 0]
      )
      const locked = yield* rolledOut({ command: shell(`${agent}; mkdir a; touch a/b; chmod 0 a`), scorer: check })
      assert.deepStrictEqual(
        locked.group?.rewards?.map(({ correct }) => correct),
        [1, 1]
      )
    })
  )

  suite(
    "gives programs a copy of a folder to work in, which goes with them unless it is kept",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const template = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* fs.writeFileString(`${template}/main.py`, "print(1)")
      const kept = `${template}-kept`
      yield* Effect.addFinalizer(() => Effect.orDie(fs.remove(kept, { recursive: true })))
      yield* rolledOut({ workspace: template, keepFoldersIn: kept })
      const folders = yield* fs.readDirectory(kept)
      assert.strictEqual(folders.length, 2)
      assert.sameMembers(yield* fs.readDirectory(`${kept}/${folders[0]}/work`), ["answer.txt", "main.py"])
      assert.deepStrictEqual(yield* fs.readDirectory(template), ["main.py"])
    })
  )

  suite(
    "shows programs none of this process's secrets, but what is named",
    Effect.gen(function* () {
      process.env["SECRET_TOKEN_OF_TEST"] = "s3cret"
      process.env["NAMED_OF_TEST"] = "named"
      const script = `${agent}; env > "$REWARD_FILE.env"; echo "{\\"secret\\": $(grep -c s3cret "$REWARD_FILE.env"), \\"named\\": $(grep -c NAMED_OF_TEST=named "$REWARD_FILE.env"), \\"own\\": $(grep -c OWN=1 "$REWARD_FILE.env")}" > "$REWARD_FILE"`
      const { group } = yield* rolledOut({
        command: shell(script),
        passVariables: ["NAMED_OF_TEST"],
        variables: { OWN: "1" }
      })
      delete process.env["SECRET_TOKEN_OF_TEST"]
      delete process.env["NAMED_OF_TEST"]
      assert.deepStrictEqual(group?.rewards?.[0], { secret: 0, named: 1, own: 1 })
    })
  )

  suite(
    `keeps programs in a sandbox from what is not theirs${hasBubblewrap ? "" : " (skipped: no bwrap)"}`,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const hidden = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-hidden-" })
      yield* fs.writeFileString(`${hidden}/key`, "secret")
      const probe = `${agent}; cat ${hidden}/key || touch ${hidden}/new ${file("new")} || echo 1 > "$REWARD_FILE"`
      const { group } = yield* rolledOut({
        command: shell(probe),
        sandbox: "bubblewrap",
        visible: [
          fileURLToPath(new URL("agents", import.meta.url)),
          fileURLToPath(new URL("../..", `file://${process.execPath}`))
        ]
      })
      assert.deepStrictEqual(Array.from(group?.scores ?? []), [1, 1])
      const judged = yield* rolledOut({ sandbox: "bubblewrap", scorer: check })
      assert.strictEqual(judged.group?.rewards?.[0]?.["correct"], 1)
    }),
    !hasBubblewrap
  )

  it.effect("says at the start what of its settings cannot be meant", () =>
    Effect.gen(function* () {
      const mistake = (settings: Partial<Settings>) =>
        Layer.build(Command.layer({ command: agent, items: "tasks.jsonl", ...settings })).pipe(
          Effect.provide([ServerManager.layerScripted(four), Dataset.layer, Tokenizer.layerBytes, NodeServices.layer]),
          Effect.scoped,
          Effect.flip,
          Effect.map(String)
        )
      assert.include(yield* mistake({ command: "" }), "name the program to run")
      assert.include(yield* mistake({ command: "run 'it" }), "the ' at character 5 is not closed")
      assert.include(yield* mistake({ command: "no-such-program-here" }), "program no-such-program-here not found in")
      assert.include(yield* mistake({ items: null }), "--env.items tasks.jsonl")
      assert.include(yield* mistake({ reward: "scorer" }), "name it, as in --env.scorer")
      assert.include(yield* mistake({ reward: "post", scorer: check }), "the scorer would never run")
      assert.include(yield* mistake({ workspace: "/no/such/folder" }), "folder not found: /no/such/folder")
      assert.include(yield* mistake({}), "tasks.jsonl")
    })
  )
})
