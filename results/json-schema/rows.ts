/**
 * Writes rows of right answers to items of `json-schema` for the supervised steps before: `rows.ts FOLDER`. No item is
 * one of those that the environment holds out, and none of those that seeds 1 to 3 train on.
 */
import { seeded } from "@atropos/core/base/SeededRandom"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Bank from "../../packages/envs/src/json-schema/Bank.ts"
import { promptOf } from "../../packages/envs/src/JsonSchema.ts"
import { isHeldOut } from "../../packages/envs/src/kit/ItemSource.ts"

const folder = process.argv[2]
if (folder === undefined) throw new Error("rows.ts FOLDER")
mkdirSync(folder, { recursive: true })
const seed = 1_000
const rows = Array.from({ length: 512 }, (_, index) => Bank.draw(seeded(seed, index)))
  .filter(({ request, schema }) => !isHeldOut(request + schema))
  .map((task) => ({
    conversations: [
      { from: "human", value: promptOf(task, false) },
      { from: "gpt", value: task.sample }
    ]
  }))
writeFileSync(join(folder, "warm-up.jsonl"), `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`)
