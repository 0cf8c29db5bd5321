/**
 * Rollouts of a Harbor task with a program, all at once, in a Docker Engine of their own and behind bubblewrap: time to
 * the first request, memory, processor time, and what is left of them.
 *
 *     node --conditions=atropos-src bench/agent/Boxes.ts [docker | bubblewrap | both] [8 32 …]
 *
 * The program asks the model once and ends, so that all else is the cost of its machine: containers, relays, clients,
 * the daemon and this process, which are counted by the kernel (cgroups v1, root). Memory is the highest resident one,
 * sampled, without what was held before.
 */
import { Effect } from "effect"
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import * as ContainerTasks from "../../packages/envs/test/harbor/ContainerTasks.ts"
import * as Engine from "../../packages/envs/test/harbor/Engine.ts"
import * as Rolling from "../../packages/envs/test/harbor/Rolling.ts"

const [which = "both", ...sizes] = process.argv.slice(2)
const counts = (sizes.length === 0 ? ["8", "32"] : sizes).map(Number)
const sampleMillis = 50

const temporary = mkdtempSync(join(tmpdir(), "atropos-bench-"))
process.env["TMPDIR"] = temporary

const ownGroups = ["cpuacct", "memory"].map((kind) => `/sys/fs/cgroup/${kind}/atropos-bench-${process.pid}`)
for (const group of ownGroups) {
  mkdirSync(group)
  writeFileSync(`${group}/cgroup.procs`, String(process.pid))
}

/** This process with all that it starts, and the containers of its engine. */
const groups = (kind: string, file: string) =>
  globSync([
    `/sys/fs/cgroup/${kind}/atropos-bench-${process.pid}/${file}`,
    `/sys/fs/cgroup/${kind}/atropos-engine-*/${file}`
  ])

const cpuSeconds = () =>
  groups("cpuacct", "cpuacct.usage").reduce((sum, file) => sum + Number(readFileSync(file, "utf8")) / 1e9, 0)

const megabytes = () =>
  groups("memory", "memory.stat").reduce(
    (sum, file) => sum + Number(/^total_rss (\d+)$/m.exec(readFileSync(file, "utf8"))?.[1] ?? 0) / 1e6,
    0
  )

const processes = () =>
  groups("memory", "**/cgroup.procs").flatMap((file) => readFileSync(file, "utf8").trim().split("\n"))

const lines = (text: string): number => text.split("\n").filter((line) => line !== "").length

const left = (engine: Engine.Engine | undefined) => ({
  processes: processes().length,
  folders: readdirSync(temporary).length,
  mounts: lines(readFileSync("/proc/mounts", "utf8")),
  ...(engine !== undefined && {
    containers: lines(engine.call("ps", "--all", "--quiet")),
    snapshots: lines(engine.call("images", "--quiet", "atropos-trial")),
    networks: lines(engine.call("network", "ls", "--quiet")),
    volumes: lines(engine.call("volume", "ls", "--quiet")),
    engineMounts: Number(engine.host("wc -l < /proc/mounts"))
  })
})

const quantile = (values: ReadonlyArray<number>, share: number): string => {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN).toFixed(2)
}

/** Processes that were killed may still be listed. */
const settled = Effect.sleep("3 seconds")

const measure = Effect.fnUntraced(function* (engine: Engine.Engine | undefined) {
  const settings = {
    tasks: yield* ContainerTasks.asked("no-network"),
    command: engine === undefined ? ContainerTasks.asking.replace(/^wget/, "busybox wget") : ContainerTasks.asking,
    ...(engine === undefined ? { where: "local" as const } : { docker: engine.program })
  }
  yield* Rolling.rolledOut({ ...settings, groupSize: 1 }, ContainerTasks.model)
  for (const count of counts) {
    yield* settled
    const before = left(engine)
    const [cpu, held, start] = [cpuSeconds(), megabytes(), performance.now()]
    const begun: Array<number> = []
    let peak = 0
    const sampling = setInterval(() => (peak = Math.max(peak, megabytes())), sampleMillis)
    const { figures, group, told } = yield* Rolling.rolledOut({ ...settings, groupSize: count }, () => {
      begun.push((performance.now() - start) / 1000)
      return "Ada"
    })
    clearInterval(sampling)
    const seconds = (performance.now() - start) / 1000
    if (group?.scores.length !== count) throw new Error(told)
    const used = cpuSeconds() - cpu
    yield* settled
    const after = left(engine)
    console.log(
      `${engine === undefined ? "bubblewrap" : "docker"}, ${count} at once: first request after ${quantile(begun, 0)} to ` +
        `${quantile(begun, 1)} s (median ${quantile(begun, 0.5)}), all ended after ${seconds.toFixed(1)} s; ` +
        `${((peak - held) / count).toFixed(0)} MB and ${(used / count).toFixed(2)} s of processor each; ` +
        `${figures["agent/failed"]} failed; left as before: ${JSON.stringify(before) === JSON.stringify(after) ? "yes" : `no: ${JSON.stringify({ before, after })}`}`
    )
  }
})

const run = (needsEngine: boolean) =>
  Effect.runPromise(
    Effect.flatMap(needsEngine ? Engine.engine : Effect.undefined, measure).pipe(
      Effect.scoped,
      Effect.provide(Rolling.platform)
    )
  )

if (which !== "bubblewrap") await run(true)
if (which !== "docker") await run(false)
for (const group of ownGroups) {
  writeFileSync(join(group, "..", "cgroup.procs"), String(process.pid))
  rmdirSync(group)
}
rmSync(temporary, { recursive: true })
