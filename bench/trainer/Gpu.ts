/**
 * A training step on the GPU, ours through WebGPU and CUDA beside PyTorch in bfloat16 with PEFT: the shape of
 * Qwen2.5-0.5B with random weights, one sequence of 1024 tokens, an adapter of r = 16. A device that does not work here
 * is named with the reason.
 *
 * Memory is what `nvidia-smi` says is in use on the device at most while the process runs, less what was before.
 */
import * as Device from "@atropos/trainer/exec/Device"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import type { Row } from "../internal/Report.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import * as Child from "./internal/Child.ts"

const steps = 8
const size = ["1", "1024"]
const lookMillis = 100

const execute = promisify(execFile)

/** MiB in use on the device; undefined where nobody can tell. */
const used = async (): Promise<number | undefined> => {
  const query = ["--query-gpu=memory.used", "--format=csv,noheader,nounits"]
  const output = await execute("nvidia-smi", query).catch(() => undefined)
  return output === undefined ? undefined : Number(output.stdout.trim().split("\n")[0])
}

interface Measured {
  readonly figures: Child.Figures
  readonly deviceMegabytes: number | undefined
}

/** The most that is in use until `end`, MiB. */
const watch = async (before: number, end: AbortSignal): Promise<number> => {
  let most = before
  while (!end.aborted) {
    most = Math.max(most, (await used()) ?? 0)
    await sleep(lookMillis)
  }
  return most
}

const run = async (side: Child.Side, folder: string, device: string): Promise<Measured> => {
  const before = await used()
  const end = new AbortController()
  const most = before === undefined ? undefined : watch(before, end.signal)
  const figures = await Child.run(side, ["train", folder, String(steps), device, ...size]).finally(() => end.abort())
  return { figures, deviceMegabytes: most === undefined ? undefined : (await most) - before! }
}

const orWhy = (measured: Promise<Measured>): Promise<Measured | string> =>
  measured.catch((cause: unknown) => String(cause).trim().split("\n").at(-1) ?? "it failed")

const rows = (device: string, ours: Measured, reference: Measured | undefined): ReadonlyArray<Row> => [
  {
    what: `a step of 1 x 1024, 0.5B, ${device}`,
    ours: ours.figures.secondsPerStep! * 1000,
    reference: reference && reference.figures.secondsPerStep! * 1000,
    unit: "ms",
    better: "smaller",
    goal: 1
  },
  ...(ours.deviceMegabytes === undefined
    ? []
    : [
        {
          what: "  its memory on the device",
          ours: ours.deviceMegabytes,
          reference: reference?.deviceMegabytes,
          unit: "MiB",
          better: "smaller" as const,
          goal: 1
        }
      ])
]

/** Rows of the devices that work, and lines about the others. */
export const measure = async (): Promise<{ rows: ReadonlyArray<Row>; notes: ReadonlyArray<string> }> => {
  const notes: Array<string> = []
  const working: Array<"webgpu" | "cuda"> = []
  const cpu = await Effect.runPromise(Device.trial("cpu"))
  for (const kind of ["webgpu", "cuda"] as const) {
    const result = await Effect.runPromise(Device.trial(kind))
    if (!result.works) notes.push(`${kind} cannot be used: ${result.why}; ${result.advice}`)
    else if (cpu.works && result.gflops < cpu.gflops) {
      // A software driver: a step would take minutes, and say nothing.
      notes.push(`${kind} is left out: ${Device.speed(result.gflops)}, the CPU does ${Device.speed(cpu.gflops)}`)
    } else working.push(kind)
  }
  if (working.length === 0) return { rows: [], notes }
  const folder = await Checkpoint.folderOf("0.5B")
  const reference =
    Child.python() === undefined
      ? "ATROPOS_ORIGINAL_PYTHON names no interpreter"
      : await orWhy(run("reference", folder, "cuda"))
  if (typeof reference === "string") notes.push(`no PyTorch beside: ${reference}`)
  const found: Array<Row> = []
  for (const kind of working) {
    const ours = await orWhy(run("ours", folder, kind))
    if (typeof ours === "string") notes.push(`${kind}: ${ours}`)
    else found.push(...rows(kind, ours, typeof reference === "string" ? undefined : reference))
  }
  return { rows: found, notes }
}
