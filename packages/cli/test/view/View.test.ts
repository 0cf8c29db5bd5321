import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Auth, TrajectoryService } from "@atropos/api"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { HttpClient, HttpServer } from "effect/http"
import { TestConsole } from "effect/testing"
import * as TestStore from "../../../api/test/TestStore.ts"
import * as Presentation from "../../src/help/Presentation.ts"
import * as Progress from "../../src/base/Progress.ts"
import * as Report from "../../src/base/Report.ts"
import * as Root from "../../src/Root.ts"
import * as Bin from "../Bin.ts"
import * as Atropos from "../crash/Atropos.ts"
import * as SampleGroups from "../sets/SampleGroups.ts"

const Runs = Schema.Struct({ runs: Schema.Array(Schema.Struct({ name: Schema.String })) })
const Page = Schema.Struct({
  rows: Schema.Array(Schema.Struct({ id: Schema.String, preview: Schema.String })),
  total: Schema.Int
})
const Rollout = Schema.Struct({ group: Schema.Struct({ messages: Schema.Unknown }) })
const Pieces = Schema.Struct({ pieces: Schema.Record(Schema.String, Schema.String) })

const json = <A, I>(url: string, schema: Schema.Codec<A, I>) =>
  Effect.flatMap(
    Effect.promise(async (): Promise<unknown> => (await fetch(url)).json()),
    Schema.decodeUnknownEffect(schema)
  )

/** Names of the server-sent events of an address, as they come. */
const events = (url: string) =>
  Stream.unwrap(
    Effect.map(
      Effect.promise(async () => (await fetch(url)).body!),
      (body) =>
        Stream.fromAsyncIterable(body, (cause) => cause).pipe(
          Stream.decodeText,
          Stream.splitLines,
          Stream.filter((line) => line.startsWith("event: "))
        )
    )
  )

layer(NodeServices.layer, { excludeTestServices: true })("atropos view", (it) => {
  it.effect("serves the groups of files, and tells when they grow", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* Atropos.folder
      yield* fs.writeFileString(`${cwd}/groups.jsonl`, `${SampleGroups.lines(3)}{\n`)
      const viewing = yield* Atropos.start(["view", "groups.jsonl", "--port", "0", "--tokenizer", "bytes"], { cwd })
      const [, url = ""] = yield* viewing.says(/groups\.jsonl: (http:\S+)\/ui#\/groups/)
      const { runs } = yield* json(`${url}/v1/runs`, Runs)
      assert.deepStrictEqual(
        runs.map(({ name }) => name),
        ["groups"]
      )
      const page = yield* json(`${url}/v1/runs/groups/rollouts?limit=2`, Page)
      assert.deepStrictEqual(
        page.rows.map(({ id, preview }) => [id, preview]),
        [
          ["3", "What is 2 + 2?"],
          ["2", "What is 1 + 1?"]
        ]
      )
      yield* viewing.says(/skipped: groups\.jsonl, line 4: is not JSON/)
      const rollout = yield* json(`${url}/v1/runs/groups/rollouts/2`, Rollout)
      assert.deepStrictEqual(rollout.group.messages, JSON.parse(SampleGroups.lines(1, 1)).messages)
      const pieces = yield* json(`${url}/v1/runs/groups/pieces?ids=72,258,999999`, Pieces)
      assert.deepStrictEqual(pieces, { pieces: { "72": "H", "258": "<|im_end|>" } })
      const found = yield* json(`${url}/v1/runs/groups/rollouts?text=${encodeURIComponent('"1 + 1"')}`, Page)
      assert.strictEqual(found.total, 1)
      const unknown = yield* Effect.promise(() => fetch(`${url}/v1/runs/other/rollouts`))
      assert.strictEqual(unknown.status, 404)
      const rebound = yield* HttpClient.get(`${url}/v1/runs`, { headers: { host: "evil.example" } }).pipe(
        Effect.provide(NodeHttpClient.layerUndici)
      )
      assert.strictEqual(rebound.status, 403)
      const html = yield* Effect.promise(async () => (await fetch(`${url}/ui`)).text())
      assert.match(html, /atropos/i)
      // The page offers no curves and no queue over files; it stands where the viewer was built.
      if (html.includes('id="atropos-data"')) assert.include(html, '<html data-groups="files"')

      // The first event is the state as it is, the second that of the grown file.
      let seen = 0
      const second = events(`${url}/v1/runs/groups/events`).pipe(
        Stream.mapEffect(() =>
          ++seen === 1
            ? fs.writeFileString(`${cwd}/groups.jsonl`, SampleGroups.lines(1, 9), { flag: "a" })
            : Effect.void
        ),
        Stream.take(2),
        Stream.runDrain
      )
      yield* second
      const grown = yield* json(`${url}/v1/runs/groups/rollouts?limit=1`, Page)
      assert.strictEqual(grown.rows[0]?.preview, "What is 9 + 9?")
    })
  )
})

const inProcess = Layer.mergeAll(Presentation.layer, Layer.succeed(Progress.Presenter, "lines"), NodeServices.layer)
const service = TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide([TestStore.layer, Auth.layerOpen])
)

describe("atropos view, in words", () => {
  const atropos = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
    const exit = yield* Effect.exit(Root.run(["view", ...words]))
    let code = -1
    Report.teardown(exit, (given) => {
      code = given
    })
    const said = [...(yield* TestConsole.logLines), ...(yield* TestConsole.errorLines)]
    return { code, said: said.map(String).join("\n") }
  })

  it.effect("tells where the viewer of a service is, without files", () =>
    Effect.gen(function* () {
      const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
      const { code, said } = yield* atropos("--api-url", `${url}/`)
      assert.strictEqual(code, 0)
      assert.include(said, `viewer of the service: ${url}/ui`)
    }).pipe(Effect.provide([service, inProcess]))
  )

  it.effect("says what is wrong with what it is given", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      yield* fs.writeFileString(`${folder}/rows.parquet`, "PAR1")
      for (const [words, says] of [
        [["--api-url", "http://127.0.0.1:9"], "Give files of saved groups"],
        [[`${folder}/absent.jsonl`], "absent.jsonl cannot be read: file not found"],
        [[`${folder}/rows.parquet`], "rows.parquet is a parquet file; expected a JSON Lines file: a scored group"],
        [["--out", "x.html"], "--out needs files of saved groups"]
      ] as const) {
        const { code, said } = yield* atropos(...words)
        assert.strictEqual(code, 2)
        assert.include(said, says)
      }
    }).pipe(Effect.scoped, Effect.provide(inProcess))
  )
})
