/** Rolls out a group of a coding agent of these tests on one item, with a scripted policy. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, FileSystem, Layer, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Command from "../../src/connected/Command.ts"
import type { Settings } from "../../src/command/CommandSettings.ts"
import * as Words from "../../src/base/Words.ts"

export const file = (name: string) => fileURLToPath(new URL(`agents/${name}`, import.meta.url))
const coder = Words.join([process.execPath, file("coder.mjs")])

export const script: ServerManager.Script = (request) => {
  if ("prompt" in request || request.tools === undefined) return "A title"
  const isCalled = request.messages.some(({ role }) => role === "tool")
  const call = { name: "run", arguments: { command: "echo 4 > answer.txt; cat answer.txt" } }
  return isCalled ? "It is 4." : `<tool_call>\n${JSON.stringify(call)}\n</tool_call>`
}

/** Rolls out the first item: its groups, and the figures after it. */
export const firstItem = Effect.gen(function* () {
  const environment = yield* Environment.Environment
  const [work] = yield* environment.work(0).pipe(Stream.take(1), Stream.runCollect)
  const { groups } = yield* work!.rollOut
  return { groups, figures: yield* environment.metrics }
})

/** The first group of an agent on one item, or why it failed. */
export const rolledOut = (settings: Partial<Settings>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
    const items = `${folder}/tasks.jsonl`
    yield* fs.writeFileString(items, `${JSON.stringify({ question: "2 + 2?" })}\n`)
    return yield* firstItem.pipe(
      Effect.map(({ figures, groups }) => ({ group: groups[0]!, figures })),
      Effect.provide(
        Command.layer({
          agent: file("preset.ts"),
          command: coder,
          prompt: "What is {question}",
          items,
          groupSize: 2,
          ensureScoresAreNotSame: false,
          scorer: Words.join(["sh", "-c", "cat answer.txt"]),
          ...settings
        }).pipe(Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes]))
      )
    )
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

/** A program that speaks the Agent Client Protocol, without a preset. */
export const overAcp = (...words: ReadonlyArray<string>): Partial<Settings> => ({
  agent: `acp:${Words.join([process.execPath, file("acpCoder.mjs"), ...words])}`,
  command: "",
  trained: "tools"
})
