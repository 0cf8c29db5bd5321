import { inspect } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Path, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Bin from "../Bin.ts"

/** A folder from which npx finds the command, as in a project that installed it. */
const project = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const cwd = yield* Bin.folder
  const modules = yield* path.fromFileUrl(new URL("../../../../node_modules", import.meta.url))
  yield* fs.symlink(modules, path.join(cwd, "node_modules"))
  yield* fs.writeFileString(path.join(cwd, "package.json"), '{ "private": true }')
  return cwd
})

const spawn = Effect.fnUntraced(function* (program: string, words: ReadonlyArray<string>, cwd: string) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  return yield* spawner.spawn(ChildProcess.make(program, words, { cwd, env: Bin.clean, extendEnv: true }))
})

/** A Node that cannot replace itself by another one, as those before 22.15: the program becomes its child. */
const wrapped = (words: ReadonlyArray<string>, cwd: string) =>
  spawn(process.execPath, ["--import", "data:text/javascript,process.execve=undefined", Bin.bin, ...words], cwd)

/**
 * What the program says up to and with the line that fits, and an effect that ends when nobody can write there any
 * more.
 */
const saying = Effect.fnUntraced(function* (stdout: Stream.Stream<Uint8Array, unknown>, word: string) {
  const pull = yield* Stream.toPull(stdout.pipe(Stream.decodeText, Stream.splitLines))
  const next: Effect.Effect<ReadonlyArray<string>, unknown> = pull
  let line: string | undefined
  while (line === undefined) line = (yield* next).find((one) => one.includes(word))
  return { line, end: next.pipe(Effect.forever, Effect.exit, Waits.named("the program to end")) }
})

const isRefused = (url: string) =>
  Effect.isFailure(Effect.tryPromise((signal) => fetch(`${url}/v1/health/live`, { signal })))

layer(NodeServices.layer, { excludeTestServices: true })("signals", (it) => {
  it.effect("SIGTERM to npx ends the service, which its shell would leave behind", () =>
    Effect.gen(function* () {
      const npx = yield* spawn("npx", ["atropos", "api", "--port", "0"], yield* project)
      const { end, line } = yield* saying(npx.stdout, "trajectory service at")
      process.kill(Number(npx.pid), "SIGTERM")
      yield* end
      assert.isTrue(yield* isRefused(line.replace(/.*(http:\S+).*/, "$1")))
    })
  )

  it.effect("SIGTERM to a wrapper reaches the program, and its exit code comes back", () =>
    Effect.gen(function* () {
      const wrapper = yield* wrapped(["api", "--port", "0"], yield* Bin.folder)
      const { end } = yield* saying(wrapper.stdout, "trajectory service at")
      process.kill(Number(wrapper.pid), "SIGTERM")
      assert.strictEqual(Number(yield* wrapper.exitCode), 130)
      yield* end
    })
  )

  it.effect("a wrapper that is killed by -9 leaves no program behind", () =>
    Effect.gen(function* () {
      const wrapper = yield* wrapped(["api", "--port", "0"], yield* Bin.folder)
      const { end, line } = yield* saying(wrapper.stdout, "trajectory service at")
      process.kill(Number(wrapper.pid), "SIGKILL")
      yield* end
      assert.isTrue(yield* isRefused(line.replace(/.*(http:\S+).*/, "$1")))
    })
  )

  it.effect("a program that is killed takes its wrapper with it, by the same signal", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const wrapper = yield* wrapped(["api", "--port", "0"], yield* Bin.folder)
      yield* saying(wrapper.stdout, "trajectory service at")
      const children = yield* fs.readFileString(`/proc/${wrapper.pid}/task/${wrapper.pid}/children`)
      process.kill(Number(children.trim()), "SIGKILL")
      const ended = yield* Effect.flip(wrapper.exitCode)
      assert.include(inspect(ended, { depth: 5 }), "SIGKILL")
    })
  )
})
