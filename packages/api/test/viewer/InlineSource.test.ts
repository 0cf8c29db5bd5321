import { assert, describe, it } from "@effect/vitest"
import { gzipSync } from "node:zlib"
import * as GroupFigures from "@atropos/api/rollout/GroupFigures"
import * as PackedPage from "@atropos/api/rollout/PackedPage"
import { TrajectoryApi } from "@atropos/core"
import { Schema } from "effect"
import * as OrderedGroups from "../store/OrderedGroups.ts"
import * as InlineSource from "../../viewer/src/source/InlineSource.ts"
import { SourceError } from "../../viewer/src/source/Source.ts"
import type { RolloutQuery, RolloutRow, StaticData } from "../../viewer/src/source/Wire.ts"

const row = (id: number, fields: Partial<RolloutRow> = {}): RolloutRow => ({
  id: String(id),
  environment: id % 2 === 0 ? "even" : "odd",
  env_id: 0,
  step: id,
  state: "consumed",
  created_at: 0,
  sequences: 2,
  tokens: 4,
  scores: [0, id / 10],
  policy_step: null,
  preview: null,
  figures: null,
  ...fields
})

const group = (content: string) => ({ tokens: [[1]], scores: [0], messages: [[{ role: "user", content }]] })

const data: StaticData = {
  title: "Saved",
  runs: [
    {
      name: "a",
      rows: [5, 4, 3, 2, 1].map((id) => row(id, id === 1 ? { step: null } : {})),
      groups: { 5: group("Five apples, says Liam."), 4: group("four pears"), 3: group("LIAM says nothing") },
      pieces: { 7: "x" },
      metrics: [1, 2, 3].map((id) => ({
        id: String(id),
        source: id === 2 ? "even" : "trainer",
        step: id,
        at: 0,
        values: { loss: id }
      }))
    },
    { name: "b", rows: [], groups: {} }
  ]
}

const packed = (value: unknown) => gzipSync(JSON.stringify(value)).toString("base64")

const ids = async (query: Parameters<ReturnType<typeof InlineSource.make>["browse"]>[1]) => {
  const { rows } = await InlineSource.make(data).browse("a", query)
  return rows.map(({ id }) => id).join("")
}

const kind = (asked: Promise<unknown>) =>
  asked.then(
    () => "came",
    (cause: unknown) => (cause instanceof SourceError ? cause.kind : "other")
  )

const encodeQuery = Schema.encodeSync(TrajectoryApi.RolloutQuery)
const encodeFigures = Schema.encodeSync(TrajectoryApi.GroupFigures)

describe("groups of a saved page", () => {
  it("are filtered and ordered as the service does", async () => {
    const rows = OrderedGroups.groups.map((group, at) =>
      row(at + 1, {
        scores: Array.from(group.scores),
        environment: null,
        figures: encodeFigures(GroupFigures.ofScoredGroup(group))
      })
    )
    const source = InlineSource.make({ title: "", runs: [{ name: "a", rows: rows.toReversed(), groups: {} }] })
    for (const [asked, expected] of OrderedGroups.questions) {
      const found: Array<number> = []
      for (let before: string | null | undefined; before !== null;) {
        const page = await source.browse("a", {
          ...encodeQuery(asked),
          ...(before !== undefined && { before }),
          limit: 2
        })
        found.push(...page.rows.map(({ id }) => Number(id)))
        before = page.next
      }
      assert.deepStrictEqual(found, [...expected], JSON.stringify(asked))
    }
  })
})

describe("groups of a page with steps", () => {
  it("are ordered by staleness, state and item, and bounded by staleness", async () => {
    const rows = [
      row(1, { step: 4, policy_step: 3, item_id: "c" }),
      row(2, { step: 5, policy_step: 1, item_id: "a", state: "leased" }),
      row(3, { step: null, policy_step: 0, item_id: "b", state: "queued" }),
      row(4, { step: null, state: "queued" })
    ]
    const source = InlineSource.make({ title: "", runs: [{ name: "a", rows: rows.toReversed(), groups: {} }] })
    const found = async (query: RolloutQuery) => (await source.browse("a", query)).rows.map(({ id }) => id).join("")
    assert.strictEqual(await found({ sort: "staleness" }), "2143")
    assert.strictEqual(await found({ sort: "staleness", order: "ascending" }), "1243")
    assert.strictEqual(await found({ sort: "state" }), "1243")
    assert.strictEqual(await found({ sort: "item", order: "ascending" }), "2314")
    assert.strictEqual(await found({ staleness_from: 2 }), "2")
    assert.strictEqual(await found({ staleness_to: 1 }), "1")
    assert.strictEqual(await found({ item: "b" }), "3")
  })
})

