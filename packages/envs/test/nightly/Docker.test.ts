/** Harbor tasks in containers of a real Docker Engine. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as ContainerTasks from "../harbor/ContainerTasks.ts"
import * as Engine from "../harbor/Engine.ts"
import * as Rolling from "../harbor/Rolling.ts"

const greet = 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'

const one = { groupSize: 1, includeMessages: true } as const

const environment = (lines: string) => (text: string) => text.replace("[environment]", `[environment]\n${lines}`)

/** Tests that see what an agent did to their system. */
const verdict = (text: string) => `${text}\nif [ -e /bin/planted ]; then echo 0 > /logs/verifier/reward.txt; fi\n`

describe.skipIf(Engine.skipped !== "")(`Harbor tasks in containers${Engine.skipped}`, () => {
  layer(Engine.services, { excludeTestServices: true })("of a Docker Engine", (it) => {
    const suite = (name: string, run: Effect.Effect<unknown, unknown, Engine.Needs>) =>
      it.effect(name, () => Effect.scoped(run))

    suite(
      "eight rollouts at once share an image, are graded each in its own files, and leave nothing",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        const { figures, group, told } = yield* Rolling.rolledOut(
          { tasks: yield* ContainerTasks.task("shared"), docker: program, groupSize: 8, includeMessages: true },
          Rolling.commands(`echo "$PLACE $(id -un) $HOME"; ls /tests /solution; ${greet}; sleep 1000 &`)
        )
        assert.isDefined(group, told)
        assert.deepStrictEqual(Array.from(group.scores), [1, 1, 1, 1, 1, 1, 1, 1])
        assert.match(Rolling.readings(group)[0]!, /^here agent \/home\/agent\n.*tests: No such.*\n.*solution: No such/)
        assert.deepInclude(figures, { "agent/sessions": 8, "agent/failed": 0 })
        assert.deepStrictEqual(yield* Engine.left, Engine.nothing)
      })
    )

    suite(
      "memory, processors and processes are limited by the kernel, and a task without a network has none",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        const { group, told } = yield* Rolling.rolledOut(
          {
            tasks: yield* ContainerTasks.task("shared", {
              "task.toml": (text) =>
                text.replace("cpus = 2", "cpus = 0.05").replace("memory_mb = 512", "memory_mb = 64")
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
        const { program } = yield* Engine.Docker
        const { group, told } = yield* Rolling.rolledOut(
          {
            tasks: yield* ContainerTasks.task("shared", {
              "task.toml": (text) => text.replace("cpus = 2", "cpus = 4096")
            }),
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
      "graded apart, tests get the artifacts or the working folder, in an image that the agent never touched",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        const planting = "touch /bin/planted; echo $?"
        for (const [name, grading] of [
          ["separate", "task"],
          ["shared", "separate"]
        ] as const) {
          const { group, told } = yield* Rolling.rolledOut(
            {
              tasks: yield* ContainerTasks.task(name, {
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
      "what cannot be built, pulled, started or found is an error that names the task, and no reward",
      Effect.gen(function* () {
        const { program } = yield* Engine.Docker
        for (const [change, reason] of [
          [
            { "environment/Dockerfile": (text: string) => `${text}RUN false\n` },
            /cannot build the image .*atropos\/shared/
          ],
          [
            {
              "environment/Dockerfile": (text: string) => `${text}RUN sleep 1000\n`,
              "task.toml": (text: string) => text.replace("build_timeout_sec = 60.0", "build_timeout_sec = 5.0")
            },
            /cannot build the image .*took longer than 5 seconds/
          ],
          [
            { "task.toml": environment('docker_image = "none.invalid/x:1"') },
            /cannot pull the image of the task atropos/
          ],
          [{ "environment/Dockerfile": (text: string) => `${text}RUN rm name.txt\n` }, /healthcheck failed 3 times/],
          [
            { "task.toml": (text: string) => text.replace('"agent"', '"nobody"') },
            /as the user nobody of task.toml: .*nobody/
          ],
          [{ "environment/Dockerfile": (text: string) => `${text}ENTRYPOINT ["/none"]\n` }, /does not start: .*none/]
        ] as const) {
          const { group, told } = yield* Rolling.rolledOut(
            { tasks: yield* ContainerTasks.task("shared", change), docker: program, groupSize: 1 },
            Rolling.commands(greet)
          )
          assert.isUndefined(group)
          assert.match(told, reason)
        }
        // The daemon ends a build soon after its client.
        yield* Waits.until("nothing left", Engine.left, ({ containers, snapshots }) => containers + snapshots === "")
      })
    )
  })
})
