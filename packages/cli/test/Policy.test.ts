/** `atropos policy` as a process of its own, on a small model saved by `transformers` with an adapter saved by PEFT. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, Stream } from "effect"
import OpenAI from "openai"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"

const model = fileURLToPath(new URL("../../trainer/test/fixtures/models/qwen2", import.meta.url))

describe("atropos policy", () => {
  it.live("serves a model with its adapter, says where, and ends when it is told to", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const named = ["--served_model_name", "tiny", "--port", "0"]
      const policy = yield* Bin.start(["policy", "--model", model, "--adapter", `${model}/adapter`, ...named], { cwd })
      const said = yield* policy.stdout.pipe(
        Stream.decodeText,
        Stream.splitLines,
        Stream.filter((line) => line.startsWith("policy ")),
        Stream.runHead,
        Effect.map(Option.getOrElse(() => "it said nothing"))
      )
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? assert.fail(said)
      const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 })
      const answer = yield* Effect.promise(() =>
        openai.chat.completions.create({ model: "tiny", messages: [{ role: "user", content: "hi" }], max_tokens: 4 })
      )
      assert.isAtMost(answer.usage!.completion_tokens, 4)
      assert.strictEqual(answer.model, "tiny")
      const models = yield* Effect.promise(() => openai.models.list())
      assert.deepStrictEqual(
        models.data.map(({ id }) => id),
        ["tiny"]
      )
      const loaded = yield* Effect.promise(() =>
        fetch(`${url}/v1/load_lora_adapter`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ lora_name: "policy-v2", lora_path: `${model}/adapter` })
        })
      )
      assert.deepStrictEqual([loaded.status, loaded.headers.get("x-policy-version")], [200, "2"])
      yield* policy.kill({ killSignal: "SIGINT" })
      assert.strictEqual(Number(yield* policy.exitCode), 130)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("is refused as a target of all weights before anything is trained, since it takes adapters", () =>
    Effect.gen(function* () {
      const target = "policy+http://127.0.0.1:9"
      const words = ["train", "--model", model, "--trains", "all", "--weight_sync", JSON.stringify([target])]
      const { code, stderr } = yield* InProcess.run(words)
      assert.strictEqual(code, 2)
      assert.include(stderr, `--weight_sync: ${target} takes adapters only, but all weights are trained`)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says what to do with an adapter's folder and with a GGUF file", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Bin.folder
      for (const command of ["policy", "train", "up"]) {
        const adapter = yield* InProcess.run([command, "--model", `${model}/adapter`])
        assert.deepStrictEqual([adapter.code, adapter.stdout], [2, ""])
        assert.match(
          adapter.stderr,
          /adapter contains an adapter \(PEFT\), not a full model: --model \S+ --adapter \S+adapter/
        )
      }
      yield* fs.writeFileString(`${cwd}/m.gguf`, "GGUF")
      for (const given of [`${cwd}/m.gguf`, cwd]) {
        const { stderr } = yield* InProcess.run(["policy", "--model", given, "--port", "0"])
        assert.match(stderr, /GGUF file.*, which is not supported: give the safetensors folder/)
        assert.include(stderr, "llama-server -m FILE")
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("says what is wrong with a model in one line", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const { code, stderr } = yield* InProcess.run(["policy", "--model", cwd, "--port", "0"])
      assert.strictEqual(code, 2)
      assert.include(stderr, "config.json")
      assert.notInclude(stderr, "    at ")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
