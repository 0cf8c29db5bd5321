/** `atropos atif`: saved groups become documents of ATIF or OpenEnv's training traces, and come back as they were. */
import { SavedGroup, type ScoredGroup, WireGroup } from "@atropos/core"
import { notSampled } from "@atropos/core/trajectory/Trajectory"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as InProcess from "./InProcess.ts"
import * as SampleGroups from "./sets/SampleGroups.ts"

const asked = SampleGroups.sum(7, [
  ["It is 14.", 1],
  ["No idea", -0.5]
])
const saved: ScoredGroup.ScoredGroup = {
  ...asked,
  inferenceLogprobs: asked.masks.map((mask) => Float32Array.from(mask, (bit, at) => (bit === 1 ? -at / 8 : notSampled)))
}

const groupsOf = (file: string) =>
  Effect.map(Stream.runCollect(SavedGroup.read(file)), (entries) =>
    entries.flatMap((entry) => (entry._tag === "Saved" ? [entry.group] : []))
  )

describe("ATIF documents of saved groups", () => {
  it.live("come back with the numbers and the content of a call as the model wrote them", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const written = '{"x":1.10,"y":-0,"z":1e5,"id":1234567890123456789,"w":0.1e-7,"10":1.0}'
      const chatOf = (content: string | null) => [
        { role: "user", content: "a" },
        {
          role: "assistant",
          content,
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: written } }]
        }
      ]
      const chats = [chatOf(""), chatOf(null)]
      writeFileSync(join(cwd, "groups.jsonl"), `${JSON.stringify({ scores: [1, 0.5], messages: chats })}\n`)
      const out = yield* InProcess.run(["atif", "groups.jsonl", "--out", "documents"])
      assert.deepStrictEqual([out.code, out.stdout.trim()], [0, "2 documents in documents"], out.stderr)
      const paths = [0, 1].map((at) => `documents/groups-1-${at}.json`)
      assert.include(readFileSync(join(cwd, paths[0]!), "utf8"), written)
      const back = yield* InProcess.run(["atif", ...paths, "--out", "back.jsonl"])
      assert.strictEqual(back.code, 0, back.stderr)
      const groups = yield* groupsOf(join(cwd, "back.jsonl"))
      assert.deepStrictEqual(
        groups.map(({ messages }) => messages?.[0]),
        chats
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe("training traces of saved groups", () => {
  it.live("are a document per sequence, and become the same sequences", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      writeFileSync(join(cwd, "groups.jsonl"), `${WireGroup.encode(saved)}\n`)
      const format = ["--format", "training-trace"]
      const out = yield* InProcess.run(["atif", "groups.jsonl", "--out", "traces", ...format])
      assert.deepStrictEqual([out.code, out.stdout.trim()], [0, "2 documents in traces"], out.stderr)
      const files = readdirSync(join(cwd, "traces")).toSorted()
      assert.deepStrictEqual(files, ["groups-1-0.json", "groups-1-1.json"])
      const [turn, ...others] = JSON.parse(readFileSync(join(cwd, "traces", files[0]!), "utf8")).turns
      assert.deepStrictEqual(others, [])
      const tokens = [...saved.tokens[0]!]
      assert.deepStrictEqual(
        [...turn.prompt_token_ids, ...turn.completion_token_ids],
        tokens.slice(0, turn.loss_mask.length)
      )
      const paths = files.map((file) => `traces/${file}`)
      const back = yield* InProcess.run(["atif", ...paths, "--out", "back.jsonl", ...format])
      assert.deepStrictEqual([back.code, back.stdout.trim()], [0, "2 groups in back.jsonl"], back.stderr)
      const groups = yield* groupsOf(join(cwd, "back.jsonl"))
      for (const [at, group] of groups.entries()) {
        assert.deepStrictEqual(group.tokens, [saved.tokens[at]!])
        assert.deepStrictEqual(group.masks, [saved.masks[at]!])
        assert.deepStrictEqual(group.inferenceLogprobs, [saved.inferenceLogprobs![at]!])
        assert.deepStrictEqual([...group.scores], [saved.scores[at]!])
      }
      assert.lengthOf(groups, 2)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("are named where they cannot be: a group without logprobs, a document of another format", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      writeFileSync(join(cwd, "plain.jsonl"), `${WireGroup.encode(asked)}\n`)
      const format = ["--format", "training-trace"]
      const without = yield* InProcess.run(["atif", "plain.jsonl", "--out", "traces", ...format])
      assert.strictEqual(without.code, 1)
      assert.match(without.stderr, /plain\.jsonl, line 1, sequence 0: .*logprob/)
      assert.isFalse(existsSync(join(cwd, "traces")))
      writeFileSync(join(cwd, "odd.json"), '{"steps": []}')
      const odd = yield* InProcess.run(["atif", "odd.json", "--out", "back.jsonl", ...format])
      assert.strictEqual(odd.code, 1)
      assert.match(odd.stderr, /odd\.json /)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
