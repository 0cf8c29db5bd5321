import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, FileSystem, Schema } from "effect"
import { TestConsole } from "effect/testing"
import { PassThrough } from "node:stream"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import { ConsoleLines, make, maxLineLength, maxLines } from "@atropos/core/base/ConsoleLines"
import * as SafeConsole from "../../src/base/SafeConsole.ts"
import { Secrets } from "../../src/base/Secrets.ts"
import * as Terminal from "../../src/base/Terminal.ts"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"

/** Any text, with what terminals obey strewn in. */
const hostile = Schema.Array(
  Schema.Union([
    Schema.String,
    Schema.Literals([
      "\u001b[2J",
      "\u001b]0;title\u0007",
      "\u001b[31m",
      "\u009b5m",
      "\r",
      "\r\n",
      "\n",
      "\t",
      "\b",
      "\u007f",
      "\u202e",
      "\u2066",
      "\\u001b",
      "%s",
      "%o",
      "é😀"
    ])
  ])
)

/** By code point and not by a pattern: the pattern is what is tested. */
const commandsIn = (text: string): ReadonlyArray<number> =>
  Array.from(text, (character) => character.codePointAt(0)!).filter(
    (code) =>
      (code < 32 && code !== 9 && code !== 10) ||
      (code >= 127 && code < 160) ||
      (code >= 0x202a && code <= 0x202e) ||
      (code >= 0x2066 && code <= 0x2069)
  )

const printable = (text: string): boolean => commandsIn(text).length === 0

/** What is written through the guard of a stream, in pieces of this many bytes. */
const guarded = (text: string, size: number): string => {
  const below = new PassThrough()
  Terminal.guard(below as unknown as NodeJS.WriteStream)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) below.write(bytes.subarray(at, at + size))
  return (below.read() as Buffer | null)?.toString() ?? ""
}

class Named {
  readonly [key: string]: string
  constructor(name: string) {
    Object.assign(this, { [name]: name })
  }
}

