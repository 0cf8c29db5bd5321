import { assert, layer } from "@effect/vitest"
import { WireGroup } from "@atropos/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as SampleGroups from "../SampleGroups.ts"
import { call, layer as serviceLayer } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const runSpec = (name: string) => ({
  name,
  batch_size: 4,
  max_token_length: 64,
  starting_step: 0,
  num_steps: 100,
  checkpoint_dir: "",
  save_checkpoint_interval: 0,
  wandb_group: "",
  wandb_project: ""
})

const submitted = Effect.fnUntraced(function* (run: string) {
  yield* call("/v1/runs", { json: runSpec(run) })
  const group = JSON.parse(WireGroup.encode(SampleGroups.full)) as unknown
  yield* call(`/v1/runs/${run}/groups`, { json: { key: crypto.randomUUID(), group } })
  const { rows } = (yield* call(`/v1/runs/${run}/rollouts`)).json() as { rows: ReadonlyArray<{ id: string }> }
  return rows[0]!.id
})

const put = (run: string, id: string, note: object) =>
  call(`/v1/runs/${run}/rollouts/${id}/note`, { method: "PUT", json: note })

const notesOf = (run: string) =>
  Effect.map(call(`/v1/runs/${run}/notes`), (answer) =>
    (answer.json() as { notes: ReadonlyArray<{ [name: string]: unknown }> }).notes.map(({ at, ...note }) => {
      assert.isNumber(at)
      return note
    })
  )

const nothing = { rollout: 0, bookmarked: false, labels: [], text: "" }

layer(serviceLayer().pipe(Layer.provideMerge(TestStore.layer)), {
  excludeTestServices: true
})("notes", (it) => {
  it.effect("are kept by rollout, the last one in place of the one before, until it says nothing", () =>
    Effect.gen(function* () {
      const id = yield* submitted("noted")
      assert.deepStrictEqual(yield* notesOf("noted"), [])
      assert.strictEqual((yield* put("noted", id, { ...nothing, bookmarked: true })).status, 204)
      const second = { rollout: 0, bookmarked: false, labels: ["hack", "odd", "hack"], text: "It counts <b>twice</b>." }
      assert.strictEqual((yield* put("noted", id, second)).status, 204)
      assert.strictEqual((yield* put("noted", id, { ...nothing, rollout: null, text: "all of it" })).status, 204)
      assert.deepStrictEqual(
        (yield* notesOf("noted")).toSorted(
          (left, right) => Number(left["rollout"] === null) - Number(right["rollout"] === null)
        ),
        [
          { ...second, group: id, labels: ["hack", "odd"] },
          { ...nothing, group: id, rollout: null, text: "all of it" }
        ]
      )
      assert.strictEqual((yield* put("noted", id, nothing)).status, 204)
      assert.strictEqual((yield* notesOf("noted")).length, 1)
    })
  )

  it.effect("are refused on what is not there, and where they are too long", () =>
    Effect.gen(function* () {
      const id = yield* submitted("refused")
      const statuses = yield* Effect.forEach(
        [
          put("refused", "999999999999999999", nothing),
          put("refused", id, { ...nothing, rollout: 4096, bookmarked: true }),
          put("nowhere", id, nothing),
          put("refused", id, { ...nothing, text: "x".repeat(5000) }),
          put("refused", id, { ...nothing, labels: [""] }),
          put("refused", id, { ...nothing, rollout: -1 })
        ],
        Effect.map(({ status }) => status)
      )
      assert.deepStrictEqual(statuses, [404, 404, 404, 422, 422, 422])
      assert.deepStrictEqual(yield* notesOf("refused"), [])
    })
  )

  it.effect("are changed where a run has as many as it may, and no more are taken", () =>
    Effect.gen(function* () {
      const id = yield* submitted("full")
      const sql = yield* SqlClient.SqlClient
      const noted = { ...nothing, text: "one" }
      assert.strictEqual((yield* put("full", id, noted)).status, 204)
      yield* sql`
        insert into note (group_id, rollout, run_id, is_bookmarked, labels, body, changed_at)
        select group_id, place, run_id, is_bookmarked, labels, body, changed_at
        from note cross join generate_series(1000, 10998) as place where group_id = ${id}::bigint`
      assert.strictEqual((yield* put("full", id, { ...noted, text: "another" })).status, 204)
      assert.strictEqual((yield* put("full", id, { ...noted, rollout: 1 })).status, 422)
      assert.strictEqual((yield* put("full", id, nothing)).status, 204)
      assert.strictEqual((yield* put("full", id, { ...noted, rollout: 1 })).status, 204)
    })
  )
})
