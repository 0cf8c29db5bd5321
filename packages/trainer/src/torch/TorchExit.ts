/** Explains why the child process ended, from its output. */
import { TrainerError } from "../learn/TrainerError.ts"

const requirements = "torch, transformers, peft and safetensors"
const installing = "npx @atropos/cli torch install"

const errorLine = /^(?:\[rank\d+\]:\s*)?[\w.]*(?:Error|Exception|Failure)\b.*:/

/** From torchrun's summary, the rank that ended first: it told the others to stop (SIGTERM, -15). */
const failedRank = (output: string) => {
  const ranks = Array.from(
    output.matchAll(/rank\s*:\s*(\d+) \(local_rank: \d+\)\n\s*exitcode\s*:\s*(-?\d+) \(pid: (\d+)\)/g),
    ([, rank, code, pid]) => ({ rank, code, pid })
  )
  return ranks.find(({ code }) => code !== "-15") ?? ranks[0]
}

const reasonOf = (output: string): string => {
  const lines = output.split("\n").filter((line) => line.trim() !== "")
  const failed = failedRank(output)
  if (failed?.code === "-9") return `rank ${failed.rank} (process ${failed.pid}) was killed (SIGKILL)`
  const own =
    failed === undefined
      ? lines
      : lines.filter((line) => !/^\[rank\d+\]/.test(line) || line.startsWith(`[rank${failed.rank}]`))
  const error = own.findLast((line) => errorLine.test(line) && !line.includes("ChildFailedError"))
  const where = failed === undefined ? "" : `rank ${failed.rank} (process ${failed.pid}): `
  return where + (error?.trim() ?? lines.slice(-2).join("; "))
}

export interface Exit {
  readonly program: string
  readonly output: string
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Whether it had answered before. */
  readonly wasReady: boolean
}

/** `engineLost` if weights were lost with it, so that loading again helps; else `settings` or `engine`. */
export const explain = ({ code, output, program, signal, wasReady }: Exit): TrainerError => {
  const [, missing] = /No module named '([\w.]+)'/.exec(output) ?? []
  if (!wasReady && missing !== undefined) {
    return new TrainerError({
      reason: "settings",
      message: `--engine torch: ${program} has no module ${missing}: it needs ${requirements}. Run ${installing}, or name a Python that has them with --python`
    })
  }
  const how = signal === null ? `ended with code ${code}: ${reasonOf(output) || "no output"}` : `was ended by ${signal}`
  return new TrainerError({ reason: wasReady ? "engineLost" : "engine", message: `--engine torch: ${program} ${how}` })
}