describe("InlineSource", () => {
  it("reads what a page carries", async () => {
    const source = await InlineSource.open(packed(data))
    assert.isFalse(source.isLive)
    assert.strictEqual(source.title, "Saved")
    assert.deepStrictEqual(
      (await source.runs()).map(({ current_step, name }) => [name, current_step]),
      [
        ["a", 5],
        ["b", 0]
      ]
    )
    assert.deepStrictEqual(await source.pieces("a", [7]), { 7: "x" })
    assert.deepStrictEqual((await source.rollout("a", "4")).group, group("four pears"))
    assert.deepStrictEqual(await source.environmentNames("a"), ["odd", "even"])
  })

  it("unpacks groups when they are looked at or searched", async () => {
    const writer = PackedPage.writer()
    const long = "a word ".repeat(1000)
    const group = {
      tokens: [[5, 6, 5]],
      masks: [[-100, 6, 5]],
      scores: [1],
      messages: [[{ role: "user", content: `${long}tangerine` }]],
      inference_logprobs: [[1, -0.5, -0.25]]
    }
    const packedGroup = {
      ...group,
      tokens: writer.tokens(group.tokens),
      masks: writer.masks(group.masks, group.tokens),
      messages: writer.texts(group.messages),
      inference_logprobs: writer.decimals(group.inference_logprobs)
    }
    const { high, ids, low } = writer.take()
    const page = {
      title: "",
      runs: [{ name: "a", rows: [row(1)], groups: { 1: packedGroup } }],
      tables: writer.tables()
    }
    const columns = [ids, high, low].map((bytes) => gzipSync(bytes).toString("base64"))
    const source = await InlineSource.open([packed(page), ...columns].join("\n"))
    assert.deepStrictEqual((await source.rollout("a", "1")).group, group)
    assert.lengthOf((await source.browse("a", { text: "tangerine" })).rows, 1)
    assert.lengthOf((await source.browse("a", { text: "peach" })).rows, 0)
    const problem = await InlineSource.open([packed(page), ...columns.slice(1)].join("\n")).catch(String)
    assert.include(problem, "is the file complete?")
  })

  it("says of a page that was cut short what is wrong", async () => {
    for (const text of [packed(data).slice(0, 80), "%%%", packed("no runs").slice(4)]) {
      const problem = await InlineSource.open(text).then(
        () => null,
        (cause: unknown) => cause
      )
      assert.instanceOf(problem, SourceError)
      assert.include(problem.message, "Cannot read the rollouts")
    }
  })

  it("pages through the rows, and tells the total on the first page only", async () => {
    const source = InlineSource.make(data)
    const first = await source.browse("a", { limit: 2 })
    assert.deepStrictEqual([first.rows.map(({ id }) => id), first.next, first.total], [["5", "4"], "4", 5])
    const second = await source.browse("a", { limit: 2, before: first.next! })
    assert.deepStrictEqual([second.rows.map(({ id }) => id), second.next, second.total], [["3", "2"], "2", null])
    const last = await source.browse("a", { limit: 2, before: second.next! })
    assert.deepStrictEqual([last.rows.map(({ id }) => id), last.next], [["1"], null])
  })

  it("filters as the service does: bounds are included, the score is the mean, no step is in no range", async () => {
    assert.strictEqual(await ids({ environment: "even" }), "42")
    assert.strictEqual(await ids({ step_to: 3 }), "32")
    assert.strictEqual(await ids({ score_from: 0.15, score_to: 0.2 }), "43")
  })

  it("finds words by their beginnings and phrases by whole words", async () => {
    assert.strictEqual(await ids({ text: "liam say" }), "53")
    assert.strictEqual(await ids({ text: '"says liam"' }), "5")
    assert.strictEqual(await ids({ text: '"says lia"' }), "")
    assert.strictEqual(await ids({ text: "iam" }), "")
    assert.strictEqual(await ids({ text: "user" }), "")
  })

  it("gives metrics after a row, of a source, from a step on", async () => {
    const source = InlineSource.make(data)
    const steps = async (query: object) => (await source.metrics("a", query)).metrics.map(({ step }) => step)
    assert.deepStrictEqual(await steps({}), [1, 2, 3])
    assert.deepStrictEqual(await steps({ after: "1", source: "trainer" }), [3])
    assert.deepStrictEqual(await steps({ from_step: 3 }), [3])
  })

  it("has no service's things, nor runs and groups it was not given", async () => {
    const source = InlineSource.make(data)
    assert.strictEqual(await kind(source.batches("a")), "static")
    assert.strictEqual(await kind(source.browse("c", {})), "not-found")
    assert.strictEqual(await kind(source.rollout("a", "9")), "not-found")
  })
})
