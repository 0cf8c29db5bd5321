/**
 * Example 17 as a command environment: writes the agent as one file that starts fast, and its items, into a folder, and
 * prints the commands whose curves are compared.
 *
 *     node --conditions=atropos-src bench/agent/prepare.ts /tmp/shop
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { shops } from "../../examples/17-ai-sdk-agent.ts"

const folder = resolve(process.argv[2] ?? "shop")
mkdirSync(folder, { recursive: true })

await build({
  input: fileURLToPath(new URL("program.ts", import.meta.url)),
  platform: "node",
  resolve: { conditionNames: ["atropos-src", "node", "import"] },
  // Only the agent, without the example's environment.
  treeshake: { moduleSideEffects: false, manualPureFunctions: ["defineAgent"] },
  output: { file: `${folder}/program.js`, format: "esm", minify: true, codeSplitting: false }
})

const rows = (seed: number, count: number): string =>
  Array.from(shops(seed, count), (shop) => `${JSON.stringify(shop)}\n`).join("")
writeFileSync(`${folder}/shops.jsonl`, rows(0, 4096))
writeFileSync(`${folder}/held-out.jsonl`, rows(-1, 128))

console.log(`in one process:
  npm run atropos -- up --env examples/17-ai-sdk-agent.ts
a process for every rollout:
  npm run atropos -- up --env bench/agent/command.ts --env.command "node ${folder}/program.js" \\
    --env.items ${folder}/shops.jsonl --env.test_items ${folder}/held-out.jsonl --env.max_num_workers 2 \\
    --env.variables '${JSON.stringify({ NODE_COMPILE_CACHE: `${folder}/cache` })}'
curves: reward/mean of .atropos/up/*/metrics.jsonl`)
