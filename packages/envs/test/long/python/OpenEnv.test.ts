/** Live servers of the Python package `openenv`, by its own classes: what goes well, and what goes wrong. */
import { assert, describe, layer } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Environment, Message, ServerManager, Trajectory } from "@atropos/core"
import { Context, Effect, Layer, Stream } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as OpenEnv from "../../../src/connected/OpenEnv.ts"
import { having, interpreter } from "../../../../core/test/Python.ts"

const { absence, isPresent } = having("openenv")
const script = fileURLToPath(new URL("openenv_servers.py", import.meta.url))

const kinds = { reasoning: 3, guessing: 8, tools: 8, blind: 16, mortal: 8 }
type Kind = keyof typeof kinds

/** All of them in one process, which takes its time to load the package. */
class Servers extends Context.Service<Servers, { readonly [kind in Kind]: string }>()("Servers") {
  static readonly layer = Layer.effect(
    Servers,
    Effect.gen(function* () {
      const words = Object.entries(kinds).map(([kind, sessions]) => `${kind}:${sessions}`)
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(interpreter, [script, ...words], { stdio: ["ignore", "pipe", "inherit"] })),
        (child) => Effect.sync(() => void child.kill("SIGKILL"))
      )
      return yield* Effect.callback<{ readonly [kind in Kind]: string }>((resume) => {
        let said = ""
        child.stdout.setEncoding("utf8").on("data", (part: string) => {
          said += part
          const urls = Array.from(said.matchAll(/^(\w+) (http:\S+)$/gm), ([, kind, url]) => [kind!, url!] as const)
          if (urls.length === words.length) resume(Effect.succeed(Object.fromEntries(urls) as Record<Kind, string>))
        })
        child.on("exit", (code) => resume(Effect.die(new Error(`the servers ended with code ${code}`))))
      })
    })
  )
}

type Settings = NonNullable<Parameters<typeof OpenEnv.layer>[0]>

const open = (script: ServerManager.Script, settings: Settings) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      OpenEnv.layer(settings).pipe(Layer.provide([ServerManager.layerScripted(script), NodeHttpClient.layerUndici]))
    )
    return yield* Effect.provideContext(Environment.Environment, context)
  })

const lastWords = (request: ServerManager.ScriptedRequest): string =>
  "messages" in request ? Message.text(request.messages.at(-1)!) : ""

const bisect = (request: ServerManager.ScriptedRequest) => {
  let [low, high] = [1, 9]
  const chat = "messages" in request ? request.messages.map(Message.text) : []
  chat.forEach((hint, at) => {
    const guess = Number(chat[at - 1])
    if (hint === "higher") low = guess + 1
    if (hint === "lower") high = guess - 1
  })
  return String(Math.floor((low + high) / 2))
}

const call = (thing: string) => `<tool_call>{"name":"price","arguments":{"thing":"${thing}"}}</tool_call>`

const failed = (error: { readonly cause?: unknown }): string =>
  error.cause instanceof Error ? error.cause.message : String(error.cause)

describe.runIf(isPresent)(`an OpenEnv server${absence}`, () => {
  layer(Servers.layer, { excludeTestServices: true })("of the package", (it) => {
    it.effect("is asked by more episodes than it has sessions: none fails, and the limit rises again", () =>
      Effect.gen(function* () {
        const { reasoning: url } = yield* Servers
        const sorted = (request: ServerManager.ScriptedRequest) =>
          Array.from(lastWords(request).slice(0, 3)).toSorted().join("")
        const environment = yield* open(sorted, { url, groupSize: 16 })
        const groups = yield* Stream.runCollect(Stream.take(environment.groups, 6))
        assert.deepStrictEqual(
          groups.flatMap(({ scores }) => Array.from(scores)),
          Array.from({ length: 96 }, () => 1)
        )
        for (const { messages } of groups) {
          for (const chat of messages ?? []) assert.lengthOf(chat, 2)
          const question = Message.text(messages![0]![0]!)
          assert.match(question, /^[abc]{3}>$/)
        }
        const figures = yield* environment.metrics
        assert.isAbove(figures["openenv/full"]!, 0)
        assert.isAtMost(figures["openenv/sessions"]!, 8)
        assert.isAtLeast(figures["openenv/sessions"]!, 3)
      }).pipe(Effect.scoped)
    )

    it.effect("plays a game of several turns with numbers, whose target stays unseen", () =>
      Effect.gen(function* () {
        const { guessing: url } = yield* Servers
        const environment = yield* open(bisect, { url, groupSize: 2 })
        const groups = yield* Stream.runCollect(Stream.take(environment.groups, 9))
        for (const { messages, scores } of groups) {
          assert.deepStrictEqual(Array.from(scores), [1, 1])
          assert.notMatch(messages![0]!.map(Message.text).join("\n"), /target/)
        }
        assert.isTrue(groups.some(({ messages }) => messages![0]!.length > 4))
        const dull = yield* open(["I do not know"], { url, groupSize: 2, invalidReward: -1 })
        const [group] = yield* Stream.runCollect(Stream.take(dull.groups, 1))
        assert.deepStrictEqual(Array.from(group!.scores), [-1, -1])
        assert.strictEqual((yield* dull.metrics)["openenv/invalid_actions"], 2)
      }).pipe(Effect.scoped)
    )

    it.effect("has its tools called until it ends the episode", () =>
      Effect.gen(function* () {
        const { tools: url } = yield* Servers
        const environment = yield* open([call("tea"), call("salt"), call("tea"), "unasked"], {
          url,
          groupSize: 1,
          instructions: "What does tea cost?"
        })
        const [group] = yield* Stream.runCollect(Stream.take(environment.groups, 1))
        assert.deepStrictEqual(Array.from(group!.scores), [1.5])
        const answers = group!.messages![0]!.filter(({ role }) => role === "tool").map(Message.text)
        assert.strictEqual(answers[0], '{"thing":"tea","price":3}')
        assert.match(answers[1]!, /^error: .*there is no salt/)
        assert.isAbove(Trajectory.trainedTokens({ mask: group!.masks[0]! }), 0)
      }).pipe(Effect.scoped)
    )

    it.effect("that does not follow its seed is not trained on as if it did", () =>
      Effect.gen(function* () {
        const { blind: url } = yield* Servers
        const environment = yield* open(["abc"], { url, groupSize: 8 })
        const [work] = yield* Stream.runCollect(Stream.take(environment.work(0), 1))
        assert.match(failed(yield* Effect.flip(work!.rollOut)), /started the episodes of one group differently/)
        const anyhow = yield* open(["abc"], { url, groupSize: 8, sameStart: false })
        assert.lengthOf(yield* Stream.runCollect(Stream.take(anyhow.groups, 1)), 1)
      }).pipe(Effect.scoped)
    )

    it.effect(
      "that dies in the middle of an episode fails it with the reason; it is played again when it is back",
      () =>
        Effect.gen(function* () {
          const { mortal: url } = yield* Servers
          const environment = yield* open(["10"], { url, groupSize: 1 })
          const [work] = yield* Stream.runCollect(Stream.take(environment.work(0), 1))
          const error = yield* Effect.flip(work!.rollOut)
          assert.match(failed(error), /closed the session \(code 1006\)|no OpenEnv session/)
          const again = yield* Effect.flip(work!.rollOut)
          assert.match(failed(again), /no OpenEnv session at ws:.*: no server there/)
        }).pipe(Effect.scoped)
    )
  })
})
