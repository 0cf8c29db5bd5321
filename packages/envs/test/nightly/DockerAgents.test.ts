/** Real coding agents, unmodified, in containers of a real Docker Engine without a network. */
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Tokenizer } from "@atropos/core"
import * as Executable from "@atropos/core/base/system/Executable"
import { Effect, FileSystem, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { dirname } from "node:path"
import * as CodingAgents from "../../src/coding/CodingAgents.ts"
import * as Harbor from "../../src/connected/Harbor.ts"
import * as ContainerTasks from "../harbor/ContainerTasks.ts"
import * as Engine from "../harbor/Engine.ts"
import * as Rolling from "../harbor/Rolling.ts"
import * as RolledOut from "../coding/RolledOut.ts"
import * as LoggedPolicy from "../long/agents/LoggedPolicy.ts"
import * as Programs from "../long/agents/Programs.ts"

/** The libraries of programs of this machine, and their loader. */
const librariesOf = (programs: ReadonlyArray<string>): ReadonlyArray<string> =>
  spawnSync("ldd", [...programs], { encoding: "utf8" }).stdout.match(/\/\S+(?= \(0x)/g) ?? []

/** A task whose image has bash and this process's Node, with their libraries and those of a program. */
const task = Effect.fnUntraced(function* (program: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* ContainerTasks.task("shared", {
    "environment/Dockerfile": (text) => `${text}RUN mkdir -p /usr/bin && ln -s /bin/env /usr/bin/env\nCOPY root /\n`,
    "task.toml": (text) => text.replaceAll("timeout_sec = 60.0", "timeout_sec = 3600.0").replace("512", "4096")
  })
  const root = `${folder}/environment/root`
  const shell = Executable.find("bash")!
  const libraries = new Set(librariesOf([process.execPath, shell, program]))
  const copies = [[process.execPath, "/bin/node"], [shell, "/bin/bash"], ...[...libraries].map((one) => [one, one])]
  for (const [from = "", to = ""] of copies) {
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
                tasks: yield* task(program!.path),
                docker: engine.program,
                agent: agent.name,
                agentFolder,
                command: `/agent/node_modules/.bin/${name}`,
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
