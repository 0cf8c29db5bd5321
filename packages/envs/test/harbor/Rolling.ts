/** Rollouts of Harbor tasks with a model that follows a script, for tests. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Dataset, Environment, ServerManager, Tokenizer, ToolCalls } from "@atropos/core"
import { Effect, FileSystem, Layer, Logger, Result, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Harbor from "../../src/connected/Harbor.ts"
import type { Settings } from "../../src/harbor/HarborSettings.ts"

export const folder = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** A folder with the task of a greeting, with a network, which a program needs to reach the model. */
export const greetingOnline = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const made = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
  yield* fs.copy(folder("tasks/greeting"), `${made}/task`)
  const file = `${made}/task/task.toml`
  yield* fs.writeFileString(
    file,
    (yield* fs.readFileString(file))
      .replace("no-network", "public")
      .replace("[agent]\ntimeout_sec = 30.0", "[agent]\ntimeout_sec = 300.0")
  )
  return made
})

/** The model runs these commands, one a turn, and is done. */
export const commands =
  (...lines: ReadonlyArray<string>): ServerManager.Script =>
  (request) => {
    const turn = "messages" in request ? request.messages.filter(({ role }) => role === "tool").length : 0
    const line = lines[turn]
    return line === undefined ? "Done." : ToolCalls.writeCall({ name: "bash", arguments: { command: line } })
  }

/** The last of these groups, with what was logged, or why there is none. */
export const rolledOut = Effect.fnUntraced(function* (
  settings: Partial<Settings>,
  script: ServerManager.Script,
  groups = 1
) {
  const told: Array<unknown> = []
  const outcome = yield* Effect.gen(function* () {
    const environment = yield* Environment.Environment
    const works = yield* environment.work(0).pipe(Stream.take(groups), Stream.runCollect)
    const all = yield* Effect.forEach(works, ({ rollOut }) => Effect.result(rollOut))
    for (const one of all) if (Result.isFailure(one)) told.push(one.failure.message)
    const rolled = all.at(-1)!
    return {
      group: Result.isSuccess(rolled) ? rolled.success.groups[0] : undefined,
      figures: yield* environment.metrics
    }
  }).pipe(
    Effect.provide(
      Harbor.layer({ groupSize: 2, maxTokenLength: 1000, ensureScoresAreNotSame: false, ...settings }).pipe(
        Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes])
      )
    ),
    Effect.provide(Logger.layer([Logger.make(({ message }) => void told.push(message))]))
  )
  return { ...outcome, told: JSON.stringify(told) }
})

/** What the model read, of one rollout. */
export const readings = (group: {
  readonly messages?: ReadonlyArray<ReadonlyArray<{ role: string; content: unknown }>>
}) => (group.messages?.[0] ?? []).filter(({ role }) => role === "tool").map(({ content }) => String(content))

export const platform = NodeServices.layer
