/** What is read of task directories, and what is said of those that are broken. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Result, Schema } from "effect"
import * as RewardFile from "../../src/harbor/RewardFile.ts"
import * as Task from "../../src/harbor/Task.ts"
import * as Tasks from "../../src/harbor/Tasks.ts"
import * as Templates from "../../src/harbor/Templates.ts"
import * as Rolling from "./Rolling.ts"

/** A task directory with some files changed; null takes one away. */
const changed = Effect.fnUntraced(function* (files: { readonly [name: string]: string | null }) {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })}/task`
  yield* fs.copy(Rolling.folder("tasks/greeting"), folder)
  for (const [name, text] of Object.entries(files)) {
    if (text === null) yield* fs.remove(`${folder}/${name}`, { recursive: true })
    else yield* fs.writeFileString(`${folder}/${name}`, text)
  }
  return folder
})

/** What is wrong with a `task.toml`, without the folder's name. */
const faultOf = (files: { readonly [name: string]: string | null }) =>
  Effect.gen(function* () {
    const folder = yield* changed(files)
    const { message } = yield* Effect.flip(Task.read(folder))
    return message.replaceAll(folder, "TASK")
  })

describe("a task directory", () => {
  it.live("is read with Harbor's defaults", () =>
    Effect.gen(function* () {
      const task = yield* Task.read(yield* changed({ "task.toml": "" }))
      assert.strictEqual(task.name, "task")
      assert.strictEqual(
        task.instruction,
        "The file `name.txt` holds a name. Write `Hello, NAME!` into `greeting.txt`.\\n".replace("\\n", "\n")
      )
      assert.deepStrictEqual(task.machine, { image: { _tag: "None" }, buildSeconds: 600, hasNetwork: true, env: {} })
      assert.deepStrictEqual(task.verifier, { seconds: 600, env: {}, hasNetwork: true })
      assert.deepStrictEqual(task.agent, {})
      assert.isTrue(task.hasSolution)
      assert.isUndefined(task.refusal)
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.live("that is broken is told by file and key, with what would be right", () =>
    Effect.gen(function* () {
      assert.match(yield* faultOf({ "task.toml": null }), /^TASK\/task.toml: a task needs this file/)
      assert.match(yield* faultOf({ "instruction.md": null }), /^TASK\/instruction.md: a task needs this file/)
      assert.match(
        yield* faultOf({ "tests/test.sh": null }),
        /^TASK\/tests\/test.sh: a task needs this file, which grades it$/
      )
      assert.match(
        yield* faultOf({ environment: null }),
        /a task needs a folder environment, or environment.docker_image/
      )
      assert.match(yield* faultOf({ "task.toml": "[verifier\ntimeout_sec = 3" }), /^TASK\/task.toml:1: Invalid TOML/)
      assert.match(
        yield* faultOf({ "task.toml": '[verifier]\ntimeout_sec = "long"' }),
        /^TASK\/task.toml: verifier.timeout_sec: /
      )
      assert.match(
        yield* faultOf({ "task.toml": "[agent]\ntimeout_sec = 0" }),
        /agent.timeout_sec: expected a number of seconds above 0/
      )
      assert.match(
        yield* faultOf({ "task.toml": '[environment]\nworkdir = "app"' }),
        /environment.workdir: expected an absolute path/
      )
      assert.match(
        yield* faultOf({ "task.toml": '[environment]\nnetwork_mode = "off"' }),
        /environment.network_mode: .*no-network/
      )
      assert.match(
        yield* faultOf({ "task.toml": '[environment]\nmemory = "two"' }),
        /environment.memory: "two" is not a valid size/
      )
      assert.match(
        yield* faultOf({ "task.toml": '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1' }),
        /remove one of them/
      )
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.live("with what is not supported is refused by name, and what nobody reads is told", () =>
    Effect.gen(function* () {
      const of = (toml: string, files = {}) => Effect.flatMap(changed({ "task.toml": toml, ...files }), Task.read)
      const refused: ReadonlyArray<readonly [string, RegExp]> = [
        ['[[steps]]\nname = "one"', /multiple steps/],
        ['[environment]\nos = "Windows"', /windows/],
        ['[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.org"]', /allowlist/],
        ['[[environment.mcp_servers]]\nname = "x"', /MCP servers/],
        ['[environment.tpu]\ntype = "v6e"\ntopology = "2x2"', /TPU/],
        ['[[verifier.collect]]\ncommand = "true"', /collect hooks/],
        ['[[artifacts]]\nsource = "/a"\nservice = "db"', /artifacts of other services/]
      ]
      for (const [toml, why] of refused) assert.match((yield* of(toml)).refusal ?? "", why)
      assert.match((yield* of("", { "environment/docker-compose.yaml": "" })).refusal ?? "", /docker compose/)
      const { notes } = yield* of("[verifer]\ntimeout_sec = 3\n[agent]\ntimout_sec = 3")
      assert.deepStrictEqual(notes, [
        'task.toml: unknown key verifer; did you mean "verifier"?',
        'task.toml: unknown key agent.timout_sec; did you mean "timeout_sec"?'
      ])
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.live("is found in any folder above it; broken ones stop the start, or are left out", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const broken = yield* changed({ "task.toml": "[verifier" })
      const found = yield* Tasks.find([Rolling.folder("."), broken])
      const names = found.map(({ task }) => (Result.isSuccess(task) ? task.success.name : "broken"))
      assert.deepStrictEqual(names, ["atropos/separate", "atropos/shared", "atropos/greeting", "sum", "broken"])
      const { message } = yield* Effect.flip(Tasks.runnable(found, false))
      assert.match(message, /^1 of 5 tasks cannot be run \(--env.skip_refused true skips them\):\n.*task.toml:1/)
      assert.strictEqual((yield* Tasks.runnable(found, true)).length, 4)
      const some = yield* Tasks.find([Rolling.folder(".")], ["atropos/s*", "sum"])
      assert.strictEqual(some.length, 3)
      assert.match(
        (yield* Effect.flip(Tasks.find([Rolling.folder(".")], ["nothing*"]))).message,
        /none of the 4 tasks is named nothing\*/
      )
      const empty = yield* fs.makeTempDirectoryScoped()
      assert.match((yield* Effect.flip(Tasks.find([empty]))).message, /no task directory/)
      assert.match(
        (yield* Effect.flip(Tasks.find([`${empty}/none`]))).message,
        /cannot read the folder .*: ENOENT: no such file/
      )
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.effect("takes variables from this process where it says so, and names the one that is missing", () =>
    Effect.gen(function* () {
      const env = { A: "plain", B: "${KEY}", C: "${NONE:-other}", D: "x ${KEY}" }
      assert.deepStrictEqual(yield* Templates.resolve({ name: "t" }, "verifier.env", env, { KEY: "k" }), {
        A: "plain",
        B: "k",
        C: "other",
        D: "x ${KEY}"
      })
      const { message } = yield* Effect.flip(Templates.resolve({ name: "t" }, "verifier.env", env, {}))
      assert.strictEqual(
        message,
        "the task t needs the environment variable KEY (verifier.env.B in its task.toml), which is not set"
      )
    })
  )
})

const fails = (result: Result.Result<unknown, string>) => assert.isTrue(Result.isFailure(result))

describe("the reward file of a verifier", () => {
  it("is one number as text", () => {
    for (const [text, value] of [
      ["1", 1],
      [" 0.5\n", 0.5],
      ["-1", -1],
      ["1e-3", 0.001],
      [".5", 0.5],
      ["+2.", 2]
    ] as const) {
      assert.deepStrictEqual(RewardFile.ofText(text), Result.succeed(value))
    }
    for (const text of ["", "one", "1 2", "nan", "inf", "1e999", "0x10", "1,5", "true", "{}", "1_000", "½"])
      fails(RewardFile.ofText(text))
  })

  it("or numbers by name as JSON, of which reward is the score", () => {
    assert.deepStrictEqual(RewardFile.ofJson('{"reward": 0.75}'), Result.succeed(0.75))
    assert.deepStrictEqual(RewardFile.ofJson('{"a": true, "b": false}'), Result.succeed({ a: 1, b: 0 }))
    assert.deepStrictEqual(RewardFile.ofJson('{"a": 1, "b": 0}'), Result.succeed({ a: 1, b: 0 }))
    assert.deepStrictEqual(
      RewardFile.ofJson('{"reward": 0.5, "b": 1}'),
      Result.succeed({ _tag: "Total", score: 0.5, rewards: { reward: 0.5, b: 1 } })
    )
    for (const text of [
      "1",
      "[1]",
      "null",
      "{}",
      '{"a": "1"}',
      '{"a": null}',
      '{"a": 1e999}',
      '{"a": NaN}',
      '{"a b": 1}',
      '{"reward": {}}',
      "{",
      '{"_tag": "Total", "score": 1}'
    ]) {
      fails(RewardFile.ofJson(text))
    }
  })

  it.prop("has any number back that a float32 holds, and no other", [Schema.Finite], ([number]) => {
    const read = [RewardFile.ofText(String(number)), RewardFile.ofJson(`{"reward": ${number}}`)]
    if (Number.isFinite(Math.fround(number))) {
      for (const one of read) assert.deepStrictEqual(one, Result.succeed(Number(String(number))))
    } else {
      for (const one of read) fails(one)
    }
  })

  it.prop("is nothing else, whatever a text holds", [Schema.String], ([text]) => {
    const read = RewardFile.ofText(text)
    if (Result.isSuccess(read)) assert.isTrue(Number.isFinite(Number(text)))
  })
})
