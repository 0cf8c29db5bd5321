/** Harbor tasks without containers: behind bubblewrap, graded apart from what an agent can reach. */
import { assert, describe, it } from "@effect/vitest"
import * as Jail from "../../src/sandbox/Jail.ts"
import { Effect, type FileSystem, type Path, Result } from "effect"
import { dirname } from "node:path"
import type { ServerManager } from "@atropos/core"
import { ToolCalls } from "@atropos/core"
import * as Words from "../../src/base/Words.ts"
import * as Rolling from "./Rolling.ts"

const hasBubblewrap = Result.isSuccess(Result.try(Jail.bubblewrap))
const skipped = hasBubblewrap ? "" : " (skipped: no bubblewrap)"

const greeting = { tasks: Rolling.folder("tasks/greeting") }
const greet = 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'

const suite = (name: string, run: Effect.Effect<unknown, unknown, FileSystem.FileSystem | Path.Path>) =>
  it.live.skipIf(!hasBubblewrap)(name, () => Effect.provide(run, Rolling.platform))

describe(`Harbor tasks on this machine${skipped}`, () => {
  suite(
    "a model with a terminal is graded by the task's tests, and sees what its commands print",
    Effect.gen(function* () {
      const { figures, group } = yield* Rolling.rolledOut(
        { ...greeting, includeMessages: true },
        Rolling.commands("cat name.txt; pwd", "no-such-command", greet)
      )
      assert.deepStrictEqual(Array.from(group!.scores), [1, 1])
      const [first, second, third] = Rolling.readings(group!)
      assert.strictEqual(first, "Ada\n/app")
      assert.match(second!, /not found\n\(exit code 127\)/)
      assert.strictEqual(third, "(nothing was printed)")
      assert.deepInclude(figures, { "agent/sessions": 2, "agent/failed": 0, "agent/paths": 1 })
      // The canary is for those who look for it in training data, not for the model.
      assert.notInclude(JSON.stringify(group!.messages), "canary")
    })
  )

  suite(
    "a coding agent has the instruction as its task, and its settings in a home of its own",
    Effect.gen(function* () {
      const script: ServerManager.Script = (request) => {
        if ("prompt" in request || request.tools === undefined) return "A title"
        const isCalled = request.messages.some(({ role }) => role === "tool")
        return isCalled ? "Done." : ToolCalls.writeCall({ name: "run", arguments: { command: greet } })
      }
      const { figures, group, told } = yield* Rolling.rolledOut(
        {
          tasks: yield* Rolling.greetingOnline,
          agent: Rolling.folder("../coding/agents/preset.ts"),
          command: Words.join([process.execPath, "/agent/coder.mjs"]),
          agentFolder: Rolling.folder("../coding/agents"),
          visible: [dirname(process.execPath)],
          includeMessages: true
        },
        script
      )
      assert.isDefined(group, told)
      assert.deepStrictEqual(Array.from(group.scores), [1, 1])
      assert.deepInclude(figures, { "agent/failed": 0, "agent/untrained": 2, "agent/paths": 1 })
      assert.include(JSON.stringify(group.messages![0]![0]), "greeting.txt")
    }).pipe(Effect.scoped)
  )

  suite(
    "an agent can neither read nor write tests, solution, verdict or system, and leaves nothing that runs on",
    Effect.gen(function* () {
      const { group } = yield* Rolling.rolledOut(
        { ...greeting, includeMessages: true },
        Rolling.commands(
          "ls /tests /solution /logs/verifier",
          "mkdir -p /logs/verifier /tests && echo 1 > /logs/verifier/reward.txt && echo 'exit 0' > /tests/test.sh && ls /tests",
          "echo broken > /usr/bin/cat; echo broken > /bin/sh",
          // It would write the verdict later, when the tests have run.
          "(sleep 1; echo 1 > /logs/verifier/reward.txt; echo late > /app/late.txt) & echo started",
          "ln -s /logs/verifier/reward.txt greeting.txt; ln -s / out; ls out/tests; env"
        )
      )
      assert.deepStrictEqual(Array.from(group!.scores), [0, 0])
      const [listed, , broken, , env] = Rolling.readings(group!)
      assert.match(listed!, /tests.*\n.*solution.*\n.*verifier/i)
      assert.match(broken!, /Read-only file system|Permission denied/)
      assert.notMatch(env!, /EXPECTED|API_KEY|OPENAI/)
    })
  )
})

it.live("a Docker daemon that does not respond is reported at the start, with a fix", () =>
  Effect.gen(function* () {
    const docker = "sh -c 'echo Cannot connect to the daemon >&2; exit 1'"
    const error = yield* Effect.flip(
      Rolling.rolledOut({ tasks: Rolling.folder("containers/shared"), docker }, Rolling.commands())
    )
    assert.match(String(error), /no Docker daemon responds.*Cannot connect to the daemon/)
    assert.include(String(error), "--env.where local")
  }).pipe(Effect.provide(Rolling.platform))
)
