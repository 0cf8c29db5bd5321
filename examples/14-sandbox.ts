/**
 * Code: the model writes a function, and its tests score it, in the sandbox.
 *
 * A program runs apart from its tests, which see only plain values: one that claims to pass, or equals everything,
 * fails. Run it: `npx node --conditions=atropos-src examples/14-sandbox.ts`.
 */
import { Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import { Sandbox } from "@atropos/envs"
import { Console, Effect, Layer, Stream } from "effect"

export const layer = Environment.layer("times", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager
    const sandbox = yield* Sandbox.Sandbox
    const passes = (factor: number, source: string) =>
      sandbox
        .test({ source }, { tests: [`for x in (-1, 0, 2.5):\n    assert times(x) == ${factor} * x`] })
        .pipe(Effect.map(({ tests: [test] }) => (test?.passed === test?.total ? 1 : 0)))
    return {
      items: (cursor: number) => Stream.range(cursor + 2, 9),
      collectTrajectories: (factor: number) =>
        servers.chat({
          messages: [
            Message.user(`Write a Python function times(x) that gives ${factor} times x. Write nothing else.`)
          ],
          n: groupSize,
          maxTokens: maxTokenLength
        }),
      score: (factor: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.forEach(group, ({ completion }) => passes(factor, completion), { concurrency: "unbounded" })
    }
  })
)

const replies = [
  "def times(x):\n    return 2 * x",
  "def times(x):\n    return x + x + x",
  "import sys\nprint('1 passed')\nsys.exit(0)",
  "class Yes(int):\n    def __eq__(self, other):\n        return True\ndef times(x):\n    return Yes()"
]

/** Prints the scores of the first two groups. */
export const program = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  yield* Stream.runForEach(Stream.take(groups, 2), ({ scores }) =>
    Console.log(`scores ${Array.from(scores).join(" ")}`)
  )
}).pipe(
  Effect.provide(
    layer({ groupSize: replies.length }).pipe(
      Layer.provide([ServerManager.layerScripted(replies), Sandbox.layer({ timeMillis: 20_000 })])
    )
  )
)

if (import.meta.main) await Effect.runPromise(program)
