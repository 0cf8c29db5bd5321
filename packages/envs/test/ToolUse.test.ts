/** Tools that run: sums, programs in the sandbox, and articles that are looked up. */
import { Dataset, Environment, Message, SeededRandom, ServerManager, ToolCalls } from "@atropos/core"
import { Sandbox, ToolEpisode } from "@atropos/envs"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import * as Computations from "../src/tools/Computations.ts"
import * as Gazetteer from "../src/tools/Gazetteer.ts"
import * as ToolUse from "../src/ToolUse.ts"

const written = (name: string, args: unknown) => ToolCalls.writeCall({ name, arguments: args })

/** Calls a tool for the question, then answers with what it was told last. */
const asking =
  (call: (question: string) => string) =>
  (request: ServerManager.ScriptedRequest): string => {
    const messages = "messages" in request ? request.messages : []
    const told = messages.filter(({ role }) => role === "tool").map(Message.text)
    const question = Message.text(messages.find(({ role }) => role === "user")!)
    return told.length === 0 ? call(question) : `<answer>${told.at(-1)!}</answer>`
  }

const groupsOf = (
  kinds: NonNullable<Parameters<typeof ToolUse.layer>[0]>["kinds"],
  script: ServerManager.Script,
  count: number
) =>
  Effect.gen(function* () {
    const { groups } = yield* Environment.Environment
    return yield* Stream.runCollect(Stream.take(groups, count))
  }).pipe(
    Effect.provide(
      ToolUse.layer({ ...(kinds && { kinds }), groupSize: 2, maxTokenLength: 20_000 }).pipe(
        Layer.provide([ServerManager.layerScripted(script), Dataset.layerMemory({})])
      )
    )
  )

/** A program for a question. */
const code = (question: string) => {
  const [most] = /\d+(?=\?)|(?<=to )\d+/.exec(question)!
  const divisor = /that (\d+) divides/.exec(question)?.[1]
  return question.includes("prime")
    ? `print(sum(n for n in range(2, ${most} + 1) if all(n % d for d in range(2, int(n ** .5) + 1))))`
    : question.includes("digits")
      ? `print(sum(sum(map(int, str(n))) % ${divisor} == 0 for n in range(1, ${most} + 1)))`
      : `print(sum(n * n for n in range(1, ${most} + 1) if n % ${divisor} == 0))`
}

layer(Sandbox.layerWasi(), { excludeTestServices: true })("ToolUse", (it) => {
  it.effect("a sum is worked out by the calculator", () =>
    Effect.gen(function* () {
      const script = asking((question) => written("calculator", { expression: /is (.+)\?/.exec(question)![1]! }))
      for (const { messages, scores } of yield* groupsOf(["calculation"], script, 2)) {
        assert.deepStrictEqual(Array.from(scores), [1, 1])
        assert.deepStrictEqual(ToolEpisode.turnRewards({ messages: messages![0]! }), [1, 1])
      }
    })
  )

  it.effect("a program runs in the sandbox, and what it prints is read", () =>
    Effect.gen(function* () {
      const groups = yield* groupsOf(
        ["program"],
        asking((question) => written("python", { code: code(question) })),
        3
      )
      assert.deepStrictEqual(
        groups.map(({ scores }) => Array.from(scores)),
        [
          [1, 1],
          [1, 1],
          [1, 1]
        ]
      )
    })
  )

  it.effect("what goes wrong with a tool is told, costs its turn, and does not end the episode", () =>
    Effect.gen(function* () {
      const calls = [
        written("calculator", { expression: "__import__('os')" }),
        written("python", { code: "while True: pass" }),
        written("search", { query: "zzz" }),
        written("fly", {})
      ]
      const [group] = yield* groupsOf(
        ["research"],
        asking(() => calls.join("\n")),
        1
      )
      const told = group!.messages![0]!.filter(({ role }) => role === "tool").map(Message.text)
      assert.strictEqual(told.length, 4)
      assert.match(told[0]!, /^error: the expression may have numbers/)
      assert.match(told[1]!, /^error: timeLimit/)
      assert.match(told[2]!, /^error: no article/)
      assert.match(told[3]!, /^error: there is no tool fly/)
      assert.deepStrictEqual(ToolEpisode.turnRewards({ messages: group!.messages![0]! }), [0, 1])
      assert.deepStrictEqual(Array.from(group!.scores), [0, 0])
    }).pipe(
      // Its programs without end take all the time they may, and the processor with it.
      Effect.provide(Sandbox.layerWasi({ timeMillis: 500 }), { local: true })
    )
  )
})

describe("questions to tools", () => {
  it.prop("about sums have the answers that sums have", [Schema.Natural], ([seed]) => {
    const { answer, question } = Computations.calculation(SeededRandom.seeded(seed, 0))
    const [a, b, c] = Array.from(question.matchAll(/\d+/g), ([digits]) => Number(digits))
    assert.strictEqual(Number(answer), question.includes("(") ? (a! + b!) * c! : a! * b! - c!)
  })

  it.prop("about the gazetteer are answered by articles that a search finds", [Schema.Natural], ([seed]) => {
    const gazetteer = Gazetteer.make(7)
    const { answer, question } = Gazetteer.ask(gazetteer, SeededRandom.seeded(seed, 0))
    const first = Gazetteer.search(gazetteer, question, 3)
    const person = gazetteer.people.find(({ name }) => question.includes(name))
    const texts = [...first, ...(person ? Gazetteer.search(gazetteer, person.birthplace.name, 3) : [])].map(
      ({ text }) => text
    )
    if (question.startsWith("How many years")) {
      assert.isTrue(texts.some((text) => text.includes(String(person!.born))))
      assert.isTrue(texts.some((text) => text.includes(`opened in ${person!.birthplace.bridgeYear}`)))
    } else
      assert.isTrue(
        texts.some((text) => text.includes(answer)),
        `${question} ${answer}`
      )
  })

  it("a search finds an article by its title first, and nothing for unknown words", () => {
    const gazetteer = Gazetteer.make(7)
    for (const { title } of gazetteer.articles) {
      assert.strictEqual(Gazetteer.search(gazetteer, title, 1)[0]!.title, title)
    }
    assert.deepStrictEqual(Gazetteer.search(gazetteer, "zzz", 3), [])
  })
})
