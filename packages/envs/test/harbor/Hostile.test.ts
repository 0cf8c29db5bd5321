/** Tasks that are after this machine: its loopback, its keys, its programs, and the tests' own machine. */
import { assert, describe, it } from "@effect/vitest"
import * as Jail from "../../src/sandbox/Jail.ts"
import { Effect, FileSystem, type Path, Result, type Scope } from "effect"
import { rmSync, symlinkSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import type { Settings } from "../../src/harbor/HarborSettings.ts"
import * as Rolling from "./Rolling.ts"

const hasBubblewrap = Result.isSuccess(Result.try(Jail.bubblewrap))
const skipped = hasBubblewrap ? "" : " (skipped: no bubblewrap)"

type Needs = FileSystem.FileSystem | Path.Path | Scope.Scope

const suite = (name: string, run: Effect.Effect<unknown, unknown, Needs>) =>
  it.live.skipIf(!hasBubblewrap)(name, () => run.pipe(Effect.scoped, Effect.provide(Rolling.platform)))

const one = { groupSize: 1, includeMessages: true } as const

/** A task with these lines in its `task.toml`; what its tests print is its verdict. */
const task = Effect.fnUntraced(function* (toml: string, test = "echo 1 > /logs/verifier/reward.txt") {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })}/task`
  yield* fs.copy(Rolling.folder("tasks/greeting"), folder)
  yield* fs.writeFileString(`${folder}/task.toml`, toml)
  yield* fs.writeFileString(`${folder}/tests/test.sh`, `#!/bin/bash\n${test}\n`)
  return folder
})

const readings = Effect.fnUntraced(function* (settings: Partial<Settings>, ...lines: ReadonlyArray<string>) {
  const { group, told } = yield* Rolling.rolledOut({ ...one, ...settings }, Rolling.commands(...lines))
  return { read: group === undefined ? [] : Rolling.readings(group), score: group?.scores[0], told }
})

