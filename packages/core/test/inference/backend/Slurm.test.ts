import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ServerSettings } from "@atropos/core"
import { ConfigProvider, Effect } from "effect"
import * as Slurm from "../../../src/inference/backend/Slurm.ts"

/** A folder with this `scontrol` in it, first on PATH (or all there is on PATH) while the scope is open. */
const scontrol = (script: string | undefined) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const path = process.env["PATH"]
      const folder = mkdtempSync(join(tmpdir(), "atropos-scontrol-"))
      if (script !== undefined) {
        writeFileSync(join(folder, "scontrol"), `#!/bin/sh\n${script}\n`)
        chmodSync(join(folder, "scontrol"), 0o755)
      }
      process.env["PATH"] = script === undefined ? folder : `${folder}${delimiter}${path}`
      return { folder, path }
    }),
    ({ folder, path }) =>
      Effect.sync(() => {
        process.env["PATH"] = path
        rmSync(folder, { recursive: true })
      })
  )

const environment = (variables: Record<string, string>) =>
  Effect.provide([NodeServices.layer, ConfigProvider.layer(ConfigProvider.fromUnknown(variables))])

// As Slurm's own: `scontrol show hostnames <list>`, a line per node.
const threeNodes = '[ "$1 $2 $3" = "show hostnames gpu[1-3]" ] && printf "gpu1\\ngpu2\\ngpu3\\n"'

describe("Slurm", () => {
  it.effect("finds eight servers on every node after the first", () =>
    Effect.gen(function* () {
      yield* scontrol(threeNodes)
      const urls = yield* Slurm.serverUrls.pipe(environment({ SLURM_JOB_NODELIST: "gpu[1-3]" }))
      assert.strictEqual(urls.length, 16)
      assert.deepStrictEqual(
        [urls[0], urls[7], urls[8]],
        ["http://gpu2:9000/v1", "http://gpu2:9007/v1", "http://gpu3:9000/v1"]
      )
    })
  )

  it.effect("counts training nodes and tensor parallelism from the environment", () =>
    Effect.gen(function* () {
      yield* scontrol(threeNodes)
      const urls = yield* Slurm.serverUrls.pipe(
        environment({ SLURM_JOB_NODELIST: "gpu[1-3]", NUM_TRAINING_NODES: "2", INFER_TP: "4" })
      )
      assert.deepStrictEqual(urls, ["http://gpu3:9000/v1", "http://gpu3:9001/v1"])
    })
  )

  it.effect("finds nothing outside a job and on a single node", () =>
    Effect.gen(function* () {
      yield* scontrol("echo gpu1")
      assert.deepStrictEqual(yield* Slurm.serverUrls.pipe(environment({})), [])
      assert.deepStrictEqual(yield* Slurm.serverUrls.pipe(environment({ SLURM_JOB_NODELIST: "gpu1" })), [])
    })
  )

  it.effect("says so when no node is left for inference", () =>
    Effect.gen(function* () {
      yield* scontrol(threeNodes)
      const error = yield* Slurm.serverUrls.pipe(
        environment({ SLURM_JOB_NODELIST: "gpu[1-3]", NUM_TRAINING_NODES: "3" }),
        Effect.flip
      )
      assert.include(error.message, "NUM_TRAINING_NODES is 3")
    })
  )

  it.effect("names the variable that is wrong", () =>
    Effect.gen(function* () {
      const error = yield* Slurm.serverUrls.pipe(
        environment({ SLURM_JOB_NODELIST: "gpu[1-3]", INFER_TP: "many" }),
        Effect.flip
      )
      assert.include(error.message, "INFER_TP")
    })
  )

  it.effect("passes on what a failing scontrol says", () =>
    Effect.gen(function* () {
      yield* scontrol('echo "Invalid hostlist" >&2; exit 1')
      const error = yield* Slurm.serverUrls.pipe(environment({ SLURM_JOB_NODELIST: "gpu[1-3]" }), Effect.flip)
      assert.include(error.message, "exited with 1: Invalid hostlist")
    })
  )

  it.effect("says so when there is no scontrol", () =>
    Effect.gen(function* () {
      yield* scontrol(undefined)
      const error = yield* Slurm.serverUrls.pipe(environment({ SLURM_JOB_NODELIST: "gpu[1-3]" }), Effect.flip)
      assert.include(error.message, "must be on PATH")
    })
  )
})

