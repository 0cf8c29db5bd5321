/** A policy server and an environment whose tokenizers differ, or are the same without being named. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "../Bin.ts"

const model = fileURLToPath(new URL("../../../trainer/test/fixtures/models/qwen2", import.meta.url))
const modules = fileURLToPath(new URL("../../../../node_modules", import.meta.url))

const agent = `
import { defineAgent } from "@atropos/envs"

export default defineAgent({
  name: "short",
  settings: { tokenizerName: { default: "bytes", description: "the policy's tokenizer" } },
  items: () => [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  run: async ({ model }) => {
    const response = await fetch(model.baseURL + "/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: model.name, messages: [{ role: "user", content: "hi" }], max_tokens: 8 })
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()).choices[0].message.content
  },
  score: ({ result }) => result.length
})
`

const policyOf = Effect.fnUntraced(function* (cwd: string) {
  const policy = yield* Bin.start(["policy", "--model", model, "--port", "0"], { cwd })
  const [said] = yield* policy.stdout.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line.startsWith("policy ")),
    Stream.runHead,
    Effect.map(Option.toArray)
  )
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said ?? "") ?? assert.fail(said)
  return url
})

describe("the tokenizer of a policy server", () => {
  it.live("is used by an environment that names none, is recorded with its groups, and no other one passes", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Bin.folder
      yield* fs.symlink(modules, `${cwd}/node_modules`)
      yield* fs.writeFileString(`${cwd}/short.ts`, agent)
      const url = yield* policyOf(cwd)
      const words = ["--env", "./short.ts", "--openai.base_url", `${url}/v1`, "--env.group_size", "2"]
      const more = [
        "--env.total_steps",
        "2",
        "--env.ensure_scores_are_not_same",
        "false",
        "--env.include_messages",
        "true"
      ]

      const rolled = yield* Bin.run(["process", ...words, ...more, "--env.data_path_to_save_groups", "groups.jsonl"], {
        cwd
      })
      assert.strictEqual(rolled.code, 0, rolled.stderr)
      const [line = ""] = (yield* fs.readFileString(`${cwd}/groups.jsonl`)).split("\n")
      assert.strictEqual(JSON.parse(line).group_overrides.tokenizer.name, model)

      const other = yield* Bin.run(
        [
          "process",
          ...words,
          ...more,
          "--env.tokenizer_name",
          "bytes",
          "--env.data_path_to_save_groups",
          "other.jsonl"
        ],
        { cwd }
      )
      assert.strictEqual(other.code, 1, other.stdout)
      assert.include(other.stderr, `the tokenizer of ${model}, but prompts are encoded with bytes`)

      const set = ["sft-gen", "sft.jsonl", "--from", "groups.jsonl", "--allow-negative-scores"]
      const wrong = yield* Bin.run([...set, "--tokenizer", "bytes"], { cwd })
      assert.strictEqual(wrong.code, 1, wrong.stdout)
      assert.include(wrong.stderr, `were tokenized with ${model}, not with bytes`)
      const right = yield* Bin.run(set, { cwd })
      assert.strictEqual(right.code, 0, right.stderr)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
