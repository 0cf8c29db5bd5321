/** An agent over the Agent Client Protocol: its tool calls, why it stopped, and how it is cancelled. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, FileSystem, Layer, Option, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { readdirSync } from "node:fs"
import * as Waits from "../../../core/test/base/Waits.ts"
import { defineAgent } from "../../src/agent/Agent.ts"
import * as Words from "../../src/base/Words.ts"
import * as Acp from "../../src/coding/Acp.ts"
import * as AcpCalls from "../../src/coding/AcpCalls.ts"
import { codingAgent } from "../../src/command/CodingRun.ts"
import * as ProcessSupervisor from "../../src/command/ProcessSupervisor.ts"
import * as Program from "../../src/command/Program.ts"
import { file, overAcp, rolledOut, script } from "./RolledOut.ts"

/** A folder in which an agent notes that its call began, and that it was cancelled. */
const notes = Effect.map(
  FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })),
  (folder) => ({
    variables: { CODER_NOTES: folder },
    count: (what: string) => readdirSync(folder).filter((name) => name.startsWith(what)).length
  })
)

const scoped = <A, E>(test: Effect.Effect<A, E, NodeServices.NodeServices | Scope.Scope>) =>
  test.pipe(Effect.scoped, Effect.provide(NodeServices.layer))

/** A group of an agent of plain functions, which is the one of these tests. */
const ofFunctions = ({
  oddity = [],
  variables = {}
}: {
  readonly oddity?: ReadonlyArray<string>
  readonly variables?: { readonly [name: string]: string }
} = {}) => {
  const run = codingAgent({
    agent: overAcp(...oddity).agent!,
    task: ({ question }: { readonly question: string }) => question,
    variables,
    result: ({ text }) => text
  })
  const agent = defineAgent({
    name: "answers",
    items: [{ question: "2 + 2?" }],
    trained: "tools",
    run,
    score: ({ result }) => (result === "It is 4.\n" ? 1 : 0),
    scoreFailure: () => -1
  })
  return agent({ groupSize: 2, ensureScoresAreNotSame: false, sessionTimeout: 300 }).pipe(
    Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes]),
    Layer.build,
    Effect.flatMap((context) => Stream.runHead(Context.get(context, Environment.Environment).work(0))),
    Effect.flatMap((work) => Option.getOrThrow(work).rollOut),
    Effect.map(({ groups }) => groups[0]!)
  )
}

