/**
 * All measurements: ours beside the Python original, in the same minutes on the same machine.
 *
 * `npm run bench` (all) or `npm run bench -- ingest out status loop help`. The original is run where ATROPOS_ORIGINAL (a checkout)
 * and ATROPOS_ORIGINAL_PYTHON (an interpreter with its dependencies) are set; DATABASE_URL chooses Postgres for ours, else PGlite.
 */
import * as BatchesOut from "./BatchesOut.ts"
import * as CommandStart from "./CommandStart.ts"
import * as EnvironmentLoop from "./EnvironmentLoop.ts"
import * as Ingest from "./Ingest.ts"
import * as Report from "./internal/Report.ts"
import * as Servers from "./internal/Servers.ts"
import * as StatusEnv from "./StatusEnv.ts"

const chosen = process.argv.slice(2)
const wanted = (name: string) => chosen.length === 0 || chosen.includes(name)

const print = (rows: ReadonlyArray<Report.Row>) => {
  for (const row of rows) console.log(Report.line(row))
}

const measureServers = async () => {
  const ours = await Servers.ours(process.env.DATABASE_URL)
  const original = await Servers.original()
  console.log(
    `${ours.name}; ${original === undefined ? "the original is not here (set ATROPOS_ORIGINAL)" : "beside the original"}`
  )
  console.log(Report.header)
  try {
    if (wanted("ingest")) {
      print(await Ingest.measure(ours, original, { tokens: 1000, goals: { json: 3, packed: 6 } }))
      print(await Ingest.measure(ours, original, { tokens: 2048, goals: { json: 4, packed: 10 } }))
    }
    if (wanted("out")) print(await BatchesOut.measure(ours, original))
    if (wanted("status")) print(await StatusEnv.measure(ours, original))
    if (wanted("loop")) print(await EnvironmentLoop.measure(ours, original))
  } finally {
    await Promise.all([ours.stop(), original?.stop()])
  }
}

if (["ingest", "out", "status", "loop"].some(wanted)) await measureServers()
if (wanted("help")) console.log(`atropos --help: ${CommandStart.measure().toFixed(3)} s (goal 0.4 s)`)
