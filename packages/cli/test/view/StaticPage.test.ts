import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as PackedPage from "@atropos/api/rollout/PackedPage"
import * as ViewerPage from "@atropos/api/ViewerPage"
import { Tokenizer, Trajectory, WireGroup } from "@atropos/core"
import { Effect, FileSystem, Option, type Scope } from "effect"
import { gunzipSync } from "node:zlib"
import * as StaticPage from "../../src/view/StaticPage.ts"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as SampleGroups from "../sets/SampleGroups.ts"

const template =
  '<!doctype html><title>viewer</title><script id="atropos-data" type="application/octet-stream"></script><p>ü$&</p>'

/** What a page carries, its groups unpacked. */
const dataOf = (html: string) => {
  const carried = /id="atropos-data"[^>]*>([^<]*)</.exec(html)?.[1] ?? ""
  const parts = carried.trim().split("\n")
  const [json, ids, high, low] = parts.map((part) => gunzipSync(Buffer.from(part, "base64")))
  assert.lengthOf(parts, 4)
  const data = JSON.parse(json!.toString())
  const unpack = PackedPage.reader(data.tables, { ids: ids!, high: high!, low: low! })
  for (const { groups } of data.runs) for (const id of Object.keys(groups)) groups[id] = unpack(groups[id])
  return data
}

const write = Effect.fnUntraced(function* (
  folder: string,
  files: { readonly [name: string]: string },
  tokenizer: Option.Option<Tokenizer.TokenizerShape> = Option.none()
) {
  const fs = yield* FileSystem.FileSystem
  for (const [name, content] of Object.entries(files)) yield* fs.writeFileString(`${folder}/${name}`, content)
  yield* fs.writeFileString(`${folder}/viewer.html`, template)
  const faults: Array<string> = []
  const out = `${folder}/out.html`
  const written = yield* StaticPage.write({
    title: "a title",
    files: Object.keys(files).map((name) => `${folder}/${name}`),
    out,
    tokenizer,
    onFault: (fault) => Effect.sync(() => void faults.push(fault)),
    onNote: (note) => Effect.sync(() => void faults.push(note))
  }).pipe(Effect.provideService(ViewerPage.PageFile, `${folder}/viewer.html`))
  return { written, faults, html: yield* fs.readFileString(out) }
})

