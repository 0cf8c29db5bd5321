import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { type EnvironmentClient, ScoredGroup, Tokenizer, type TrajectoryClient, WireGroup } from "@atropos/core"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import { Effect, FileSystem, Option } from "effect"
import { randomUUID } from "node:crypto"
import * as TestStore from "../../../api/test/TestStore.ts"
import * as V0Server from "../../../api/test/v0/V0Server.ts"
import * as Ports from "../../../core/test/base/Ports.ts"
import * as Atropos from "../crash/Atropos.ts"
import * as Service from "../crash/Service.ts"
import * as InProcess from "../InProcess.ts"
import * as SampleGroups from "./SampleGroups.ts"

/** Four answers to the n-th question. */
const group = (n: number): EnvironmentClient.KeyedGroup => ({
  key: randomUUID(),
  group: SampleGroups.sum(n, [
    [`It is ${2 * n}.`, 1],
    ["Perhaps.", 0.5],
    ["I do not know.", 0],
    ["No.", -1]
  ])
})

/** A chat of three answers, the first `given` messages of which were not sampled. */
const talk = (given: number): ScoredGroup.ScoredGroup =>
  SampleGroups.group(
    given,
    ["8", "nine"].map((answer, index) => ({
      score: 1 - index / 2,
      chat: [
        { role: "system", content: "Answer briefly." },
        { role: "user", content: `What is ${given} + ${given}?` },
        { role: "assistant", content: "One moment." },
        { role: "user", content: "Well?" },
        { role: "assistant", content: answer },
        { role: "user", content: "Are you sure?" },
        { role: "assistant", content: `Yes, ${answer}.` }
      ]
    }))
  )

const batchSize = 8

/** A service in this process, and its client. */
const served = Effect.gen(function* () {
  const { env } = yield* Service.fastest.make
  const [, url = ""] = yield* Effect.flatMap(InProcess.start(["api", "--port", "0"], env), ({ says }) =>
    says(/trajectory service at (http:\/\/[\d.:]+)/)
  )
  return { url, client: yield* Service.clientOf(url) }
})

/** A run with a trainer and an environment, and the environment's id. */
const begin = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.gen(function* () {
    yield* register(client)
    yield* client.claim({ owner: "trainer", wait: 0, lease: "1 minute" })
    return Option.getOrThrow(yield* environment(client))
  })

const register = (client: TrajectoryClient.TrajectoryClient) =>
  client.registerRun({
    name: "default",
    batchSize,
    maxTokenLength: 2048,
    startingStep: 0,
    numSteps: 100,
    checkpointDir: "",
    saveCheckpointInterval: 0,
    wandbGroup: "",
    wandbProject: "theirs"
  })

const environment = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.map(
    client.registerEnvironment({
      desiredName: "sums",
      weight: 1,
      groupSize: 4,
      maxTokenLength: 2048,
      minBatchAllocation: null
    }),
    Option.map(({ envId }) => envId)
  )

const submit = (client: TrajectoryClient.TrajectoryClient, envId: number, from: number, count: number) =>
  client.submit(
    envId,
    Array.from({ length: count }, (_, index) => group(from + index))
  )

/** A batch, learned from. */
const train = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.gen(function* () {
    const batch = Option.getOrThrow(yield* client.claim({ owner: "trainer", wait: "5 minutes", lease: "1 minute" }))
    yield* client.ack(batch)
    return batch
  })

interface Row {
  readonly prompt: ReadonlyArray<{ readonly content: string }>
  readonly score: number
}

const rowsIn = (text: string): ReadonlyArray<Row> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** The questions that the rows answer, ascending. */
const questions = (rows: ReadonlyArray<Row>): ReadonlyArray<number> =>
  rows.map(({ prompt }) => Number(/\d+/.exec(prompt[1]!.content)?.[0])).sort((a, b) => a - b)

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

const fromService = (url: string) => ["--api-url", url, "--save-messages", "--format", "trl"]