/** A service of this machine, and how many have reached it. */
const service = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly count: () => number; readonly close: () => void }>((resume) => {
    let count = 0
    const server = createServer((socket) => {
      count++
      socket.destroy()
    })
    server.listen(0, "127.0.0.1", () => {
      // Listening, so it has an address.
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ port, count: () => count, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe(`hostile Harbor tasks on this machine${skipped}`, () => {
  suite(
    "reach nothing that listens on the loopback, neither commands nor tests, unless task or setting asks",
    Effect.gen(function* () {
      const { count, port } = yield* service
      const reach = `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached || echo shut`
      const test = `[ "$(${reach})" = reached ]; echo "$?" > /logs/verifier/reward.txt`
      for (const [toml, settings, isOpen, isOpenForTests] of [
        ["", {}, false, false],
        ["", { network: "public" }, true, true],
        ['[environment]\nnetwork_mode = "public"', {}, true, true],
        ["[environment]\nallow_internet = true", {}, true, true],
        ['[environment]\nnetwork_mode = "public"', { network: "none" }, false, false],
        ['[environment]\nnetwork_mode = "public"', { network: "web" }, false, false],
        ['[environment]\nnetwork_mode = "no-network"', { network: "public" }, false, false],
        ['[agent]\nnetwork_mode = "public"', {}, true, false],
        ['[verifier]\nnetwork_mode = "public"', {}, false, true]
      ] as const) {
        const before = count()
        const { read, score } = yield* readings({ tasks: yield* task(toml, test), ...settings }, reach)
        const about = `${toml} ${JSON.stringify(settings)}`
        assert.deepStrictEqual(read, [isOpen ? "reached" : "shut"], about)
        assert.strictEqual(score, isOpenForTests ? 0 : 1, about)
        assert.strictEqual(count() - before, Number(isOpen) + Number(isOpenForTests), about)
      }
    })
  )

  suite(
    "have programs that reach the gateway without a network, and nothing else that listens",
    Effect.gen(function* () {
      const { count, port } = yield* service
      const ask = `r = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ messages: [{ role: "user", content: "Who?" }] }) })`
      const reach = `found = await fetch("http://127.0.0.1:${port}").then(() => "reached", ({ cause }) => cause.code)`
      const other = `other = (await fetch(new URL("/s/${"0".repeat(32)}/v1/models", process.env.OPENAI_BASE_URL))).status`
      const write = `fs.writeFileSync("found.txt", (await r.json()).choices[0].message.content + " " + found + " " + other)`
      const program = `(async () => { const fs = require("fs"), ${ask}, ${reach}, ${other}; ${write} })()`
      const { figures, group, told } = yield* Rolling.rolledOut(
        {
          ...one,
          tasks: yield* task(
            "",
            '[ "$(cat found.txt)" = "Ada ECONNREFUSED 404" ] && echo 1 > /logs/verifier/reward.txt; cat found.txt'
          ),
          command: `'${process.execPath}' -e '${program}'; exit 3`
        },
        () => "Ada"
      )
      assert.deepStrictEqual(Array.from(group?.scores ?? []), [1], told)
      assert.strictEqual(count(), 0)
      // The exit code of the program is that of the command.
      assert.deepInclude(figures, { "agent/threw": 1 })
    })
  )

  suite(
    "have the Internet by a proxy that leads to nothing of this machine, if so set, and the gateway next to it",
    Effect.gen(function* () {
      const { count, port } = yield* service
      // The second is sent to the proxy, which refuses it.
      const reach = `found = [await fetch("http://127.0.0.1:${port}").then(() => 0, ({ cause }) => cause.code), await fetch("http://169.254.169.254").catch((e) => require("util").inspect(e).match(/response [(]([0-9]+)/)[1])]`
      const ask = `await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ messages: [{ role: "user", content: "Who?" }] }) })`
      const program = `(async () => { const ${reach}; ${ask}; require("fs").writeFileSync("found.txt", found.join()) })()`
      const probe = `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://127.0.0.1:${port}/ HTTP/1.0\r\n\r\n' >&3; grep -c 'not a public' <&3`
      const { group, told } = yield* Rolling.rolledOut(
        {
          ...one,
          network: "web",
          tasks: yield* task(
            '[environment]\nnetwork_mode = "public"',
            `[ "$(cat found.txt) $(${probe})" = "ECONNREFUSED,403 1" ] && echo 1 > /logs/verifier/reward.txt; cat found.txt`
          ),
          command: `'${process.execPath}' -e '${program}'`
        },
        () => "Ada"
      )
      assert.deepStrictEqual(Array.from(group?.scores ?? []), [1], told)
      assert.strictEqual(count(), 0)
    })
  )

  suite(
    "get no variable of this process that --env.pass does not name",
    Effect.gen(function* () {
      process.env["ATROPOS_TEST_KEY"] = "secret-1"
      yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env["ATROPOS_TEST_KEY"]))
      const taking = "${ATROPOS_TEST_KEY}"
      const tables = ["environment", "verifier"]
      for (const table of tables) {
        const tasks = yield* task(
          `[${table}.env]\nK = "${taking}"`,
          'echo "$K"; echo "${#K}" > /logs/verifier/reward.txt'
        )
        const { score, told } = yield* readings({ tasks }, "env")
        assert.isUndefined(score)
        assert.include(told, `${table}.env.K`)
        assert.match(told, /is not passed on: name it in --env.pass '\[.*ATROPOS_TEST_KEY/)
        assert.notInclude(told, "secret-1")
        const passed = yield* readings({ tasks, pass: ["ATROPOS_TEST_KEY"] }, "env")
        assert.strictEqual(passed.read[0]!.includes("secret-1"), table === "environment")
        assert.strictEqual(passed.score, 8)
      }
      const otherwise = yield* task('[environment.env]\nK = "${ATROPOS_TEST_KEY:-none}"')
      assert.deepStrictEqual((yield* readings({ tasks: otherwise }, "echo $K")).read, ["none"])
      // Nor by the environment of a process that is to be seen in there.
      const { read } = yield* readings(
        { tasks: yield* task("") },
        "cat /proc/*/environ | tr '\\0' '\\n'; set; cat /proc/1/cmdline"
      )
      assert.notInclude(read.join(), "secret-1")
    })
  )

  suite(
    "set variables of their own machine, and of no program that starts it",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      // What a shell of this machine would run, and the linker complain about, before bubblewrap has begun.
      yield* fs.writeFileString(`${folder}/evil.sh`, `echo outside > ${folder}/ran`)
      const names = ["LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV", "NODE_OPTIONS"]
      const toml = names.map((name) => `${name} = "${folder}/evil.sh"`).join("\n")
      const { read, told } = yield* readings(
        { tasks: yield* task(`[environment.env]\n${toml}\nPLAIN = "p"`) },
        `for name in ${names.join(" ")} PLAIN; do eval "echo $name=\\$$name"; done 2>/dev/null`
      )
      for (const name of names) assert.include(read[0], `${name}=${folder}/evil.sh`)
      assert.include(read[0], "PLAIN=p")
      assert.isFalse(yield* fs.exists(`${folder}/ran`), told)
    })
  )

  suite(
    "work in no place that is the system's or the tests', however it is spelled",
    Effect.gen(function* () {
      for (const workdir of [
        "/",
        "//",
        "/usr",
        "/app/../usr",
        "/app/../../usr/./bin",
        "//usr//lib/",
        "/etc",
        "/etc/ssl/x",
        "/tmp",
        "/logs",
        "/logs/verifier",
        "/tests",
        "/solution/x",
        "/agent",
        "/dev/shm",
        "/app/.."
      ]) {
        const { score, told } = yield* readings({ tasks: yield* task(`[environment]\nworkdir = "${workdir}"`) }, "pwd")
        assert.isUndefined(score, workdir)
        assert.include(told, "which is in use without a container", workdir)
      }
      const own = yield* readings({ tasks: yield* task('[environment]\nworkdir = "/work/./here/"') }, "pwd")
      assert.deepStrictEqual(own.read, ["/work/here"])
    })
  )

  suite(
    "leave nothing in a home of the tests, and lead nothing of this process out by links made while they run",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const outside = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* fs.writeFileString(`${outside}/Dockerfile`, "kept")
      const test = 'echo "HOME=$HOME"; [ -e "$HOME/planted" ]; echo "$?" > /logs/verifier/reward.txt'
      const { read, score } = yield* readings(
        { tasks: yield* task("", test) },
        "touch ~/planted; cd /; rm -rf /app/* /tmp/* /logs/agent/*; " +
          `for d in /app /tmp /logs/agent /logs/artifacts; do ln -s ${outside} $d/out; ln -s / $d/root; ln -s / $d/Dockerfile; done; ` +
          `touch ~/planted; rm -rf /app; ls ${outside}; ln -s / /logs/verifier; ln /etc/passwd /app/hard; echo done`
      )
      assert.include(read[0], "done")
      assert.match(read[0]!, new RegExp(`${outside}.*No such file`))
      assert.strictEqual(score, 1)
      assert.strictEqual(yield* fs.readFileString(`${outside}/Dockerfile`), "kept")
    })
  )

  suite(
    "with a part that became a link since it was read are refused when it is used",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const outside = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* fs.writeFileString(`${outside}/Dockerfile`, "kept")
      yield* fs.writeFileString(`${outside}/test.sh`, "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n")
      const folder = yield* task("", "echo 0 > /logs/verifier/reward.txt")
      const { group, told } = yield* Rolling.rolledOut({ ...one, tasks: folder }, (request) => {
        // The environment has been copied, the tests have not.
        rmSync(`${folder}/tests`, { recursive: true, force: true })
        symlinkSync(outside, `${folder}/tests`)
        const script = Rolling.commands("true")
        return typeof script === "function" ? script(request) : ""
      })
      assert.isUndefined(group)
      assert.match(told, /task\/tests: this link points to/)
      assert.strictEqual(yield* fs.readFileString(`${outside}/Dockerfile`), "kept")
    })
  )
})
