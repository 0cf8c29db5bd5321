/** A coding agent by a preset of a user's own, and what is said at the start if it cannot be trained. */
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import * as Executable from "@atropos/core/base/system/Executable"
import { Context, Effect, Exit, Layer, Option, Result, Stream } from "effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { defineAgent } from "../../src/agent/Agent.ts"
import { codingAgent } from "../../src/command/CodingRun.ts"
import type { Settings } from "../../src/command/CommandSettings.ts"
import * as AgentTrial from "../../src/command/AgentTrial.ts"
import * as Words from "../../src/base/Words.ts"
import * as AgentProgram from "../../src/coding/AgentProgram.ts"
import type { CodingAgent } from "../../src/coding/CodingAgent.ts"
import * as CodingAgents from "../../src/coding/CodingAgents.ts"
import * as Task from "../../src/coding/Task.ts"
import { file, overAcp, rolledOut, script } from "./RolledOut.ts"

const messageOf = (exit: Exit.Exit<unknown, unknown>): string => (Exit.isFailure(exit) ? String(exit.cause) : "")

describe("a coding agent", () => {
  it.live("has its task, its settings and a fresh home in every rollout, and trains what offers tools", () =>
    Effect.gen(function* () {
      const { figures, group } = yield* rolledOut({})
      assert.deepStrictEqual(Array.from(group.scores), [4, 4])
      assert.deepInclude(figures, { "agent/sessions": 2, "agent/failed": 0, "agent/untrained": 2, "agent/paths": 1 })
      assert.strictEqual(group.messages?.[0]?.[0]?.content, "What is 2 + 2?")
    })
  )

  it.live("trains all requests if told to", () =>
    Effect.gen(function* () {
      const { figures, group } = yield* rolledOut({ trained: "all" })
      assert.deepInclude(figures, { "agent/untrained": 0, "agent/paths": 2 })
      assert.strictEqual(group.tokens.length, 4)
    })
  )

  it.live("runs in an agent of plain functions, which reads what it left", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.promise(() => import("./agents/preset.ts"))
      const run = codingAgent({
        agent: agent.default,
        program: [process.execPath, file("coder.mjs")],
        task: ({ question }: { readonly question: string }) => `What is ${question}`,
        result: ({ exitCode, folder, text }) => ({
          exitCode,
          text: text.trim(),
          answer: Number(readFileSync(join(folder, "answer.txt"), "utf8"))
        })
      })
      const group = yield* defineAgent({
        name: "answers",
        items: [{ question: "2 + 2?", answer: 4 }],
        trained: "tools",
        run,
        score: ({ item, result }) =>
          result.answer === item.answer && result.exitCode === 0 && result.text === "It is 4." ? 1 : 0
      })({ groupSize: 2, ensureScoresAreNotSame: false }).pipe(
        Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes]),
        Layer.build,
        Effect.flatMap((context) => Stream.runHead(Context.get(context, Environment.Environment).work(0))),
        Effect.flatMap((work) => Option.getOrThrow(work).rollOut),
        Effect.map(({ groups }) => groups[0]!)
      )
      assert.deepStrictEqual(Array.from(group.scores), [1, 1])
      assert.strictEqual(group.tokens.length, 2)
    }).pipe(Effect.scoped)
  )

  it.live("gets its task over ACP, and a user's further turns in the same chat", () =>
    Effect.gen(function* () {
      const user = Words.join([process.execPath, file("user.mjs")])
      const { figures, group } = yield* rolledOut({ ...overAcp(), user })
      assert.deepStrictEqual(Array.from(group.scores), [4, 4])
      assert.deepInclude(figures, { "agent/sessions": 2, "agent/failed": 0, "agent/paths": 1 })
      assert.deepStrictEqual(
        group.messages?.[0]?.map(({ role }) => role),
        ["user", "assistant", "tool", "assistant", "user", "assistant"]
      )
      assert.strictEqual(group.messages?.[0]?.[4]?.content, "And now a summary.")
    })
  )

  it.live("has no further turn beyond the maximum", () =>
    Effect.gen(function* () {
      const user = Words.join([process.execPath, file("user.mjs")])
      const { group } = yield* rolledOut({ ...overAcp(), user, maxUserTurns: 1 })
      assert.strictEqual(group.messages?.[0]?.filter(({ role }) => role === "user").length, 1)
    })
  )

  const refused: ReadonlyArray<readonly [what: string, settings: Partial<Settings>, message: RegExp]> = [
    ["is too old", { variables: { CODER_VERSION: "1.1.9" } }, /agent coder: version 1\.1\.9 is older than 1\.2\.0/],
    ["is not installed", { command: "", agent: "pi", variables: {} }, /agent pi: its program pi is not in PATH/],
    ["is not known", { agent: "kilo" }, /"kilo" is not a coding agent: use pi, opencode/],
    ["is another program", { command: "sh -c true" }, /printed no version/],
    [
      "is refused by the gateway",
      { agent: file("refused.ts") },
      /a trial with scripted answers failed: a request was refused: ignore_eos: .*--env\.try_agent false/
    ],
    ["has no arguments for ACP", { agent: "acp:pi" }, /agent: pi has no arguments for ACP: leave out "acp:"/],
    ["has a user, but no further turns", { user: "cat" }, /user: only an agent over ACP takes further turns/],
    ["ends over ACP", { ...overAcp("ends") }, /a trial with scripted answers failed: .*the agent ended with 7/],
    [
      "refuses over ACP",
      { ...overAcp("refusal") },
      /a trial with scripted answers failed: .*the agent stopped turn 1: refusal/
    ],
    ["has no such tool", { agent: file("toolless.ts") }, /it made no call of its tool run/],
    ["lacks a field of the item", { prompt: "{issue}" }, /the item has no field "issue"/]
  ]
  for (const [what, settings, message] of refused) {
    it.live(`that ${what} is refused by name`, () =>
      Effect.map(Effect.exit(rolledOut(settings)), (exit) => assert.match(messageOf(exit), message))
    )
  }

  it("gets a task of the item's fields", () => {
    assert.deepStrictEqual(Task.of("{task}", "Fix it."), Result.succeed("Fix it."))
    assert.deepStrictEqual(
      Task.of("{a} and {b.c}: {x y}", { a: 1, "b.c": ["d"] }),
      Result.succeed('1 and ["d"]: {x y}')
    )
    assert.isTrue(Result.isFailure(Task.of("{task}", { question: "?" })))
  })

  it("is compared by its version", () => {
    assert.strictEqual(AgentTrial.versionOf("codex-cli 0.171.0\n"), "0.171.0")
    assert.deepStrictEqual(
      ["0.170.9", "0.171.0", "0.171.1", "1.0.0"].map((one) => AgentTrial.isOlder(one, "0.171.0")),
      [true, false, false, false]
    )
  })

  it.each(CodingAgents.presets)("has a task that begins with a dash as no option: $name", (agent) => {
    const session = { baseURL: "", anthropicBaseURL: "", apiKey: "any", modelName: "m" }
    const { words } = AgentProgram.of({ agent, program: undefined, task: "- fix it", session, maxTokens: 5 })
    assert.include(words, " - fix it")
  })

  it("waits an hour for an answer where it would end a silent or a long stream: Qwen Code, Codex", () => {
    const session = { baseURL: "", anthropicBaseURL: "", apiKey: "any", modelName: "m" }
    const [qwen, codex] = ["qwen-code", "codex"].map((name) => {
      const agent = CodingAgents.presets.find((one) => one.name === name)!
      return AgentProgram.of({ agent, program: undefined, task: "", session, maxTokens: 5 })
    })
    assert.deepInclude(qwen!.variables, {
      QWEN_STREAM_IDLE_TIMEOUT_MS: "3600000",
      QWEN_STREAM_MAX_LIFETIME_MS: "3600000"
    })
    assert.include(qwen!.files[".qwen/settings.json"], '"timeout":3600000')
    assert.include(codex!.words.join(" "), "stream_idle_timeout_ms=3600000")
  })

  it("is one script in another machine: home, files, variables, words", () => {
    const agent: CodingAgent = {
      name: "any",
      program: "sh",
      install: "",
      minVersion: "1.0.0",
      triedVersion: "1.0.0",
      args: (task) => ["-c", 'cat "$HOME/.a b/it\'s"; echo "$HOME $ONE $1"', "sh", task],
      variables: () => ({ ONE: "it's $HOME" }),
      files: ({ contextLength }) => ({ ".a b/it's": `"$HOME" ${contextLength}\n` }),
      shell: { tool: "bash", args: () => ({}) }
    }
    const session = { baseURL: "", anthropicBaseURL: "", apiKey: "any", modelName: "m", contextLength: 9 }
    const made = AgentProgram.of({ agent, program: undefined, task: "a 'b' $c", session, maxTokens: 5 })
    const folder = mkdtempSync(join(tmpdir(), "atropos-test-"))
    const { stdout } = spawnSync("sh", ["-c", AgentProgram.script(made)], {
      encoding: "utf8",
      env: { ...process.env, TMPDIR: folder }
    })
    rmSync(folder, { recursive: true })
    const [first, second = ""] = stdout.split("\n")
    assert.strictEqual(first, '"$HOME" 9')
    assert.isTrue(second.startsWith(`${folder}/agent-home-`))
    assert.isTrue(second.endsWith(" it's $HOME a 'b' $c"))
  })

  it.each(CodingAgents.presets)("fails by name in a machine without its shell, if it needs one: $name", (agent) => {
    const session = { baseURL: "", anthropicBaseURL: "", apiKey: "any", modelName: "m" }
    const made = AgentProgram.of({ agent, program: ["true"], task: "", session, maxTokens: 5 })
    const folder = mkdtempSync(join(tmpdir(), "atropos-test-"))
    for (const name of ["mktemp", "mkdir", "dirname", "true"]) symlinkSync(Executable.find(name)!, join(folder, name))
    const run = () =>
      spawnSync("/bin/sh", ["-c", AgentProgram.script(made)], {
        encoding: "utf8",
        env: { PATH: folder, TMPDIR: folder }
      })
    const [first, ...others] = agent.needsShell ?? []
    const without = run()
    if (first === undefined) assert.strictEqual(without.status, 0, without.stderr)
    else {
      assert.strictEqual(without.status, 125)
      assert.include(without.stderr, `this agent needs ${[first, ...others].join(" or ")} `)
      symlinkSync("/bin/sh", join(folder, first))
      assert.strictEqual(run().status, 0)
    }
    rmSync(folder, { recursive: true })
  })

  it("is in the documentation with the version that was tried", () => {
    const page = readFileSync(new URL("../../../../docs/coding-agents.md", import.meta.url), "utf8")
    for (const { name, triedVersion } of CodingAgents.presets) {
      assert.match(page, new RegExp(`\\| \`${name}\` \\|.* ${triedVersion.replaceAll(".", "\\.")} `))
    }
  })
})
