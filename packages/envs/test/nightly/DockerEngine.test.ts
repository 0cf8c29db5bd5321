/** What becomes of containers when this process or the engine ends, of old images, and after many rollouts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, type Path, type Scope } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { readdirSync } from "node:fs"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as ContainerTasks from "../harbor/ContainerTasks.ts"
import * as Engine from "../harbor/Engine.ts"
import * as Rolling from "../harbor/Rolling.ts"

type Needs = FileSystem.FileSystem | Path.Path | Scope.Scope

const suite = (name: string, run: Effect.Effect<unknown, unknown, Needs>) =>
  it.live.skipIf(Engine.skipped !== "")(name, () => run.pipe(Effect.scoped, Effect.provide(Rolling.platform)))

const shared = { tasks: Rolling.folder("containers/shared") }

/** A folder for all temporary files of this process, which others do not use. */
const temporary = Effect.gen(function* () {
  const path = yield* FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "atropos-test-" }))
  const { TMPDIR } = process.env
  process.env["TMPDIR"] = path
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (TMPDIR === undefined) delete process.env["TMPDIR"]
      else process.env["TMPDIR"] = TMPDIR
    })
  )
  return path
})

const children = () =>
  execFileSync("ps", ["-o", "args=", "--ppid", String(process.pid)], { encoding: "utf8" }).split("\n")

/** What is in an engine, and in this process. */
const counts = ({ call, host }: Engine.Engine, folder: string) => ({
  containers: call("ps", "--all", "--quiet"),
  snapshots: call("images", "--quiet", "atropos-trial"),
  volumes: call("volume", "ls", "--quiet"),
  networks: call("network", "ls", "--quiet"),
  shims: host("ps -axo comm= | grep -c containerd-shim || true"),
  mounts: host("wc -l < /proc/mounts"),
  children: children().length,
  folders: readdirSync(folder).length
})

describe(`containers${Engine.skipped}`, () => {
  suite(
    "of a process that is killed are removed, with its snapshots and folders",
    Effect.gen(function* () {
      const engine = yield* Engine.engine
      const folder = yield* temporary
      const settings = JSON.stringify({ ...shared, docker: engine.program, groupSize: 2 })
      const child = spawn(
        process.execPath,
        ["--conditions=atropos-src", Rolling.folder("rollingProcess.ts"), settings, "touch /app/begun; sleep 1000"],
        { stdio: "ignore" }
      )
      yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
      yield* Waits.until(
        "both agents at work",
        Effect.sync(() => engine.host("ps -axo args= | grep -c '^sleep 1000$' || true")),
        (count) => count === "2"
      )
      child.kill("SIGKILL")
      const left = () => [engine.call("ps", "--all", "--quiet"), engine.call("images", "--quiet", "atropos-trial")]
      yield* Waits.until("no container", Effect.sync(left), (all) => all.join("") === "")
      yield* Waits.untilTrue("no folder", () => readdirSync(folder).length === 0)
    })
  )

  for (const [signal, reason] of [
    ["SIGKILL", /engine|daemon/i],
    ["SIGSTOP", /the Docker daemon does not respond/]
  ] as const) {
    suite(
      `of a daemon that gets ${signal} fail their rollout, which is no reward`,
      Effect.gen(function* () {
        const engine = yield* Engine.engine
        yield* Effect.addFinalizer(() => Effect.sync(() => engine.signal("SIGCONT")).pipe(Effect.ignoreCause))
        let isOver = false
        const { group, told } = yield* Rolling.rolledOut(
          { ...shared, docker: engine.program, groupSize: 1 },
          (request) => {
            if (!isOver) engine.signal(signal)
            isOver = true
            const script = Rolling.commands("sleep 1", "echo on")
            return typeof script === "function" ? script(request) : ""
          }
        )
        assert.isUndefined(group)
        assert.match(told, reason)
      })
    )
  }

  suite(
    "use images that were built before; those that nothing used for long are removed, and no others",
    Effect.gen(function* () {
      const { call, program } = yield* Engine.engine
      const made = (tag: string, ...labels: ReadonlyArray<string>) => {
        call("tag", "atropos-test-base", "atropos-test-source")
        const change = labels.flatMap((label) => ["--change", `LABEL ${label}`])
        const container = call("create", "atropos-test-source", "true")
        call("commit", ...change, container, tag)
        call("rm", container)
      }
      made("atropos-harbor:old", "atropos.used=2020-01-01")
      call("tag", "atropos-harbor:old", "atropos-harbor:older")
      made("atropos-harbor:busy", "atropos.used=2020-01-01")
      made("atropos-harbor:new", `atropos.used=${new Date().toISOString().slice(0, 10)}`)
      made("mine:1")
      call("create", "--name", "busy", "atropos-harbor:busy", "true")
      const roll = Rolling.rolledOut({ ...shared, docker: program, groupSize: 1 }, Rolling.commands("true"))
      assert.isDefined((yield* roll).group)
      const images = () => call("images", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}").split("\n").toSorted()
      const first = images()
      assert.isFalse(first.some((line) => line.startsWith("atropos-harbor:old")))
      for (const name of ["atropos-harbor:busy", "atropos-harbor:new", "mine:1"]) {
        assert.isTrue(
          first.some((line) => line.startsWith(`${name} `)),
          name
        )
      }
      yield* roll
      assert.deepStrictEqual(images(), first)
    })
  )

  suite(
    "of many rollouts leave nothing behind",
    Effect.gen(function* () {
      const engine = yield* Engine.engine
      const folder = yield* temporary
      const tasks = yield* ContainerTasks.asked("no-network")
      const roll = (groups: number) =>
        Rolling.rolledOut(
          { tasks, docker: engine.program, groupSize: 8, command: ContainerTasks.asking },
          ContainerTasks.model,
          groups
        )
      yield* roll(1)
      const before = counts(engine, folder)
      const { figures, group, told } = yield* roll(process.env["ATROPOS_TEST_WHOLE"] === "1" ? 10 : 2)
      assert.isDefined(group, told)
      assert.deepInclude(figures, { "agent/failed": 0, "agent/unrewarded": 0 })
      // A process that has just been killed may still be listed.
      yield* Waits.until(
        `the state before: ${JSON.stringify(before)}`,
        Effect.sync(() => counts(engine, folder)),
        (after) => JSON.stringify(after) === JSON.stringify(before)
      )
    })
  )
})
