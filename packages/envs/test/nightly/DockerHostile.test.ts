/** Agents and tasks that attack their containers, the tests or this machine, on a real Docker Engine. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as ContainerTasks from "../harbor/ContainerTasks.ts"
import * as Engine from "../harbor/Engine.ts"
import * as Rolling from "../harbor/Rolling.ts"

const greet = 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'

const one = { groupSize: 1, includeMessages: true } as const

const environment = (lines: string) => (text: string) => text.replace("[environment]", `[environment]\n${lines}`)

describe.skipIf(Engine.skipped !== "")(`hostile tasks in containers${Engine.skipped}`, () => {
  layer(Engine.services, { excludeTestServices: true })("of a Docker Engine", (it) => {
    const suite = (name: string, run: Effect.Effect<unknown, unknown, Engine.Needs>) =>
      it.effect(name, () => Effect.scoped(run))

    suite(
      "what an agent puts where tests and verdict will be is covered by them, and what it runs on is ended",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        const { group } = yield* Rolling.rolledOut(
          {
            tasks: yield* ContainerTasks.task("shared", { "task.toml": (text) => text.replace('user = "agent"', "") }),
            docker: program
          },
          Rolling.commands(
            "mkdir -p /tests && printf '#!/bin/sh\\nexit 0\\n' > /tests/test.sh; echo 1 > /logs/verifier/reward.txt",
            "echo '{\"reward\": 1}' > /logs/verifier/reward.json; rm -rf /logs; ln -s /app /logs",
            "(while :; do echo 1 > /logs/verifier/reward.txt; echo 1 > /app/reward.txt; done) > /dev/null 2>&1 & echo"
          )
        )
        assert.deepStrictEqual(Array.from(group!.scores), [0, 0])
        assert.deepStrictEqual(yield* Engine.left, Engine.nothing)
      })
    )

    suite(
      "artifacts that are missing or links are for the tests to judge, and lead no copy into the tests",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        const fs = yield* FileSystem.FileSystem
        const graded = Effect.fnUntraced(function* (artifacts: ReadonlyArray<string>, ...lines: ReadonlyArray<string>) {
          const tasks = yield* ContainerTasks.task("separate", {
            "task.toml": (text) =>
              text
                .replace(/^artifacts = .*$/m, `artifacts = ${JSON.stringify(artifacts)}`)
                .replace('user = "agent"', "")
          })
          const { group, told } = yield* Rolling.rolledOut(
            { tasks, docker: program, ...one },
            Rolling.commands(...lines)
          )
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
        const { program } = yield* Engine.Docker
        const fs = yield* FileSystem.FileSystem
        const variables = 'NODE_OPTIONS = "--evil", HTTPS_PROXY = "http://127.0.0.1:1", DOCKER_HOST = "unix:///none"'
        const steering = yield* ContainerTasks.task("shared", {
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
        const option = yield* ContainerTasks.task("shared", {
          "task.toml": environment('docker_image = "--privileged"')
        })
        assert.match(yield* flipped(option), /expected the name of an image/)
        const linking = yield* ContainerTasks.task("shared")
        yield* fs.symlink("/etc", `${linking}/environment/out`)
        assert.match(yield* flipped(linking), /environment\/out: this link points to/)
      })
    )

    suite(
      "a script that prints the errors of Docker is no failure of the engine",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        const { group } = yield* Rolling.rolledOut(
          { tasks: yield* ContainerTasks.task("shared"), docker: program, ...one },
          Rolling.commands("echo Error response from daemon: gone >&2; exit 126", greet)
        )
        assert.include(Rolling.readings(group!)[0], "(exit code 126)")
        assert.deepStrictEqual(Array.from(group!.scores), [1])
      })
    )

    suite(
      "an agent that ends its own container gets an error, and is graded by what it left",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        const { group, told } = yield* Rolling.rolledOut(
          {
            tasks: yield* ContainerTasks.task("shared", { "task.toml": (text) => text.replace('user = "agent"', "") }),
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
  })
})
