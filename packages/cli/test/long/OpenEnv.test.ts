/**
 * OpenEnv both ways, as whole programs: `atropos up` trains on a server of the Python package `openenv`; its
 * `GenericEnvClient` plays on `atropos openenv`. That TRL trains on it, nightly/OpenEnvTrl.test.ts shows.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { having, interpreter } from "../../../core/test/Python.ts"
import * as Bin from "../Bin.ts"
import * as ModelFolders from "../ModelFolders.ts"
import { file, python, served } from "./OpenEnvServed.ts"

const openEnv = having("openenv")

/** A server of the package, with so many sessions. */
const theirs = (kind: string, sessions: number) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly stop: () => void }>((resume) => {
      const script = file("../../../envs/test/long/python/openenv_servers.py")
      const child = spawn(interpreter, [script, `${kind}:${sessions}`], { stdio: ["ignore", "pipe", "inherit"] })
      child.stdout.setEncoding("utf8").on("data", (line: string) => {
        const [url] = /http:\S+/.exec(line) ?? []
        if (url !== undefined) resume(Effect.succeed({ url, stop: () => void child.kill("SIGKILL") }))
      })
      child.on("exit", (code) => resume(Effect.die(new Error(`${kind} ended with code ${code}`))))
    }),
    ({ stop }) => Effect.sync(stop)
  )

const Clients = Schema.Struct({
  clients: Schema.Array(Schema.Record(Schema.String, Schema.Tuple([Schema.Finite, Schema.Int]))),
  wrong: Schema.String,
  full: Schema.String
})

const Tools = Schema.Struct({
  prompts: Schema.Array(Schema.String),
  tools: Schema.Array(Schema.String),
  answer: Schema.String,
  wrong: Schema.String,
  steps: Schema.Int,
  full: Schema.String,
  end: Schema.Tuple([Schema.Finite, Schema.Boolean]),
  passed: Schema.Boolean,
  mode: Schema.String,
  failed: Schema.Array(Schema.String)
})

describe.skipIf(!openEnv.isPresent)(`OpenEnv${openEnv.absence}`, () => {
  it.live("trains a small model on a server with fewer sessions than episodes", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const { url } = yield* theirs("lettered", 3)
      const model = yield* ModelFolders.write(`${cwd}/model`, "llama")
      const { code, stderr, stdout } = yield* Bin.run(
        ["up", "--port", "0", "--policy_port", "0", "--env", "openenv", "--env.url", url, "--model", model]
          .concat(["--steps", "2", "--batch_size", "4", "--env.group_size", "4", "--env.max_answer_tokens", "16"])
          .concat(["--env.evaluation_items", "2"]),
        { cwd }
      )
      assert.strictEqual(code, 0, stdout + stderr)
      assert.match(stdout, /openenv-1, 2 steps in/)
      assert.notMatch(stdout + stderr, /rollout failed/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("has Python's client play a hundred episodes on ours, four at a time: the same seed, the same hand", () =>
    Effect.gen(function* () {
      const url = yield* served("--env", "blackjack", "--sessions", "4")
      const { clients, full, wrong } = yield* python(file("python/openenv_client.py"), Clients, url, "100")
      assert.strictEqual(
        clients.reduce((sum, played) => sum + Object.keys(played).length, 0),
        100
      )
      assert.deepStrictEqual(clients[0], clients[1])
      assert.deepStrictEqual(clients[2], clients[3])
      const rewards = clients.flatMap((played) => Object.values(played).map(([reward]) => reward))
      assert.deepStrictEqual(new Set(rewards.map(Math.sign)), new Set([-1, 0, 1]))
      assert.include(wrong, "VALIDATION_ERROR")
      assert.include(full, "CAPACITY_REACHED")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live(
    "has Python's MCP client call tools over HTTP in the episode of its socket, and passes `openenv validate`",
    () =>
      Effect.gen(function* () {
        const url = yield* served("--env", "mcp", "--sessions", "1")
        const { answer, full, prompts, tools, wrong, ...rest } = yield* python(
          file("python/openenv_mcp.py"),
          Tools,
          url
        )
        assert.deepStrictEqual(rest, { steps: 2, end: [0, true], passed: true, mode: "simulation", failed: [] })
        assert.include(tools, "list_shelves")
        assert.isNotEmpty(answer)
        assert.strictEqual(prompts[0], prompts[1])
        assert.include(wrong, "there is no tool none")
        assert.include(full, "Server at capacity: 1/1")
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
