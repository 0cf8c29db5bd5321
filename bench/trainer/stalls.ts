/**
 * Measures how long the event loop of `atropos up` is blocked: service, embedded database, rollouts, policy and trainer
 * in one process.
 *
 * `node --conditions=atropos-src bench/trainer/stalls.ts [seconds] [flags of up]`, by default 40 seconds of the
 * built-in task. Reports turns longer than 50 ms since the port was opened, and their causes (`StallWatch`).
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as StallWatch from "../internal/StallWatch.ts"
import { freePort } from "../internal/Servers.ts"

const longMillis = 50

const [seconds = "40", ...flags] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), "atropos-stalls-"))
const log = join(folder, "stalls")
const bin = new URL("../../packages/cli/bin/atropos.js", import.meta.url).pathname

// More steps than the time allows, unless the flags override it.
const command = ["up", "--fresh", "--port", String(await freePort()), "--training_steps", "100000", ...flags]
const child = spawn(process.execPath, ["--conditions=atropos-src", bin, ...command], {
  cwd: folder,
  env: {
    ...process.env,
    ATROPOS_DATA_DIR: join(folder, "data"),
    ATROPOS_STALL_LOG: log,
    DATABASE_URL: undefined,
    NODE_OPTIONS: `--import=${new URL("../internal/StallWatch.ts", import.meta.url).href}`
  },
  stdio: ["ignore", "pipe", "pipe"]
})
let output = ""
for (const stream of [child.stdout, child.stderr]) {
  stream.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2000)))
}
await Promise.race([once(child, "exit"), sleep(Number(seconds) * 1000)])
if (child.exitCode !== null) throw new Error(`atropos up ended with ${child.exitCode}: ${output}`)
child.kill("SIGINT")
await once(child, "exit")

type Line = StallWatch.Turn | StallWatch.Span | StallWatch.Opening

const lines = readFileSync(log, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Line)
rmSync(folder, { recursive: true })

const opened = lines.find((line) => "listeningAt" in line)?.listeningAt ?? 0
const turns = lines.filter((line) => "wall" in line).filter(({ at }) => at > opened)
const spans = lines.filter((line) => "turns" in line)
for (const kind of StallWatch.kinds) {
  const worst = Math.max(0, ...turns.map((turn) => turn[kind]))
  const p99 = spans.map(({ p99 }) => p99[kind].toFixed(1)).join(", ")
  console.log(`${StallWatch.meaning[kind].padEnd(44)} worst ${worst.toFixed(1)} ms; p99 every 10 s: ${p99}`)
}
const long = turns.filter(({ wall }) => wall > longMillis)
for (const { at, collector, own, pause, waiting, wall } of long) {
  console.log(
    `${((at - opened) / 1000).toFixed(1)} s after the port was open: ${wall.toFixed(0)} ms: own work ${own.toFixed(0)}, ` +
      `pauses ${pause.toFixed(0)} ${collector}, without a core ${waiting.toFixed(0)}`
  )
}
const ours = long.filter(({ own, pause }) => own + pause > longMillis)
console.log(`${long.length} turns longer than ${longMillis} ms, ${ours.length} of them by own work and pauses`)
console.log(
  output
    .trim()
    .split(/[\r\n]/)
    .at(-1)
)