layer(NodeServices.layer, { excludeTestServices: true })("data sets of a service", (it) => {
  it.effect("are read from consumed and queued groups alike, and neither the trainer nor a second reader notices", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const { client, url } = yield* served
      const envId = yield* begin(client)
      yield* submit(client, envId, 0, 6)
      yield* train(client)
      const before = yield* client.status(envId)
      const words = [...fromService(url), "--save-top-n-per-group", "1", "--no-follow"]
      const [one, other] = yield* Effect.all(
        [Atropos.run(["sft-gen", "-", ...words], { cwd }), InProcess.run(["sft-gen", "other.jsonl", ...words])],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([one.code, other.code], [0, 0])
      assert.deepStrictEqual(questions(rowsIn(one.out)), upTo(6))
      assert.strictEqual(yield* fs.readFileString("other.jsonl"), one.out)
      assert.deepStrictEqual(yield* client.status(envId), before)
      // The trainer goes on with the batches that it would have had.
      const next = yield* train(client)
      assert.strictEqual(next.step, 2)
      assert.strictEqual(
        next.groups.reduce((sum, one) => sum + ScoredGroup.size(one), 0),
        batchSize
      )
    })
  )

  it.effect("mark the same tokens as those of a saved file, in every format", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* InProcess.folder
      const { client, url } = yield* served
      const envId = yield* begin(client)
      // All three answers are sampled, or the last two.
      const groups = [2, 4].map((given) => talk(given))
      yield* client.submit(
        envId,
        groups.map((group) => ({ key: randomUUID(), group }))
      )
      yield* fs.writeFileString("saved.jsonl", groups.map((group) => `${WireGroup.encode(group)}\n`).join(""))
      const rows = Effect.fnUntraced(function* (source: ReadonlyArray<string>, words: ReadonlyArray<string>) {
        const run = yield* InProcess.run(["sft-gen", "set.jsonl", ...source, ...words])
        assert.strictEqual(run.code, 0, run.stderr)
        const text = yield* fs.readFileString("set.jsonl")
        yield* fs.remove("set.jsonl")
        return text.trim().split("\n").toSorted()
      })
      for (const format of ["original", "trl", "axolotl"]) {
        for (const form of [["--save-messages"], [], ["--text-from", "messages"]]) {
          const words = ["--format", format, "--tokenizer", "bytes", "--save-top-n-per-group", "2", ...form]
          const saved = yield* rows(["--from", "saved.jsonl"], words)
          assert.lengthOf(saved, 4)
          assert.deepStrictEqual(yield* rows(["--api-url", url, "--no-follow"], words), saved, words.join(" "))
        }
      }
    })
  )

  it.effect("are text by the tokenizer that groups record, as those of files are", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* InProcess.folder
      const { client, url } = yield* served
      const envId = yield* begin(client)
      const recorded = { ...talk(4), groupOverrides: { tokenizer: TokenizerIdentity.of(Tokenizer.bytes) } }
      yield* client.submit(envId, [{ key: randomUUID(), group: recorded }])
      const written = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
        const run = yield* InProcess.run(["sft-gen", "set.jsonl", "--api-url", url, "--no-follow", ...words])
        assert.strictEqual(run.code, 0, run.stderr)
        const text = yield* fs.readFileString("set.jsonl")
        yield* fs.remove("set.jsonl")
        return text
      })
      const text = yield* written([])
      assert.include(text, "Yes, nine.")
      assert.strictEqual(text, yield* written(["--tokenizer", "bytes"]))
    })
  )

  it.effect("follow a run, and after kill -9 go on so that every group is there once", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const { client, url } = yield* served
      const envId = yield* begin(client)
      yield* submit(client, envId, 0, 20)
      const words = [
        "sft-gen",
        "set.jsonl",
        ...fromService(url),
        "--save-top-n-per-group",
        "1",
        "--num-seqs-to-save",
        "50"
      ]
      const first = yield* Atropos.start(words, { cwd })
      yield* first.says("20/50 rows")
      yield* submit(client, envId, 20, 10)
      yield* first.says("30/50 rows")
      yield* first.kill
      assert.isFalse(yield* fs.exists("set.jsonl"))
      yield* submit(client, envId, 30, 12)
      const second = yield* InProcess.start(words)
      yield* second.says(/(3[1-9]|4[0-2])\/50 rows/)
      yield* submit(client, envId, 42, 8)
      const { code, stderr, stdout } = yield* second.ended
      assert.strictEqual(code, 0, stderr)
      assert.match(stderr, /resuming with \d+ rows of an earlier run/)
      assert.match(stdout, /rows +50/)
      const rows = rowsIn(yield* fs.readFileString("set.jsonl"))
      assert.deepStrictEqual(questions(rows), upTo(50))
      const left = (yield* fs.readDirectory(".")).filter((name) => name.startsWith("set"))
      assert.deepStrictEqual(left.sort(), ["set.jsonl", "set.jsonl.report.json"])
    })
  )

  it.effect("of a run that is not there, and of a service that is not there, say so", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const { client, url } = yield* served
      yield* begin(client)
      const unknown = yield* InProcess.run(["sft-gen", "set.jsonl", ...fromService(url), "--run", "other"])
      assert.strictEqual(unknown.code, 2)
      assert.include(unknown.stderr, "other (--run); runs: default")
      const nobody = `http://127.0.0.1:${yield* Ports.held}`
      const away = yield* InProcess.run(["sft-gen", "set.jsonl", ...fromService(nobody)])
      assert.strictEqual(away.code, 1)
      assert.include(away.stderr, "is unreachable")
    })
  )

  it.effect("of a service of the original are refused", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const url = `http://127.0.0.1:${yield* V0Server.port}`
      const refused = yield* InProcess.run(["sft-gen", "set.jsonl", ...fromService(url)])
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "no trajectory service with the /v1 API is there (the Python original has none)")
    }).pipe(Effect.provide(V0Server.layer(TestStore.layer)))
  )
})
