/**
 * Checks that the Python original and ours interoperate, by running both: `node --conditions=atropos-src
 * bench/interop/main.ts [check …]`.
 *
 * Checks: `tests` (the original's API tests; port 8000 must be free), `python-environment` (its environment and data
 * loop, our service), `side-by-side` (both environments), `shares` (both, with half of each batch for each). Default:
 * all. Required variables: see `Processes.original`; DATABASE_URL selects Postgres for ours, else PGlite. Loopback
 * only; everything is stopped and removed at the end.
 */
import * as OriginalTests from "./OriginalTests.ts"
import * as Processes from "./Processes.ts"
import * as Rollouts from "./Rollouts.ts"

const original = Processes.original()
const chosen = process.argv.slice(2)
const wanted = (name: string) => chosen.length === 0 || chosen.includes(name)
const atropos = [
  process.execPath,
  "--conditions=atropos-src",
  new URL("../../packages/cli/bin/atropos.js", import.meta.url).pathname
]
const batches = 24

const scenarios: { readonly [name: string]: Rollouts.Scenario } = {
  "python-environment": { environments: ["the original"], batches },
  "side-by-side": { environments: ["the original", "ours"], batches },
  shares: { environments: ["the original", "ours"], batches, share: 0.5 }
}

if (wanted("tests")) await OriginalTests.run(original, atropos)
for (const [name, scenario] of Object.entries(scenarios)) {
  if (!wanted(name)) continue
  const received = await Rollouts.run(original, atropos, scenario)
  const { byEnvironment, groups, mixed, sequences, tokens } = received
  const shares = Array.from(byEnvironment, ([id, count]) => `environment ${id}: ${count}`).join(", ")
  const counts = `${groups} groups (${shares}), ${sequences} sequences, ${tokens} tokens`
  console.log(`${name}: ${received.batches} batches (${mixed} mixed), ${counts}, all equal to what was sent`)
}