describe("an agent over ACP", () => {
  it.live("has its tool calls with the times of its turns, and why it stopped with each rollout", () =>
    Effect.gen(function* () {
      const { figures, group } = yield* rolledOut(overAcp())
      for (const timings of group.timings ?? []) {
        const { from, to, ...call } = timings!.calls![0]!
        assert.deepStrictEqual(call, { title: "Run run", kind: "execute", status: "completed", text: "4\n" })
        const [first, second] = timings!.turns
        // The end of a call and the next turn come over two connections, in any order.
        for (const after of [to, second!.asked]) {
          const times = [first!.answered, from, after]
          assert.deepStrictEqual(
            times,
            times.toSorted((left, right) => left - right)
          )
        }
      }
      assert.strictEqual(group.timings?.length, 2)
      assert.deepStrictEqual(group.overrides, [{ stop_reason: "end_turn" }, { stop_reason: "end_turn" }])
      assert.deepInclude(figures, { "agent/stopped_end_turn": 2, "agent/stopped_cancelled": 0 })
    })
  )

  it.live("is counted by why its turns stopped", () =>
    Effect.gen(function* () {
      const { figures } = yield* rolledOut(overAcp("max_tokens"))
      assert.deepInclude(figures, { "agent/stopped_end_turn": 0, "agent/stopped_max_tokens": 2, "agent/failed": 0 })
    })
  )

  it.live("has the first calls alone, cut short, if it reports very many", () =>
    Effect.gen(function* () {
      const { group } = yield* rolledOut(overAcp("floods"))
      for (const timings of group.timings ?? []) {
        assert.strictEqual(timings?.calls?.length, AcpCalls.maxCalls)
        assert.isBelow(JSON.stringify(timings?.calls).length, 1000 * AcpCalls.maxCalls)
      }
      assert.deepStrictEqual(Array.from(group.scores), [4, 4])
    })
  )

  it.effect("is asked to cancel when its time is over, and may end its turn", () =>
    Effect.gen(function* () {
      const { count, variables } = yield* notes
      const scorer = Words.join(["echo", "1"])
      const settings = { ...overAcp("waits"), tryAgent: false, sessionTimeout: 300, scorer, variables }
      const rolling = yield* Effect.forkChild(rolledOut(settings))
      yield* Waits.untilTrue("a call of each rollout", () => count("started") === 2)
      yield* TestClock.adjust("300 seconds")
      const { figures, group } = yield* Fiber.join(rolling)
      assert.strictEqual(count("cancelled"), 2)
      assert.deepInclude(figures, { "agent/timeouts": 2, "agent/stopped_cancelled": 2 })
      assert.deepStrictEqual(group.overrides, [{ stop_reason: "timeout" }, { stop_reason: "timeout" }])
    }).pipe(scoped)
  )

  it.live("is asked to cancel when its rollout is interrupted", () =>
    Effect.gen(function* () {
      const { count, variables } = yield* notes
      const rolling = yield* Effect.forkChild(rolledOut({ ...overAcp("waits"), tryAgent: false, variables }))
      yield* Waits.untilTrue("a call of each rollout", () => count("started") === 2)
      yield* Fiber.interrupt(rolling)
      assert.strictEqual(count("cancelled"), 2)
    }).pipe(scoped)
  )

  it.live("is killed if it ignores that, and keeps the calls that it reported", () =>
    Effect.gen(function* () {
      const { count, variables } = yield* notes
      const output = Program.makeOutput()
      const supervisor = yield* ProcessSupervisor.make
      const talk = { task: "Sleep.", user: null, maxTurns: 1 }
      const running = yield* Effect.forkChild(
        Program.run({
          ...Acp.program([process.execPath, file("acpCoder.mjs"), "deaf"], talk),
          supervisor,
          folder: ".",
          variables,
          outputBytes: Acp.reportBytes,
          output
        })
      )
      yield* Waits.untilTrue("its call", () => count("started") === 1)
      yield* Fiber.interrupt(running)
      assert.strictEqual(count("cancelled"), 1)
      const { answer, calls, stopReasons } = Acp.read(output.stdout())
      assert.deepStrictEqual([answer, stopReasons], ["", []])
      assert.deepStrictEqual(
        calls.map(({ status, title }) => [title, status]),
        [["Sleep", "in_progress"]]
      )
    }).pipe(scoped)
  )

  it.live("has its calls and why it stopped as an agent of plain functions", () =>
    Effect.gen(function* () {
      const group = yield* ofFunctions()
      assert.deepStrictEqual(Array.from(group.scores), [1, 1])
      assert.strictEqual(group.timings?.[0]?.calls?.[0]?.title, "Run run")
      assert.deepInclude(group.overrides?.[0], { stop_reason: "end_turn" })
    }).pipe(Effect.scoped)
  )

  it.effect("keeps its calls as an agent of plain functions whose time is over", () =>
    Effect.gen(function* () {
      const { count, variables } = yield* notes
      // The agent is a program: its calls have the times of the machine's clock.
      yield* TestClock.setTime(Date.now())
      const rolling = yield* Effect.forkChild(ofFunctions({ oddity: ["waits"], variables }))
      yield* Waits.untilTrue("a call of each rollout", () => count("started") === 2)
      yield* TestClock.adjust("300 seconds")
      const group = yield* Fiber.join(rolling)
      assert.deepStrictEqual(Array.from(group.scores), [-1, -1])
      for (const overrides of group.overrides!) assert.deepInclude(overrides, { stop_reason: "timeout" })
      assert.deepStrictEqual(
        group.timings?.map((one) => one?.calls?.map(({ title }) => title)),
        [["run"], ["run"]]
      )
    }).pipe(scoped)
  )

  it.live("is asked to cancel as an agent of plain functions that is interrupted", () =>
    Effect.gen(function* () {
      const { count, variables } = yield* notes
      const rolling = yield* Effect.forkChild(ofFunctions({ oddity: ["waits"], variables }))
      yield* Waits.untilTrue("a call of each rollout", () => count("started") === 2)
      yield* Fiber.interrupt(rolling)
      yield* Waits.untilTrue("the end of each turn", () => count("cancelled") === 2)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(rolling)))
    }).pipe(scoped)
  )
})
