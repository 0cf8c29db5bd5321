/** Real coding agents, unmodified, in containers of a real Docker Engine without a network. */
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Tokenizer } from "@atropos/core"
import { Effect, FileSystem, Layer } from "effect"
import { dirname } from "node:path"
import * as CodingAgents from "../../src/coding/CodingAgents.ts"
import * as ProcessSupervisor from "../../src/command/ProcessSupervisor.ts"
import * as Words from "../../src/base/Words.ts"
import * as Harbor from "../../src/connected/Harbor.ts"
import * as GatewayRelay from "../../src/harbor/GatewayRelay.ts"
import * as ContainerTasks from "../harbor/ContainerTasks.ts"
import * as Engine from "../harbor/Engine.ts"
import * as Rolling from "../harbor/Rolling.ts"
import * as RolledOut from "../coding/RolledOut.ts"
import * as LoggedPolicy from "../long/agents/LoggedPolicy.ts"
import * as Programs from "../long/agents/Programs.ts"

/** A task whose image has this process's Node, as `/node`, and the system's libraries that programs need. */
const task = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* ContainerTasks.task("shared", {
    "environment/Dockerfile": (text) => `${text}COPY root /\n`,
    "task.toml": (text) => text.replaceAll("timeout_sec = 60.0", "timeout_sec = 3600.0").replace("512", "4096")
  })
  const root = `${folder}/environment/root`
  const libraries = yield* GatewayRelay.libraries(yield* ProcessSupervisor.make)
  for (const [from, to] of [[process.execPath, "/node"] as const, ...libraries.map((one) => [one, one] as const)]) {
    yield* fs.makeDirectory(dirname(`${root}${to}`), { recursive: true })
    yield* fs.copyFile(from, `${root}${to}`)
  }
  return folder
})

describe(`a coding agent in a container${Engine.skipped}`, () => {
  for (const agent of CodingAgents.presets) {
    const program = Programs.installed(agent)
    it.live.skipIf(program === undefined || Engine.skipped !== "")(
      `does a task of Harbor with exact tokens: ${agent.name}${program === undefined ? " (skipped: it is not installed)" : ""}`,
      () =>
        Effect.gen(function* () {
          const engine = yield* Engine.engine
          const [agentFolder = "", name = ""] = program!.path.split("/node_modules/.bin/")
          const log: Array<LoggedPolicy.Sampled> = []
          const { figures, groups } = yield* RolledOut.firstItem.pipe(
            Effect.provide(
              Harbor.layer({
                tasks: yield* task,
                docker: engine.program,
                agent: agent.name,
                agentFolder,
                command: Words.join(["/node", `/agent/node_modules/.bin/${name}`]),
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
        }).pipe(Effect.scoped, Effect.provide(Rolling.platform))
    )
  }
})
