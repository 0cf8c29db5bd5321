/**
 * Seconds until `atropos --help` has ended: the median of eleven runs, with a warm compile cache. Goal: under 0.4 s.
 */
import { spawnSync } from "node:child_process"
import { performance } from "node:perf_hooks"

const runs = 11
const bin = new URL("../packages/cli/bin/atropos.js", import.meta.url).pathname

export const measure = (): number => {
  const seconds = Array.from({ length: runs + 1 }, () => {
    const start = performance.now()
    const { status } = spawnSync(process.execPath, ["--conditions=atropos-src", bin, "--help"], { stdio: "ignore" })
    if (status !== 0) throw new Error(`atropos --help ended with ${status}`)
    return (performance.now() - start) / 1000
  })
  return seconds.slice(1).sort((a, b) => a - b)[runs >> 1]!
}
