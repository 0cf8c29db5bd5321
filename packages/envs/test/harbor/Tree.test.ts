/** What a task brings stays in the task: links out of it, and files that are none, are refused before they are read. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Result } from "effect"
import { execFileSync } from "node:child_process"
import { linkSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import * as Task from "../../src/harbor/Task.ts"
import * as Tasks from "../../src/harbor/Tasks.ts"
import * as Tree from "../../src/harbor/Tree.ts"
import * as Rolling from "./Rolling.ts"

/** A task next to a folder with somebody's files; `change` is done to the task. */
const task = Effect.fnUntraced(function* (change: (task: string, outside: string) => void) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
  yield* fs.copy(Rolling.folder("tasks/greeting"), `${folder}/task`)
  yield* fs.makeDirectory(`${folder}/outside`)
  yield* fs.writeFileString(`${folder}/outside/Dockerfile`, "secret")
  yield* fs.writeFileString(`${folder}/outside/test.sh`, "secret")
  change(`${folder}/task`, `${folder}/outside`)
  return `${folder}/task`
})

const link = (path: string, target: string) => {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path)
}

const pipe = (path: string): void => void execFileSync("sh", ["-c", 'mkfifo "$1"', "sh", path])

const parts = ["environment", "tests", "solution"]

/** Ways out, by where in a part they are. */
const waysOut: ReadonlyArray<readonly [string, (part: string, outside: string) => void]> = [
  ["an absolute link", (part, outside) => link(`${part}/x`, outside)],
  ["an absolute link to the part itself", (part) => link(`${part}/x`, part)],
  ["a relative link", (part) => link(`${part}/x`, "../../outside")],
  ["a link deep in it", (part) => link(`${part}/a/b/c`, "../../../../outside/test.sh")],
  ["a link to another part of the task", (part) => link(`${part}/x`, "../instruction.md")],
  ["a link to nothing", (part) => link(`${part}/x`, "../../nothing")],
  [
    "a link through another, whose way out is not in its words",
    (part) => {
      link(`${part}/a/b/top`, "../..")
      link(`${part}/x`, "a/b/top/../../outside")
    }
  ],
  [
    "a way in the middle of a path",
    (part) => {
      link(`${part}/way`, "../..")
      link(`${part}/x`, "way/outside")
    }
  ],
  [
    "a circle",
    (part) => {
      link(`${part}/x`, "y")
      link(`${part}/y`, "x")
    }
  ],
  ["a pipe", (part) => pipe(`${part}/x`)]
]

describe("a task directory", () => {
  it.live("whose parts are links is refused, for every part and every kind of link", () =>
    Effect.gen(function* () {
      for (const part of parts) {
        for (const to of ["../outside", "instruction.md", "nothing", "/etc", "tests"]) {
          const folder = yield* task((own) => link(`${own}/${part}`, to))
          assert.match(
            (yield* Effect.flip(Task.read(folder))).message,
            new RegExp(`${part}: (this|too many levels)`),
            `${part} -> ${to}`
          )
        }
        const absolute = yield* task((own, outside) => link(`${own}/${part}`, outside))
        assert.include((yield* Effect.flip(Task.read(absolute))).message, part)
      }
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.live("is refused for a way out of any part", () =>
    Effect.gen(function* () {
      for (const part of parts) {
        for (const [name, make] of waysOut) {
          const folder = yield* task((own, outside) => make(`${own}/${part}`, outside))
          const { message } = yield* Effect.flip(Task.read(folder))
          assert.match(message, /this link points|too many levels|this is neither/, `${name} in ${part}`)
          // Copies check for themselves: what was read may have changed since.
          const copied = yield* Effect.result(Tree.copy(`${folder}/${part}`, `${folder}/../copy`))
          assert.isTrue(Result.isFailure(copied), name)
        }
      }
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.live("gives the model no file of this machine for an instruction, and waits for no pipe", () =>
    Effect.gen(function* () {
      for (const name of ["instruction.md", "task.toml"]) {
        const linked = yield* task((own, outside) => link(`${own}/${name}`, `${outside}/test.sh`))
        assert.match((yield* Effect.flip(Task.read(linked))).message, /this link points to .*outside of/)
        const piped = yield* task((own) => {
          rmSync(`${own}/${name}`)
          pipe(`${own}/${name}`)
        })
        assert.match((yield* Effect.flip(Task.read(piped))).message, /this is neither a file nor a folder/)
        const inner = yield* task((own) => {
          writeFileSync(`${own}/other.md`, name === "task.toml" ? "" : "Do it.")
          link(`${own}/${name}`, "other.md")
        })
        yield* Task.read(inner)
      }
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.live("may have links that stay in a part, and copies keep them, and share no file", () =>
    Effect.gen(function* () {
      const folder = yield* task((own, outside) => {
        link(`${own}/environment/latest`, "versions/2")
        mkdirSync(`${own}/environment/versions/2`, { recursive: true })
        link(`${own}/environment/versions/2/up`, "../../name.txt")
        linkSync(`${outside}/test.sh`, `${own}/environment/hard`)
      })
      yield* Task.read(folder)
      const copy = `${folder}/../copy`
      yield* Tree.copy(`${folder}/environment`, copy)
      assert.strictEqual(readlinkSync(`${copy}/latest`), "versions/2")
      assert.strictEqual(
        readFileSync(`${copy}/latest/up`, "utf8"),
        readFileSync(`${folder}/environment/name.txt`, "utf8")
      )
      writeFileSync(`${copy}/hard`, "changed")
      assert.strictEqual(readFileSync(`${folder}/../outside/test.sh`, "utf8"), "secret")
      assert.strictEqual(lstatSync(`${copy}/hard`).nlink, 1)
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )

  it.live("is found through a link to it, and no link to another folder is searched", () =>
    Effect.gen(function* () {
      const folder = yield* task((own) => {
        mkdirSync(`${own}/../tasks/inner`, { recursive: true })
        link(`${own}/../tasks/one`, own)
        link(`${own}/../tasks/inner/loop`, "..")
        link(`${own}/../tasks/root`, "/")
      })
      const found = yield* Tasks.find([`${folder}/../tasks`])
      assert.deepStrictEqual(
        found.map(({ task }) => Result.isSuccess(task)),
        [true]
      )
    }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
  )
})
