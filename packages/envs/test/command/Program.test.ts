import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Program from "../../src/command/Program.ts"
import * as ProcessSupervisor from "../../src/command/ProcessSupervisor.ts"

/** Runs a script of the shell in a folder of its own. */
const sh = Effect.fnUntraced(function* (script: string, options: Partial<Program.Options> = {}) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
  const output = Program.makeOutput()
  const supervisor = options.supervisor ?? (yield* ProcessSupervisor.make)
  const ending = yield* Program.run({
    supervisor,
    words: ["sh", "-c", script],
    folder,
    variables: { PATH: process.env["PATH"] ?? "" },
    input: "",
    outputBytes: 100_000,
    output,
    ...options
  })
  return { ending, folder, stdout: output.stdout(), complaint: output.complaint() }
})

/** Processes of this machine with these words in their command line, this test's own question apart. */
const processesWith = (words: string): ReadonlyArray<string> =>
  execFileSync("ps", ["-axo", "pid=,command="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(words))

/** The `sleep`s of a script, by the beginning of what they were told. */
const sleeping = (mark: string): ReadonlyArray<string> =>
  processesWith(`sleep ${mark}`).filter((line) => /^ *\d+ sleep \d+ *$/.test(line))

const supervisors = () => processesWith("supervisorProcess").filter((line) => ofThisProcess(pidOf(line)))

const suite = (name: string, run: Effect.Effect<unknown, unknown, FileSystem.FileSystem | Scope.Scope>) =>
  it.live(name, () => run.pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

describe("a program", () => {
  suite(
    "gets its input, and says how it ended and what it printed",
    Effect.gen(function* () {
      const ran = yield* sh("cat; echo oops >&2; pwd; exit 3", { input: "hello\n" })
      assert.deepStrictEqual(ran.ending, { _tag: "Exited", code: 3 })
      assert.strictEqual(ran.stdout, `hello\n${ran.folder}\n`)
      assert.strictEqual(ran.complaint, "oops")
    })
  )

  suite(
    "need not read its input, however long that is",
    Effect.gen(function* () {
      const { ending } = yield* sh("exit 0", { input: "x".repeat(1_000_000) })
      assert.deepStrictEqual(ending, { _tag: "Exited", code: 0 })
    })
  )

  suite(
    "has the variables it is given and none of this process's own",
    Effect.gen(function* () {
      process.env["SECRET_OF_THIS_TEST"] = "s3cret"
      const { stdout } = yield* sh("env")
      delete process.env["SECRET_OF_THIS_TEST"]
      assert.notInclude(stdout, "s3cret")
    })
  )

  suite(
    "is ended when it prints more than it may, and what it printed until then is kept",
    Effect.gen(function* () {
      const { ending, stdout } = yield* sh("while :; do echo 0123456789; done", { outputBytes: 1000 })
      assert.deepStrictEqual(ending, { _tag: "Stopped", why: "printed more than 1000 bytes" })
      assert.strictEqual(stdout.length, 1000)
    })
  )

  suite(
    "is ended when it and what it started take more memory than they may",
    Effect.gen(function* () {
      const hog = `"${process.execPath}" -e 'const kept = []; setInterval(() => kept.push(Buffer.alloc(2e7, 1)), 1)'`
      const { ending } = yield* sh(`${hog} & wait`, { memoryBytes: 300e6 })
      assert(ending._tag === "Stopped")
      assert.match(ending.why, /^used \d+ MB of memory$/)
    })
  )

  suite(
    "says by which signal it ended",
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* sh("kill -TERM $$")).ending, { _tag: "Stopped", why: "was killed by SIGTERM" })
    })
  )

  suite(
    "leaves nothing behind: neither what runs on in the background, nor what made a session of its own",
    Effect.gen(function* () {
      const mark = `61${process.pid}`
      const { stdout } = yield* sh(
        `sleep ${mark}1 & (setsid sleep ${mark}2 &) ; nohup sleep ${mark}3 >/dev/null & echo done`
      )
      assert.strictEqual(stdout, "done\n")
      assert.deepStrictEqual(processesWith(`sleep ${mark}`), [])
    })
  )

  suite(
    "ends with all it started where its run is interrupted",
    Effect.gen(function* () {
      const mark = `62${process.pid}`
      const output = Program.makeOutput()
      yield* Effect.raceFirst(
        sh(`sleep ${mark}1 & trap '' TERM INT; echo begun; sleep ${mark}2`, { output }),
        Waits.untilTrue("the program and its child", () => output.stdout() === "begun\n" && sleeping(mark).length === 2)
      )
      assert.strictEqual(output.stdout(), "begun\n")
      assert.deepStrictEqual(processesWith(`sleep ${mark}`), [])
    })
  )

  suite(
    "that cannot be found says so, as a shell does",
    Effect.gen(function* () {
      const { complaint, ending } = yield* sh("", { words: ["no-such-program"] })
      assert.deepStrictEqual(ending, { _tag: "Exited", code: 127 })
      assert.match(complaint, /no-such-program/)
    })
  )

  suite(
    "leaves the process that ends programs alive, next to a folder whose name has line separators of Unicode",
    Effect.gen(function* () {
      const supervisor = yield* ProcessSupervisor.make
      yield* sh("exit 0", { supervisor })
      const before = supervisors()
      yield* supervisor.folder("/nowhere/one\u2028two\u2029three")
      const { ending } = yield* sh("exit 0", { supervisor })
      assert.deepStrictEqual(ending, { _tag: "Exited", code: 0 })
      assert.deepStrictEqual(supervisors(), before)
    })
  )

  suite(
    "goes on where the process that ends programs was killed, and still leaves nothing behind",
    Effect.gen(function* () {
      const mark = `63${process.pid}`
      const supervisor = yield* ProcessSupervisor.make
      const gate = yield* FileSystem.FileSystem.use((fs) => fs.makeTempFileScoped({ prefix: "atropos-test-" }))
      const { ending } = yield* Effect.raceFirst(
        // It ends when there is something in the file.
        sh(`sleep ${mark} & until [ -s ${gate} ]; do sleep 0.1; done; echo done`, { supervisor }),
        Effect.gen(function* () {
          yield* Waits.untilTrue("the program", () => sleeping(mark).length === 1)
          const old = supervisors()
          for (const line of old) process.kill(pidOf(line), "SIGKILL")
          yield* Waits.untilTrue("another supervisor", () => supervisors().some((line) => !old.includes(line)))
          yield* FileSystem.FileSystem.use((fs) => fs.writeFileString(gate, "go on"))
          return yield* Effect.never
        })
      )
      assert.deepStrictEqual(ending, { _tag: "Exited", code: 0 })
      assert.strictEqual(supervisors().length, 1)
      assert.deepStrictEqual(processesWith(`sleep ${mark}`), [])
    })
  )
})

const pidOf = (line: string): number => Number(line.trim().split(" ")[0])

const ofThisProcess = (pid: number): boolean =>
  readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ")[1] === String(process.pid)
