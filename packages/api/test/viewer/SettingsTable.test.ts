import { assert, describe, it } from "@effect/vitest"
import type * as Wire from "../../viewer/src/source/Wire.ts"
import * as SettingsTable from "../../viewer/src/run/SettingsTable.ts"

const trainer = (settings: Wire.SourceSettings["settings"]) =>
  ({ source: "trainer", kind: "trainer", at: 0, settings }) as const

const one = (run: string, settings: Parameters<typeof trainer>[0]): SettingsTable.RunSettings => ({
  run,
  registered: undefined,
  sources: [trainer(settings)]
})

describe("SettingsTable", () => {
  it("has a row for each setting, by its path, and says which differ", () => {
    const rows = SettingsTable.of([
      one("a", { lr: 1, lora: { rank: 8, targets: ["q", "v"] }, empty: {} }),
      one("b", { lr: 2, lora: { rank: 8, targets: ["q", "v"] }, seed: 7 })
    ])
    assert.deepStrictEqual(
      rows.map(({ isDifferent, name, values }) => [name, ...values, isDifferent]),
      [
        ["lr", "1", "2", true],
        ["lora.rank", "8", "8", false],
        ["lora.targets", '["q","v"]', '["q","v"]', false],
        ["empty", "{}", null, true],
        ["seed", null, "7", true]
      ]
    )
  })

  it("puts what was registered first, and numbers what is in lists", () => {
    const registered = {
      name: "a",
      batch_size: 8,
      max_token_length: 64,
      starting_step: 0,
      num_steps: 10,
      registered: true,
      started: true,
      advantages: null,
      ended: false,
      current_step: 3
    }
    const rows = SettingsTable.of([
      { run: "a", registered, sources: [trainer({ servers: [{ url: "x" }, { url: "y" }] })] }
    ])
    assert.deepStrictEqual(
      rows.map(({ name, of }) => `${of} ${name}`),
      [
        "run batch_size",
        "run max_token_length",
        "run starting_step",
        "run num_steps",
        "run advantages",
        "trainer servers[0].url",
        "trainer servers[1].url"
      ]
    )
  })

  it("names what differs of what runs have recorded, the most recorded first, without their places", () => {
    const rows = SettingsTable.of([
      one("a", { lr: 1, seed: 5, save_dir: "/a", rank: 8 }),
      one("b", { lr: 1, seed: 6, save_dir: "/b", rank: 16 }),
      one("c", { lr: 1, rank: 8 }),
      { run: "without settings", registered: undefined, sources: [] }
    ])
    assert.deepStrictEqual(
      SettingsTable.differing(rows).map(({ name }) => name),
      ["rank", "seed"]
    )
  })

  it("names each difference once, and none that follows from the loss", () => {
    const rows = SettingsTable.of([
      one("a", { advantages: { loss: "grpo", is_used: true }, loss: { preset: "grpo" }, run: "a", rank: 8 }),
      one("b", { advantages: { loss: "sft", is_used: false }, loss: { preset: "sft" }, run: "b", rank: 16 })
    ])
    assert.deepStrictEqual(
      SettingsTable.distinct(SettingsTable.differing(rows)).map(({ name }) => name),
      ["advantages.loss", "rank"]
    )
  })

  it("finds every word in names, sources and values", () => {
    const rows = SettingsTable.of([one("a", { learning_rate: 0.5, loss: "grpo" })])
    assert.deepStrictEqual(
      SettingsTable.search(rows, " TRAINER grp ").map(({ name }) => name),
      ["loss"]
    )
    assert.lengthOf(SettingsTable.search(rows, ""), 2)
  })
})
