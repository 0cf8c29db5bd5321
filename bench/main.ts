/**
 * Runs all measurements: ours next to the Python original, in the same minutes on the same machine.
 *
 * `npm run bench` (all except the GPU) or `npm run bench -- ingest out status loop help training decoding conversation
 * packing gpu`; the options of `gpu` follow it (`trainer/Gpu.ts`). The original runs if ATROPOS_ORIGINAL (a checkout)
 * and ATROPOS_ORIGINAL_PYTHON (an interpreter with its dependencies, and PyTorch, transformers and PEFT for the
 * trainer's) are set; DATABASE_URL selects Postgres for ours, else PGlite.
 */
import * as BatchesOut from "./BatchesOut.ts"
import * as CommandStart from "./CommandStart.ts"
import * as EnvironmentLoop from "./EnvironmentLoop.ts"
import * as Ingest from "./Ingest.ts"
import * as Report from "./internal/Report.ts"
import * as Servers from "./internal/Servers.ts"
import type { RunningServer } from "./internal/Servers.ts"
import * as StatusEnv from "./StatusEnv.ts"
import * as Conversation from "./trainer/Conversation.ts"
import * as Decoding from "./trainer/Decoding.ts"
import * as Gpu from "./trainer/Gpu.ts"
import * as Packing from "./trainer/Packing.ts"
import * as Training from "./trainer/Training.ts"

const chosen = process.argv.slice(2)
const wanted = (name: string) => chosen.length === 0 || chosen.includes(name)

type Measure = (ours: RunningServer, original: RunningServer | undefined) => Promise<ReadonlyArray<Report.Row>>

/** Each measurement uses a service with fresh data, so that it is unaffected by earlier ones. */
const measurements: ReadonlyArray<readonly [name: string, measure: Measure]> = [
  ["ingest", (ours, original) => Ingest.measure(ours, original, { tokens: 1000, goals: { json: 3, packed: 6 } })],
  ["ingest", (ours, original) => Ingest.measure(ours, original, { tokens: 2048, goals: { json: 4, packed: 10 } })],
  ["out", BatchesOut.measure],
  ["status", StatusEnv.measure],
  ["loop", EnvironmentLoop.measure]
]

const measureServers = async () => {
  const original = await Servers.original()
  const beside = original === undefined ? "the original is not here (set ATROPOS_ORIGINAL)" : "beside the original"
  console.log(`ours on ${process.env.DATABASE_URL === undefined ? "PGlite" : "Postgres"}; ${beside}\n${Report.header}`)
  try {
    for (const [, measure] of measurements.filter(([name]) => wanted(name))) {
      const ours = await Servers.ours(process.env.DATABASE_URL)
      try {
        for (const row of await measure(ours, original)) console.log(Report.line(row))
      } finally {
        await ours.stop()
      }
    }
  } finally {
    await original?.stop()
  }
}

if (["ingest", "out", "status", "loop"].some(wanted)) await measureServers()
if (wanted("help")) console.log(`atropos --help: ${CommandStart.measure().toFixed(3)} s (goal 0.4 s)`)

const trainerMeasurements: ReadonlyArray<readonly [name: string, measure: () => Promise<ReadonlyArray<Report.Row>>]> = [
  ["training", () => Training.measure("9M")],
  ["training", () => Training.measure("100M")],
  ["decoding", () => Decoding.measure("9M", 8)],
  ["decoding", () => Decoding.measure("9M", 32)],
  ["decoding", () => Decoding.measure("100M", 8)],
  ["decoding", () => Decoding.measure("100M", 32)]
]

if (["training", "decoding"].some(wanted)) {
  console.log(Report.headerBeside("PyTorch"))
  for (const [, measure] of trainerMeasurements.filter(([name]) => wanted(name))) {
    for (const row of await measure()) console.log(Report.line(row))
  }
}
if (wanted("conversation")) {
  console.log(Report.headerBeside("without a memory"))
  for (const row of await Conversation.measure("9M")) console.log(Report.line(row))
}
if (wanted("packing")) {
  console.log(Report.header)
  for (const batchSize of [64, 1024]) console.log(Report.line(Packing.measure(batchSize)))
}
if (chosen.includes("gpu")) await Gpu.print(chosen.filter((word) => word.includes("=")))
