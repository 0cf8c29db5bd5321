/**
 * OpenEnv both ways, beyond long/OpenEnv.test.ts: its MCP client and `openenv validate` on `atropos openenv`, `atropos
 * up` on a server of the Python package, TRL's `GRPOTrainer` on `atropos openenv` by `environment_factory`.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { having, interpreter } from "../../../core/test/Python.ts"
import * as Bin from "../Bin.ts"
import * as ModelFolders from "../ModelFolders.ts"
import { file, python, served } from "../long/OpenEnvServed.ts"

const openEnv = having("openenv")
const trl = having("openenv", "trl", "torch")

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

const Trained = Schema.Struct({
  steps: Schema.Int,
  logs: Schema.Array(Schema.Record(Schema.String, Schema.Finite)),
  rewards: Schema.Array(Schema.Finite),
  change: Schema.Finite
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

describe.skipIf(!trl.isPresent)(`OpenEnv${trl.absence}`, () => {
  it.live("has TRL train five steps on ours by environment_factory", () =>
    Effect.gen(function* () {
      const url = yield* served("--env", "blackjack")
      const trained = yield* python(file("python/openenv_trl.py"), Trained, url, yield* Bin.folder)
      assert.strictEqual(trained.steps, 5)
      assert.lengthOf(trained.logs, 5)
      assert.isAbove(trained.change, 0)
      // A game that the policy left is worth 0 to TRL, and nothing to the server.
      const logged = trained.logs.reduce((sum, log) => sum + 8 * log["reward"]!, 0)
      assert.closeTo(
        logged,
        trained.rewards.reduce((sum, reward) => sum + reward, 0),
        1e-4
      )
      assert.isAbove(trained.rewards.length, 10)
      assert.isTrue(trained.logs.some((log) => log["reward_std"]! > 0))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe.skipIf(!openEnv.isPresent)(`OpenEnv's servers${openEnv.absence}`, () => {
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