const urlsOf = ({ servers }: ServerSettings.Resolved) => servers.map(({ baseUrl }) => baseUrl)

describe("ServerSettings.resolve", () => {
  it.effect("uses an address that is given, Slurm or not", () =>
    Effect.gen(function* () {
      yield* scontrol(threeNodes)
      const resolved = yield* ServerSettings.resolve({ baseUrl: "http://here:8000/v1/" }, false).pipe(
        environment({ SLURM_JOB_NODELIST: "gpu[1-3]" })
      )
      assert.deepStrictEqual([resolved.origin, urlsOf(resolved)], ["given", ["http://here:8000/v1"]])
    })
  )

  it.effect("takes the first entry of a list as the template for Slurm's nodes", () =>
    Effect.gen(function* () {
      yield* scontrol(threeNodes)
      const resolved = yield* ServerSettings.resolve(
        [{ baseUrl: "http://dummy", modelName: "tiny", serverType: "vllm" }, { baseUrl: "http://other" }],
        true
      ).pipe(environment({ SLURM_JOB_NODELIST: "gpu[1-3]", INFER_TP: "8" }))
      assert.deepStrictEqual(
        [resolved.origin, urlsOf(resolved)],
        ["slurm", ["http://gpu2:9000/v1", "http://gpu3:9000/v1"]]
      )
      assert.isTrue(
        resolved.servers.every(({ modelName, serverType }) => modelName === "tiny" && serverType === "vllm")
      )
    })
  )

  it.effect("looks for Slurm's nodes where no address is given, and falls back to the local ports", () =>
    Effect.gen(function* () {
      yield* scontrol(threeNodes)
      const inJob = yield* ServerSettings.resolve(undefined, false).pipe(
        environment({ SLURM_JOB_NODELIST: "gpu[1-3]", INFER_TP: "8" })
      )
      assert.strictEqual(inJob.origin, "slurm")
      const outside = yield* ServerSettings.resolve({ modelName: "tiny", baseUrl: null }, false).pipe(environment({}))
      assert.deepStrictEqual(urlsOf(outside), [
        "http://localhost:9004/v1",
        "http://localhost:9005/v1",
        "http://localhost:9006/v1",
        "http://localhost:9007/v1"
      ])
      assert.isTrue(outside.servers.every(({ apiKey, modelName }) => modelName === "tiny" && apiKey === "x"))
    })
  )

  it.effect("keeps a list as it is on a single node", () =>
    Effect.gen(function* () {
      yield* scontrol("echo gpu1")
      const resolved = yield* ServerSettings.resolve(
        [{ baseUrl: "http://a/v1" }, { baseUrl: "http://b/v1" }],
        true
      ).pipe(environment({ SLURM_JOB_NODELIST: "gpu1" }))
      assert.deepStrictEqual(urlsOf(resolved), ["http://a/v1", "http://b/v1"])
    })
  )

  it.effect("gives the key of the environment to OpenAI's own service alone", () =>
    Effect.gen(function* () {
      const resolved = yield* ServerSettings.resolve(
        [{ baseUrl: null }, { baseUrl: "http://elsewhere/v1" }],
        false
      ).pipe(environment({ OPENAI_API_KEY: "sk-secret" }))
      assert.deepStrictEqual(
        resolved.servers.map(({ apiKey, baseUrl }) => [baseUrl, apiKey]),
        [
          ["https://api.openai.com/v1", "sk-secret"],
          ["http://elsewhere/v1", ""]
        ]
      )
    })
  )

  it("has the original's names and defaults", () => {
    assert.deepStrictEqual(ServerSettings.server.encode(ServerSettings.server.complete({})), {
      adapter_prefix: null,
      server_type: "openai",
      logprobs_mode: "auto",
      base_url: "",
      api_key: "",
      model_name: "default",
      tokenizer_name: "none",
      timeout: 1200,
      num_max_requests_at_once: 512,
      adaptive_concurrency: true,
      min_requests_at_once: 8,
      num_requests_for_eval: 64,
      rolling_buffer_length: 1000,
      n_kwarg_is_ignored: false,
      health_check: true
    })
    const {
      max_n_completions: most,
      slurm,
      testing
    } = ServerSettings.manager.encode(ServerSettings.manager.complete({}))
    assert.deepStrictEqual({ max: most, slurm, testing }, { max: 8, slurm: false, testing: false })
  })
})
