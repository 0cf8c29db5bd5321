import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { ScoredGroup, TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, FileSystem, Option, Path } from "effect"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

layer(NodeServices.layer, { excludeTestServices: true })("the atropos command", (it) => {
  it.effect("shows help without loading what only some verbs need", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const cwd = yield* Bin.folder
      const report = path.join(cwd, "loaded.txt")
      const { code, stdout } = yield* Bin.run(["--help"], {
        cwd,
        node: ["--import", Bin.loadedModules],
        env: { LOADED_MODULES: report }
      })
      assert.strictEqual(code, 0)
      for (const verb of ["up", "api", "serve", "process", "evaluate", "validate", "envs", "doctor"]) {
        assert.match(stdout, new RegExp(`^  ${verb} `, "m"))
      }
      const loaded = lines(yield* fs.readFileString(report))
      assert.isAbove(loaded.length, 10)
      const heavy =
        /node_modules\/(openai|@electric-sql|@huggingface|hyparquet|@cortex-js|onnxruntime|@effect\/sql-pg|yaml)\/|packages\/(api|core|envs)\/(?!src\/base\/(?:ConsoleLines|Nearest|Reason|StackFrames|StrayErrors)\.ts)/
      assert.deepStrictEqual(
        loaded.filter((url) => heavy.test(url)),
        []
      )
    })
  )

  it.effect("exits with 2 for a wrong flag, a wrong verb and a typo in a file, and names what was meant", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      yield* fs.writeFileString(`${cwd}/run.yaml`, "env:\n  largest: 5\n  totl_steps: 3\n")
      const flag = yield* Bin.run(["process", "--env", "arithmetic-stories", "--env.grop_size", "3"], { cwd })
      const verb = yield* InProcess.run(["proces"])
      const file = yield* InProcess.run(["process", "--env", Bin.myEnvironment, "--config", "run.yaml"])
      assert.deepStrictEqual([flag.code, verb.code, file.code], [2, 2, 2])
      assert.include(flag.stderr, '--env.grop_size; did you mean "--env.group_size"?')
      assert.include(verb.stderr, 'did you mean "process"?')
      assert.include(file.stderr, 'run.yaml:3: unknown setting "env.totl_steps"; did you mean "total_steps"?')
      for (const { stderr } of [flag, verb, file]) assert.notInclude(stderr, "    at ")
    })
  )

  it.effect("keeps a key out of everything it writes", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const key = "sk-secret-0123456789"
      const words = ["--env", Bin.myEnvironment, "--openai.api_key", key]
      const evaluated = yield* InProcess.run(["evaluate", ...words, "--testing"])
      const server = ["--openai.base_url", `http://127.0.0.1:9/${key}/v1`, "--server_wait", "0.1"]
      const failed = yield* InProcess.run(["evaluate", ...words, ...server, "--max_attempts", "1"])
      assert.deepStrictEqual([evaluated.code, failed.code], [0, 1])
      const config = yield* fs.readFileString(`${cwd}/data/repeat-evaluation/evaluate_config.yaml`)
      assert.include(config, "model_name: default")
      for (const text of [config, evaluated.stdout, evaluated.stderr, failed.stdout, failed.stderr])
        assert.notInclude(text, key)
      assert.include(failed.stderr, "http://127.0.0.1:9/***/v1")
    })
  )

  it.effect("serves an environment to a service of its own, from which a trainer takes exact batches", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const api = yield* InProcess.start(["api", "--port", "0"])
      const [, url = ""] = yield* api.says(/trajectory service at (http:\S+)/)
      const serving = yield* InProcess.start(
        ["serve", "--env", Bin.myEnvironment, "--testing", "--env.rollout_server_url", url]
          .concat(["--env.total_steps", "2", "--env.ensure_scores_are_not_same", "False"])
          .concat(["--env.max_num_workers", "2"])
      )
      const steps = yield* Effect.gen(function* () {
        const trainer = yield* TrajectoryClient.all
        yield* trainer.registerRun({
          name: "default",
          batchSize: 8,
          maxTokenLength: 2048,
          startingStep: 0,
          numSteps: 2,
          checkpointDir: "",
          saveCheckpointInterval: 0,
          wandbGroup: "",
          wandbProject: ""
        })
        return yield* Effect.forEach([0, 1], () =>
          Effect.gen(function* () {
            const batch = Option.getOrThrow(
              yield* trainer.claim({ owner: "test", wait: "5 minutes", lease: "1 minute" })
            )
            yield* trainer.ack(batch)
            return [batch.step, batch.groups.reduce((sum, group) => sum + ScoredGroup.size(group), 0)]
          })
        )
      }).pipe(Effect.provide(TrajectoryClientHttp.layer({ url })))
      assert.deepStrictEqual(steps, [
        [1, 8],
        [2, 8]
      ])
      const { code, stdout } = yield* serving.ended
      assert.strictEqual(code, 0)
      assert.match(stdout, /environment +repeat/)
    })
  )
})