const test = (name: string, run: Effect.Effect<void, unknown, NodeServices.NodeServices | Scope.Scope>) =>
  it.effect(name, () => run.pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

describe("a page of saved groups", () => {
  test(
    "has the samples of an evaluation, as `evaluate` writes them",
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const fs = yield* FileSystem.FileSystem
      const asked = ["evaluate", "--env", "sort-letters", "--testing", "--env.evaluation_items", "64"]
      const { code, stderr, stdout } = yield* InProcess.run([...asked, "--env.data_dir_to_save_evals", "evals"])
      assert.strictEqual(code, 0, stderr)
      assert.include(stdout, "a score of 1, the maximum")
      const samples = yield* fs.readFileString(`${cwd}/evals/samples.jsonl`)
      const { faults, html, written } = yield* write(cwd, { "samples.jsonl": samples })
      assert.strictEqual(written.groups, 64)
      assert.deepStrictEqual(faults, [])
      const [first] = Object.values<{ readonly messages: ReadonlyArray<unknown> }>(dataOf(html).runs[0].groups)
      assert.lengthOf(first!.messages, 1)
    })
  )

  test(
    "has the components of scores, beside what else is said of a sequence",
    Effect.gen(function* () {
      const line = JSON.stringify({
        tokens: [
          [1, 2],
          [1, 3]
        ],
        masks: [
          [-100, 2],
          [-100, 3]
        ],
        scores: [1.5, 0],
        messages: [[{ role: "assistant", content: "a" }], [{ role: "assistant", content: "b" }]],
        overrides: [
          { session: 0, rewards: { correct: 1, brief: 0.5 } },
          { session: 1, rewards: { correct: 0, brief: 0 } }
        ]
      })
      const { faults, html } = yield* write(yield* Bin.folder, { "a.jsonl": `${line}\n` })
      assert.deepStrictEqual(faults, [])
      const [group] = Object.values<{ readonly overrides: unknown }>(dataOf(html).runs[0].groups)
      assert.deepStrictEqual(group!.overrides, [
        { session: 0, rewards: { correct: 1, brief: 0.5 } },
        { session: 1, rewards: { correct: 0, brief: 0 } }
      ])
    })
  )

  test(
    "is the viewer's page with the groups in it, a run for each file, and the text of their tokens",
    Effect.gen(function* () {
      const folder = yield* Bin.folder
      const files = { "a.jsonl": SampleGroups.lines(2), "b c.jsonl": SampleGroups.lines(1, 5) }
      const { html, written } = yield* write(folder, files, Option.some(Tokenizer.bytes))
      assert.isTrue(html.startsWith(template.slice(0, template.indexOf("</script>"))))
      assert.isTrue(html.endsWith("</script><p>ü$&</p>"))
      assert.deepInclude(written, { groups: 3, leftOut: 0, bytes: Buffer.byteLength(html) })
      const data = dataOf(html)
      assert.strictEqual(data.title, "a title")
      assert.deepStrictEqual(
        data.runs.map(({ name }: { readonly name: string }) => name),
        ["a", "b-c"]
      )
      const [run] = data.runs
      assert.deepStrictEqual(
        run.rows.map(({ id }: { readonly id: string }) => id),
        ["2", "1"]
      )
      assert.deepInclude(run.rows[0], { id: "2", scores: [1, 0.5, 0, -1], preview: "What is 1 + 1?", sequences: 4 })
      assert.deepStrictEqual(run.groups["2"].scores, [1, 0.5, 0, -1])
      const group = JSON.parse(SampleGroups.lines(1, 1))
      for (const key of ["tokens", "masks", "messages"]) assert.deepStrictEqual(run.groups["2"][key], group[key])
      assert.strictEqual(run.pieces["257"], "<|im_start|>")
    })
  )

  test(
    "tells lines that are no groups, and rounds what is only looked at",
    Effect.gen(function* () {
      const sample = SampleGroups.sum(1, [["yes", 1]])
      const group = {
        ...sample,
        inferenceLogprobs: sample.tokens.map((row) => Float32Array.from(row, () => -0.123456789))
      }
      const line = WireGroup.encode(group).replace("{", '{"seed":1,')
      const { faults, html } = yield* write(yield* Bin.folder, { "a.jsonl": `{\n${line}\n${line}\n` })
      assert.lengthOf(faults, 2)
      assert.match(faults[0] ?? "", /a\.jsonl, line 1: is not JSON/)
      assert.match(
        faults[1] ?? "",
        /a\.jsonl, line 2: unknown fields of a group, ignored .*: seed \(known: tokens, masks, scores/
      )
      assert.strictEqual(dataOf(html).runs[0].groups["2"].inference_logprobs[0][0], -0.123)
    })
  )

  test(
    "has tokens and logprobs in less than four bytes a token",
    Effect.gen(function* () {
      let state = 1
      const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
      // Ids as rare as words are; most tokens all but certain, as models sample them.
      const id = () => Math.floor(2000 ** random())
      const logprob = () => (random() < 0.5 ? -(10 ** (-5 * random())) : Math.log(random() + 1e-4))
      const groups = Array.from({ length: 5 }, () => {
        const tokens = Array.from({ length: 8 }, () => Int32Array.from({ length: 1000 }, id))
        return WireGroup.encode({
          tokens,
          masks: tokens.map(({ length }) => Trajectory.maskFrom(200, length)),
          scores: Float64Array.from({ length: 8 }, () => 1),
          inferenceLogprobs: tokens.map((row) =>
            Float32Array.from(row, (_, at) => (at < 200 ? Trajectory.notSampled : logprob()))
          )
        })
      })
      const { written } = yield* write(yield* Bin.folder, { "a.jsonl": `${groups.join("\n")}\n` })
      assert.strictEqual(written.groups, 5)
      assert.isBelow(written.bytes, 4 * 5 * 8 * 1000)
    })
  )

  test(
    "is written again over another page, and over nothing else",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      yield* write(folder, { "a.jsonl": SampleGroups.lines(1) })
      const { written } = yield* write(folder, { "a.jsonl": SampleGroups.lines(2) })
      assert.strictEqual(written.groups, 2)
      yield* fs.writeFileString(`${folder}/out.html`, "<p>theirs</p>")
      const refused = yield* Effect.flip(write(folder, { "a.jsonl": SampleGroups.lines(1) }))
      assert.include(refused.message, "out.html exists and is not a page of saved groups")
      assert.strictEqual(yield* fs.readFileString(`${folder}/out.html`), "<p>theirs</p>")
    })
  )

  test(
    "is absent where a file cannot be read",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      const refused = yield* Effect.flip(write(folder, { "a.jsonl": "PAR1 and so on" }))
      assert.include(refused.message, "a.jsonl is a parquet file; expected a JSON Lines file")
      assert.deepStrictEqual((yield* fs.readDirectory(folder)).sort(), ["a.jsonl", "viewer.html"])
    })
  )
})
