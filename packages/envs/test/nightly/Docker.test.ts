/** Harbor tasks in containers of a real Docker Engine. */
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, type Path, type Scope } from "effect"
import * as Engine from "../harbor/Engine.ts"
import * as Rolling from "../harbor/Rolling.ts"

const greet = 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'

class Docker extends Context.Service<Docker, Engine.Engine>()("test/Docker") {}

type Needs = Docker | FileSystem.FileSystem | Path.Path | Scope.Scope

const one = { groupSize: 1, includeMessages: true } as const

/** A copy of a task, with its files changed. */
const task = Effect.fnUntraced(function* (
  name: "shared" | "separate",
  change: { readonly [file: string]: (text: string) => string } = {}
) {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })}/task`
  yield* fs.copy(Rolling.folder(`containers/${name}`), folder)
  for (const [file, to] of Object.entries(change)) {
    const path = `${folder}/${file}`
    yield* fs.writeFileString(path, to(yield* fs.readFileString(path)))
  }
  return folder
})

const environment = (lines: string) => (text: string) => text.replace("[environment]", `[environment]\n${lines}`)

/** What is left in the engine. */
const left = Effect.map(Docker, ({ call }) => ({
  containers: call("ps", "--all", "--quiet"),
  snapshots: call("images", "--quiet", "atropos-trial")
}))

const nothing = { containers: "", snapshots: "" }

const services = Layer.effect(Docker, Engine.engine).pipe(Layer.provideMerge(Rolling.platform))

describe.skipIf(Engine.skipped !== "")(`Harbor tasks in containers${Engine.skipped}`, () => {
  layer(services, { excludeTestServices: true })("of a Docker Engine", (it) => {
    const suite = (name: string, run: Effect.Effect<unknown, unknown, Needs>) =>
      it.effect(name, () => Effect.scoped(run))

    suite(
      "eight rollouts at once share an image, are graded each in its own files, and leave nothing",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const { figures, group, told } = yield* Rolling.rolledOut(
          { tasks: yield* task("shared"), docker: program, groupSize: 8, includeMessages: true },
          Rolling.commands(`echo "$PLACE $(id -un) $HOME"; ls /tests /solution; ${greet}; sleep 1000 &`)
        )
        assert.isDefined(group, told)
        assert.deepStrictEqual(Array.from(group.scores), [1, 1, 1, 1, 1, 1, 1, 1])
        assert.match(Rolling.readings(group)[0]!, /^here agent \/home\/agent\n.*tests: No such.*\n.*solution: No such/)
        assert.deepInclude(figures, { "agent/sessions": 8, "agent/failed": 0 })
        assert.deepStrictEqual(yield* left, nothing)
      })
    )

    suite(
      "memory, processors and processes are limited by the kernel, and a task without a network has none",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const { group, told } = yield* Rolling.rolledOut(
          {
            tasks: yield* task("shared", {
              "task.toml": (text) => text.replace("cpus = 2", "cpus = 0.05").replace("memory_mb = 512", "memory_mb = 64")
            }),
            docker: program,
            ...one
          },
          Rolling.commands(
            "tail /dev/zero",
            "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat 2>/dev/null",
            "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null",
            "ls /sys/class/net; nc -w 2 169.254.169.254 80 < /dev/null",
            greet
          )
        )
        assert.isDefined(group, told)
        const [memory, cpu, processes, network] = Rolling.readings(group)
        assert.include(memory, "(exit code 137")
        assert.match(cpu!, /nr_throttled [1-9]/)
        assert.match(processes!, /^4096\n/)
        assert.match(network!, /^lo\n.*unreachable/i)
        assert.strictEqual(group.scores[0], 1)
      })
    )

    suite(
      "a task gets no more processors than there are, which is logged",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const { group, told } = yield* Rolling.rolledOut(
          {
            tasks: yield* task("shared", { "task.toml": (text) => text.replace("cpus = 2", "cpus = 4096") }),
            docker: program,
            ...one
          },
          Rolling.commands(greet)
        )
        assert.deepStrictEqual(Array.from(group!.scores), [1])
        assert.match(told, /fewer CPUs than they request.*atropos\/shared/)
      })
    )

    suite(
      "what an agent puts where tests and verdict will be is covered by them, and what it runs on is ended",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const { group } = yield* Rolling.rolledOut(
          { tasks: yield* task("shared", { "task.toml": (text) => text.replace('user = "agent"', "") }), docker: program },
          Rolling.commands(
            "mkdir -p /tests && printf '#!/bin/sh\\nexit 0\\n' > /tests/test.sh; echo 1 > /logs/verifier/reward.txt",
            "echo '{\"reward\": 1}' > /logs/verifier/reward.json; rm -rf /logs; ln -s /app /logs",
            "(while :; do echo 1 > /logs/verifier/reward.txt; echo 1 > /app/reward.txt; done) > /dev/null 2>&1 & echo"
          )
        )
        assert.deepStrictEqual(Array.from(group!.scores), [0, 0])
        assert.deepStrictEqual(yield* left, nothing)
      })
    )

    suite(
      "an agent that ends its own container is told so, and graded by what it left",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const { group, told } = yield* Rolling.rolledOut(
          {
            tasks: yield* task("shared", { "task.toml": (text) => text.replace('user = "agent"', "") }),
            docker: program,
            ...one
          },
          Rolling.commands(`${greet}; kill -9 -1`, "echo after")
        )
        assert.isDefined(group, told)
        assert.deepStrictEqual(Array.from(group.scores), [1])
        assert.include(Rolling.readings(group)[1], "stopped its container")
      })
    )

    suite(
      "a script that prints the errors of Docker is no failure of the engine",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const { group } = yield* Rolling.rolledOut(
          { tasks: yield* task("shared"), docker: program, ...one },
          Rolling.commands("echo Error response from daemon: gone >&2; exit 126", greet)
        )
        assert.include(Rolling.readings(group!)[0], "(exit code 126)")
        assert.deepStrictEqual(Array.from(group!.scores), [1])
      })
    )

    suite(
      "graded apart, tests get the artifacts or the working folder, in an image that the agent never touched",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const verdict = (text: string) => `${text}\nif [ -e /bin/planted ]; then echo 0 > /logs/verifier/reward.txt; fi\n`
        const planting = "touch /bin/planted; echo $?"
        for (const [name, grading] of [
          ["separate", "task"],
          ["shared", "separate"]
        ] as const) {
          const { group, told } = yield* Rolling.rolledOut(
            {
              tasks: yield* task(name, {
                "task.toml": (text) => text.replace('user = "agent"', ""),
                "tests/test.sh": verdict
              }),
              docker: program,
              grading,
              ...one
            },
            Rolling.commands(planting, greet)
          )
          assert.isDefined(group, told)
          assert.strictEqual(Rolling.readings(group)[0]!.trim(), "0")
          assert.deepStrictEqual(Array.from(group.scores), [1], name)
        }
      })
    )

    suite(
      "artifacts that are missing or links are for the tests to judge, and lead no copy into the tests",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const fs = yield* FileSystem.FileSystem
        const graded = Effect.fnUntraced(function* (artifacts: ReadonlyArray<string>, ...lines: ReadonlyArray<string>) {
          const tasks = yield* task("separate", {
            "task.toml": (text) =>
              text.replace(/^artifacts = .*$/m, `artifacts = ${JSON.stringify(artifacts)}`).replace('user = "agent"', "")
          })
          const { group, told } = yield* Rolling.rolledOut({ tasks, docker: program, ...one }, Rolling.commands(...lines))
          return { score: group?.scores[0], told }
        })
        const missing = yield* graded(["/app/greeting.txt"], "true")
        assert.strictEqual(missing.score, 0, missing.told)
        // A folder of the first copy is a link to the tests; the second would be written through it.
        const nested = yield* graded(
          ["/app", "/app/out/test.sh"],
          'rm -rf /app/out; ln -s ../tests /app/out; printf "#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\n" > /app/x'
        )
        assert.strictEqual(nested.score, 0, nested.told)
        const outside = `${yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })}/secret`
        yield* fs.writeFileString(outside, "Hello, Ada!\n")
        const linked = yield* graded(["/app/greeting.txt"], `ln -s ${outside} /app/greeting.txt`)
        assert.strictEqual(linked.score, 0, linked.told)
        assert.include(linked.told, "artifact not copied: it is a link")
        for (const path of ["/", "/tests/test.sh", "/logs", "/logs/verifier/reward.txt", "/app/../tests", "/proc/1"]) {
          const { score, told } = yield* graded([path], greet)
          assert.isUndefined(score, path)
          assert.include(told, "which does not belong to the agent", path)
        }
      })
    )

    suite(
      "a task steers no program of this machine by its variables, its image's name, or links in what Docker reads",
      Effect.gen(function* () {
        const { program } = yield* Docker
        const fs = yield* FileSystem.FileSystem
        const variables = 'NODE_OPTIONS = "--evil", HTTPS_PROXY = "http://127.0.0.1:1", DOCKER_HOST = "unix:///none"'
        const steering = yield* task("shared", {
          "task.toml": (text) => text.replace('PLACE = "here"', `PLACE = "here", ${variables}`)
        })
        const { group, told } = yield* Rolling.rolledOut(
          { tasks: steering, docker: program, ...one },
          Rolling.commands("echo $NODE_OPTIONS $HTTPS_PROXY $DOCKER_HOST")
        )
        assert.isDefined(group, told)
        assert.strictEqual(Rolling.readings(group)[0]!.trim(), "--evil http://127.0.0.1:1 unix:///none")
        const flipped = (tasks: string) =>
          Effect.map(Effect.flip(Rolling.rolledOut({ tasks, docker: program, ...one }, Rolling.commands())), String)
        const option = yield* task("shared", { "task.toml": environment('docker_image = "--privileged"') })
        assert.match(yield* flipped(option), /expected the name of an image/)
        const linking = yield* task("shared")
        yield* fs.symlink("/etc", `${linking}/environment/out`)
        assert.match(yield* flipped(linking), /environment\/out: this link points to/)
      })
    )

    suite(
      "what cannot be built, pulled, started or found is an error that names the task, and no reward",
      Effect.gen(function* () {
        const { program } = yield* Docker
        for (const [change, reason] of [
          [{ "environment/Dockerfile": (text: string) => `${text}RUN false\n` }, /cannot build the image .*atropos\/shared/],
          [{ "task.toml": environment('docker_image = "none.invalid/x:1"') }, /cannot pull the image of the task atropos/],
          [{ "environment/Dockerfile": (text: string) => `${text}RUN rm name.txt\n` }, /healthcheck failed 3 times/],
          [{ "task.toml": (text: string) => text.replace('"agent"', '"nobody"') }, /as the user nobody of task.toml: .*nobody/],
          [{ "environment/Dockerfile": (text: string) => `${text}ENTRYPOINT ["/none"]\n` }, /does not start: .*none/]
        ] as const) {
          const { group, told } = yield* Rolling.rolledOut(
            { tasks: yield* task("shared", change), docker: program, groupSize: 1 },
            Rolling.commands(greet)
          )
          assert.isUndefined(group)
          assert.match(told, reason)
        }
        assert.deepStrictEqual(yield* left, nothing)
      })
    )
  })
})