describe("Terminal", () => {
  it.prop("leaves no command in a text, and clean text as it is", [hostile], ([parts]) => {
    const text = parts.join("")
    const escaped = Terminal.escape(text)
    assert.deepStrictEqual(commandsIn(escaped), [])
    assert.strictEqual(Terminal.escape(escaped), escaped)
    if (printable(text)) assert.strictEqual(escaped, text)
  })

  it.prop("means the same in a line of JSON", [hostile], ([parts]) => {
    const value = { text: parts.join("") }
    assert.deepStrictEqual(JSON.parse(Terminal.escape(JSON.stringify(value))), value)
  })

  it.prop("keeps colours of ours, and nothing else", [hostile], ([parts]) => {
    const { text } = new Terminal.Coloured(`\u001b[1m${parts.join("")}\u001b[0m`)
    assert.isTrue(text.startsWith("\u001b[1m") && text.endsWith("\u001b[0m"))
    // oxlint-disable-next-line no-control-regex -- colours are what is looked for
    assert.isTrue(printable(text.replaceAll(/\u001b\[[0-9;]*m/g, "")))
  })

  it.prop("guards a stream, however the bytes are cut", [hostile, Schema.Literals([1, 2, 3, 7])], ([parts, size]) => {
    // A lone half of a pair has no bytes of its own.
    const text = parts.join("").toWellFormed().replaceAll("\r\n", "\n")
    assert.strictEqual(guarded(text, size), Terminal.escape(text))
  })

  it.effect.prop("escapes whatever is printed and logged, of text, values and errors", [hostile], ([parts]) =>
    Effect.gen(function* () {
      const text = parts.join("")
      const error = new Error(text)
      error.stack = `Error: ${text}`
      yield* SafeConsole.provide(
        Effect.gen(function* () {
          for (const print of [Console.log, Console.error, Console.warn, Console.info, Console.debug]) {
            yield* print(text, { text }, [text], error, new Named(text), new Map([[text, Symbol(text)]]))
          }
          yield* Effect.logWarning(text, { server: text }).pipe(Effect.annotateLogs({ model: text }))
          yield* Effect.logError("failed", error)
        })
      )
      const lines = [...(yield* TestConsole.logLines), ...(yield* TestConsole.errorLines)].map(String)
      assert.isAtLeast(lines.length, 4)
      assert.deepStrictEqual(lines.flatMap(commandsIn), [])
    })
  )

  it.effect("keeps the last lines printed, without secrets and colours, for the page of the service", () =>
    Effect.gen(function* () {
      yield* SafeConsole.provide(
        Effect.gen(function* () {
          yield* Effect.forEach(Array.from({ length: maxLines }).keys(), (at) => Console.log(`step ${at}`))
          yield* Console.error(new Terminal.Coloured("\u001b[1mtoken hunter2-hunter2\u001b[0m"))
          yield* Console.error(`two\n${"x".repeat(5_000)}`)
        })
      )
      const lines = (yield* ConsoleLines).last().map(({ text }) => text)
      assert.lengthOf(lines, maxLines)
      assert.strictEqual(lines[0], "step 3")
      assert.match(lines.at(-3)!, /^token (?!hunter2)/)
      assert.deepStrictEqual(lines.slice(-2), ["two", "x".repeat(maxLineLength)])
      const whole = Array.from({ length: maxLines + 50 }, (_, at) => `line ${at}`)
      yield* SafeConsole.provide(Console.log(whole.join("\n")))
      assert.deepStrictEqual(
        (yield* ConsoleLines).last().map(({ text }) => text),
        whole.slice(-maxLines)
      )
    }).pipe(
      Effect.provideServiceEffect(ConsoleLines, Effect.sync(make)),
      Effect.provideService(Secrets, new Set(["hunter2-hunter2"]))
    )
  )

  it.live("no verb hands on what servers, names and files put into its messages", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const evil = "x\u001b]0;title\u0007\u001b[2J\u009b5m\ry"
      const { url } = yield* TestServer.make(
        ({ path }) =>
          path.endsWith("/models")
            ? { json: { data: [{ id: evil, owned_by: evil }] } }
            : { status: 400, text: `no: ${evil}` },
        { isProbed: true }
      )
      yield* fs.writeFileString(`${cwd}/${evil}.yaml`, "env:\n  grop_size: 3\n")
      yield* fs.writeFileString(`${cwd}/${evil}.jsonl`, `{"scores": "${evil}"}\n`)
      yield* fs.makeDirectory(`${cwd}/model`)
      yield* fs.writeFileString(`${cwd}/model/config.json`, JSON.stringify({ model_type: evil, architectures: [evil] }))
      const servers = ["--openai.base_url", `${url}/v1`, "--openai.model_name", "m", "--max_attempts", "1"]
      const runs: ReadonlyArray<readonly [ReadonlyArray<string>, Record<string, string>?]> = [
        [["process", "--env", "arithmetic-stories", "--env.total_steps", "1", ...servers]],
        [["process", "--env", Bin.myEnvironment, "--config", `${evil}.yaml`]],
        [["process", "--env", evil]],
        [["doctor", "--offline", ...servers]],
        [[evil]],
        [["view", `${evil}.jsonl`, "--html", `${evil}.html`]],
        [["view", evil]],
        [["policy", "--model", "model", "--port", "0"]],
        [["policy", "--model", evil, "--port", "0"]],
        [["api"], { DATABASE_URL: evil }]
      ]
      const outcomes = yield* Effect.forEach(runs, ([words, env = {}]) =>
        Effect.map(InProcess.run(words, env), (outcome) => ({ words, ...outcome }))
      )
      for (const { stderr, stdout, words } of outcomes) {
        assert.deepStrictEqual(commandsIn(stdout + stderr), [], words.join(" "))
      }
      const said = outcomes.map(({ stderr, stdout }) => stdout + stderr)
      assert.isAtLeast(
        said.filter((text) => text.includes("x\\u001b]0;title\\u0007\\u001b[2J\\u009b5m\\u000dy")).length,
        6
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
