/** `atropos up --engine torch --sampler vllm`: a real vLLM, which the command starts, samples what PyTorch trains. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import * as Python from "../../../../core/test/Python.ts"
import * as Bin from "../../Bin.ts"
import * as Vllm from "./Vllm.ts"

const { isPresent } = Python.having("torch", "transformers", "peft")
const models = process.env["ATROPOS_TEST_MODELS"]
const isThere = isPresent && models !== undefined && Vllm.executable !== undefined
const absence = isThere
  ? ""
  : " (skipped: needs ATROPOS_TEST_VLLM, ATROPOS_TEST_MODELS, and ATROPOS_TEST_PYTHON with torch)"
const environment = fileURLToPath(new URL("ShareOfE.ts", import.meta.url))
const steps = 4

describe.skipIf(!isThere)(`up with vLLM as sampler${absence}`, () => {
  it.live("samples every step from the newest adapter, with the trainer's log-probabilities", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const training = `--engine torch --python ${Python.interpreter} --dtype float32 --lora.r 8 --steps ${steps} --threads 1`
      const sampling = "--seq_len 128 --batch_size 8 --env.group_size 4 --env.max_token_length 16 --sampler vllm"
      const words = [
        "up",
        "--env",
        environment,
        "--model",
        `${models}/smollm2-135m`,
        ...`${training} ${sampling} --vllm ${Vllm.executable!} --fresh --exit`.split(" "),
        "--vllm_args=--enforce-eager --no-enable-chunked-prefill"
      ]
      const { code, stderr } = yield* Bin.run(words, { cwd: folder, env: Vllm.onCpu })
      assert.strictEqual(code, 0, stderr)
      const [run = ""] = yield* fs.readDirectory(`${folder}/.atropos/up`)
      const text = yield* fs.readFileString(`${folder}/.atropos/up/${run}/metrics.jsonl`)
      const metrics = text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { readonly [name: string]: number })
      assert.deepStrictEqual(
        metrics.map((one) => one["train/policy_version"]),
        [1, 2, 3, 4]
      )
      for (const one of metrics) {
        // By the adapter's name.
        assert.deepStrictEqual([one["staleness/mean"], one["staleness/unknown"]], [0, 0])
        assert.isBelow(one["alignment/on_policy_diff"]!, 1e-3)
      }
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
