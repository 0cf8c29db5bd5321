/** docs/metrics.md has every name that is recorded, and no other. */
import * as EvaluationRun from "@atropos/core/rollout/EvaluationRun"
import * as GroupFilter from "@atropos/core/rollout/submit/GroupFilter"
import * as RolloutMetrics from "@atropos/core/rollout/RolloutMetrics"
import * as RolloutTable from "@atropos/core/rollout/RolloutTable"
import type { ScoredGroup, Trajectory } from "@atropos/core"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as StepMetrics from "../../src/run/StepMetrics.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

const group: ScoredGroup.ScoredGroup = {
  tokens: [Int32Array.of(1, 2), Int32Array.of(1, 2)],
  masks: [Uint8Array.of(0, 1), Uint8Array.of(0, 1)],
  scores: Float64Array.of(0, 1),
  solved: [false, true],
  rewards: [{ correct: 0 }, { correct: 1 }],
  policyVersions: [0, 0],
  generationParams: { temperature: 1 },
  groupOverrides: { gold: ["4"] },
  overrides: [{ parsed: "5" }, { parsed: "4" }]
}

const trajectory: Trajectory.Trajectory = {
  messages: [],
  completion: "",
  finishReason: "stop",
  tokens: Int32Array.of(1),
  mask: Uint8Array.of(1),
  sampling: { temperature: 0, topP: 1, topK: 0, minP: 0, logprobs: "raw" }
}

/** All that an environment's rollouts and evaluations can record. */
const ofEnvironments = Effect.gen(function* () {
  const metrics = RolloutMetrics.make("names")
  for (const reason of Object.keys(GroupFilter.reasons) as ReadonlyArray<GroupFilter.DropReason>)
    metrics.dropped(reason)
  metrics.rolledOut(group, { maxTokenLength: 10 })
  metrics.kept(group, 1)
  for (const outcome of ["succeeded", "succeeded", "failed", "failed"] as const) metrics.item(outcome, 1)
  const figures = {
    count: 1,
    failures: 0,
    retries: 0,
    inFlight: 0,
    limit: 8,
    tokensPerSecond: 1,
    healthy: true,
    server: "s"
  }
  const latencies = { latencyMean: 1, latencyStd: 0, latencyMax: 1, latencyP95: 1, latencyP99: 1 }
  const servers = (["train", "eval"] as const).map((split) => ({ ...figures, ...latencies, split }))
  const table = RolloutTable.make({ groups: 1, perGroup: 1, decode: () => "" })
  table.add(group)
  const answered = { trajectory, correct: true, score: 1, rewards: { correct: 1 } }
  const item = { item: "1", id: "1", trajectories: [answered, answered] }
  const evaluated = { items: [item, item], failures: [], seconds: 1 }
  return [
    ...Object.keys(metrics.take()),
    ...Object.keys(RolloutMetrics.serverFigures(servers)),
    ...Object.keys(EvaluationRun.metrics(evaluated)),
    Option.getOrThrow(yield* table.take).name
  ]
})

const ofTrainers: ReadonlyArray<string> = [
  ...Object.values(StepMetrics.wireNames),
  ...Object.values(StepMetrics.skippedNames)
]

/** Names as the document has them: whatever is counted or listed stands for all of its kind. */
const general = (name: string): string =>
  name
    .replace(/^server\/server_health_0_\d+/, "server/server_health_0_<i>")
    .replace(/^server\/server_\d+_eval_.*/, "server/server_<i>_eval_<figure>")
    .replace(/^server\/server_\d+_/, "server/server_<i>_")
    .replace(/^train\/items_rejected\/.*/, "train/items_rejected/<reason>")
    .replace(/^(eval\/)?reward\/correct$/, "$1reward/<component>")
    .replace(/pass@\d+/, "pass@<k>")
    .replace(/^(train_perf\/\w+_duration)_(mean|std|max|min)$/, "$1_<kind>")

const sources = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folders = ["core", "api", "envs", "trainer"].map((name) => `${root}packages/${name}/src`)
  const files = yield* Effect.forEach(folders, (folder) =>
    Effect.map(fs.readDirectory(folder, { recursive: true }), (names) => names.map((name) => `${folder}/${name}`))
  )
  return yield* Stream.fromIterable(files.flat().filter((file) => file.endsWith(".ts"))).pipe(
    Stream.mapEffect((file) => fs.readFileString(file), { concurrency: 16 }),
    Stream.runCollect
  )
})

const matches = (texts: ReadonlyArray<string>, pattern: RegExp): ReadonlyArray<string> =>
  texts.flatMap((text) => Array.from(text.matchAll(pattern), (found) => found[1]!))

/** The names in the first column of the document's tables below a heading. */
const documented = (text: string, heading: string): ReadonlyArray<string> => {
  const [, section = ""] = text.split(`### ${heading}\n`)
  return matches(matches([section.split(/\n##/)[0]!], /^\| (`[^|]+`) \|/gm), /`([^`]+)`/g)
}

const same = (actual: Iterable<string>, expected: Iterable<string>) =>
  assert.deepStrictEqual([...new Set(actual)].sort(), [...new Set(expected)].sort())

describe("docs/metrics.md", () => {
  it.live("has every figure of environments and trainers, and no other", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const text = yield* fs.readFileString(`${root}docs/metrics.md`)
      // Those of helpers that environments use, by the names in their sources.
      const further = matches(
        yield* sources,
        /"((?:answer_format|curriculum|queue|judge|math|opponent|openenv|python|agent)\/\w+)"/g
      )
      // Named by the package as it runs (`PackageMetrics`).
      const packaged = ["verifiers/<metric>", "verifiers/<seat>/<metric>"]
      same(documented(text, "Environments"), [...(yield* ofEnvironments).map(general), ...further, ...packaged])
      same(documented(text, "Trainers"), ofTrainers)
      for (const reason of Object.keys(GroupFilter.reasons)) assert.include(text, `\`${reason}\``)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("has every metric of a process, as Prometheus calls it, and no other", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const text = yield* fs.readFileString(`${root}docs/metrics.md`)
      const code = yield* sources
      const own = matches(code, /Metric\.(?:counter|gauge|histogram)\(\s*"([\w.]+)"/g).map((name) =>
        name.replaceAll(".", "_")
      )
      const texts = matches(code, /"((?:atropos_(?:run|queue|batches|reported|metrics|event)|process)_\w+)"/g)
      for (const counter of matches(code, /Metric\.counter\(\s*"([^"]+)"/g))
        assert.match(counter, /^atropos(\.[a-z_]+)+\.total$/)
      const policy = matches(code, /^ {2}\[\s*"(\w+)",\s*"(?:gauge|counter)",/gm).map(
        (name) => `atropos_policy_${name}`
      )
      same(documented(text, "Processes"), [...own, ...texts, ...policy, "atropos_<name>"])
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
