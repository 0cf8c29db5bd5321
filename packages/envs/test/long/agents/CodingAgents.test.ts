/**
 * Real coding agents, unmodified, as environments: each does a task of three calls of its shell with a scripted policy,
 * which logs what it was sent and what it sampled.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Message, Tokenizer } from "@atropos/core"
import { Effect, Fiber, FileSystem, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { readdirSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import * as Waits from "../../../../core/test/base/Waits.ts"
import * as Command from "../../../src/connected/Command.ts"
import * as CodingAgents from "../../../src/coding/CodingAgents.ts"
import * as Words from "../../../src/base/Words.ts"
import * as Harbor from "../../../src/connected/Harbor.ts"
import * as Jail from "../../../src/sandbox/Jail.ts"
import * as Rolling from "../../harbor/Rolling.ts"
import * as RolledOut from "../../coding/RolledOut.ts"
import * as LoggedPolicy from "./LoggedPolicy.ts"
import * as Programs from "./Programs.ts"

/** What the agent does, call by call; then it says that it is done. */
const writing = ["echo one > first.txt", "cat first.txt > second.txt; echo two >> second.txt", "cat second.txt"]

/** A proxy that refuses everything, and logs whom a program wanted to reach. */
const proxy = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly asked: ReadonlyArray<string>; readonly close: () => void }>(
    (resume) => {
      const asked: Array<string> = []
      const server = createServer((request, response) => {
        asked.push(request.url ?? "")
        response.writeHead(502).end()
      })
      server.on("connect", (request, socket) => {
        asked.push(request.url ?? "")
        // A program that ends does not wait for the answer.
        socket.on("error", () => undefined)
        socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n")
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, asked, close: () => server.close() }))
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

const hasBubblewrap = Result.isSuccess(Result.try(Jail.bubblewrap))

const homeFiles = (): ReadonlyArray<string> => readdirSync(homedir()).toSorted()

/** Hosts that a program contacts regardless of its settings: opencode npm's registry, for its plugins. */
const contacts: { readonly [agent: string]: RegExp } = { opencode: /^registry\.\S+:443$/ }

/** Speaks for the user: asks for one thing more. */
const user = fileURLToPath(new URL("../../coding/agents/user.mjs", import.meta.url))

/** User messages but those that an agent writes itself. */
const turnsOf = (chat: ReadonlyArray<Message.Message>): number =>
  chat.filter(
    (message) => message.role === "user" && /Write the two files|And now a summary/.test(Message.text(message))
  ).length

/** In the machine of a task the program is below /agent, with this process's Node. */
const inMachine = (path: string) => {
  const [folder = "", rest = ""] = path.split("/node_modules/.bin/")
  const file = `/agent/node_modules/.bin/${rest}`
  const isScript = readFileSync(path).subarray(0, 2).toString() === "#!"
  const words = isScript ? [process.execPath, file] : [file]
  return { agentFolder: folder, command: Words.join(words), visible: [dirname(process.execPath)] }
}

describe("a coding agent", () => {
  for (const agent of CodingAgents.presets) {
    const inTerminal = Programs.installed(agent)
    const speaker = agent.acp !== undefined && "program" in agent.acp ? agent.acp : agent
    const overAcp = speaker === agent ? inTerminal : Programs.installed(speaker)
    for (const isOverAcp of agent.acp === undefined ? [false] : [false, true]) {
      const program = isOverAcp ? overAcp : inTerminal
      const how = isOverAcp ? `acp:${agent.name}` : agent.name
      const name = `does a task of three calls with exact tokens: ${how}`
      it.live.skipIf(program === undefined)(
        program === undefined
          ? `${name} (skipped: ${(isOverAcp ? speaker : agent).program} is not in PATH or ATROPOS_TEST_AGENTS)`
          : `${name} ${program.version}`,
        () =>
          Effect.gen(function* () {
            const fs = yield* FileSystem.FileSystem
            const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
            const items = `${folder}/tasks.jsonl`
            yield* fs.writeFileString(items, `${JSON.stringify({ task: "Write the two files." })}\n`)
            const { asked, url } = yield* proxy
            const log: Array<LoggedPolicy.Sampled> = []
            const before = homeFiles()
            const settings = {
              agent: how,
              command: Words.join([program!.path]),
              user: isOverAcp ? Words.join([process.execPath, user]) : null,
              items,
              groupSize: 2,
              ensureScoresAreNotSame: false,
              maxTokenLength: 4096,
              scorer: Words.join([
                "sh",
                "-c",
                'test "$(cat second.txt)" = "$(printf "one\\ntwo")" && echo 1 || echo 0'
              ]),
              variables: { HTTPS_PROXY: url, HTTP_PROXY: url, https_proxy: url, http_proxy: url }
            }
            const { figures, groups } = yield* RolledOut.firstItem.pipe(
              Effect.provide(
                Command.layer(settings).pipe(
                  Layer.provide([
                    LoggedPolicy.logged(LoggedPolicy.policy(agent, writing), log),
                    Dataset.layer,
                    Tokenizer.layerBytes
                  ])
                )
              )
            )
            const [group] = groups
            assert.deepStrictEqual([...new Set(group!.scores)], [1])
            assert.deepInclude(figures, { "agent/failed": 0, "agent/rewritten": 0, "agent/branched": 0 })
            assert.strictEqual(group!.scores.length, 2)
            LoggedPolicy.assertExact(group!, log)
            assert.deepStrictEqual(
              [...new Set(asked)].filter((one) => contacts[agent.name]?.test(one) !== true),
              []
            )
            assert.deepStrictEqual(homeFiles(), before)
            if (!isOverAcp) return
            assert.strictEqual(group!.messages!.filter((chat) => turnsOf(chat) === 2).length, 2)
            assert.deepInclude(figures, { "agent/stopped_end_turn": 4 })
            const allCalls = group!.timings!.flatMap((one) => (one?.calls === undefined ? [] : [one.calls]))
            assert.strictEqual(allCalls.length, 2)
            for (const calls of allCalls) {
              assert.deepStrictEqual(
                calls.map(({ status }) => status),
                writing.map(() => "completed")
              )
              // Some tell commands that read.
              for (const { kind } of calls) assert.include(["execute", "read"], kind)
            }
          }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
      )
    }

    if (agent.acp !== undefined) {
      it.effect.skipIf(overAcp === undefined)(`ends its turn when it is asked to cancel: ${agent.name}`, () =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
          const items = `${folder}/tasks.jsonl`
          yield* fs.writeFileString(items, `${JSON.stringify({ task: "Write the two files." })}\n`)
          const rolling = yield* RolledOut.firstItem.pipe(
            Effect.provide(
              Command.layer({
                agent: `acp:${agent.name}`,
                command: Words.join([overAcp!.path]),
                items,
                groupSize: 2,
                ensureScoresAreNotSame: false,
                maxTokenLength: 4096,
                sessionTimeout: 300,
                scorer: Words.join(["echo", "1"]),
                tryAgent: false
              }).pipe(
                Layer.provide([
                  LoggedPolicy.logged(LoggedPolicy.policy(agent, [`touch ${folder}/begun-$$; tail -f /dev/null`]), []),
                  Dataset.layer,
                  Tokenizer.layerBytes
                ])
              )
            ),
            Effect.forkChild
          )
          const begun = Effect.map(fs.readDirectory(folder), (names) => names.length - 1)
          yield* Waits.until("a call of each rollout", begun, (count) => count === 2)
          yield* TestClock.adjust("300 seconds")
          const { figures, groups } = yield* Fiber.join(rolling)
          assert.deepInclude(figures, { "agent/timeouts": 2, "agent/stopped_cancelled": 2 })
          assert.deepStrictEqual(groups[0]?.overrides, [{ stop_reason: "timeout" }, { stop_reason: "timeout" }])
        }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
      )
    }

    it.live.skipIf(inTerminal === undefined || !hasBubblewrap)(
      `does a task of Harbor behind bubblewrap: ${agent.name}${hasBubblewrap ? "" : " (skipped: no bubblewrap)"}`,
      () =>
        Effect.gen(function* () {
          const log: Array<LoggedPolicy.Sampled> = []
          const { figures, groups } = yield* RolledOut.firstItem.pipe(
            Effect.provide(
              Harbor.layer({
                tasks: yield* Rolling.greetingOnline,
                agent: agent.name,
                ...inMachine(inTerminal!.path),
                groupSize: 2,
                ensureScoresAreNotSame: false,
                maxTokenLength: 4096
              }).pipe(
                Layer.provide([
                  LoggedPolicy.logged(LoggedPolicy.policy(agent, LoggedPolicy.greeting), log),
                  Dataset.layer,
                  Tokenizer.layerBytes
                ])
              )
            )
          )
          assert.deepInclude(figures, { "agent/failed": 0, "agent/rewritten": 0, "agent/branched": 0 })
          assert.deepStrictEqual(Array.from(groups[0]!.scores), [1, 1])
          LoggedPolicy.assertExact(groups[0]!, log)
        }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )
  }
})
