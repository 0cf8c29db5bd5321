/**
 * Training and decoding on a GPU, ours through WebGPU and CUDA next to PyTorch in bfloat16 with PEFT and SDPA: LoRA
 * steps (r = 16, all linear layers) and greedy answers to prompts of 32 tokens, of a model with random weights.
 *
 *     npm run bench -- gpu [device=cpu|webgpu|cuda] [shape=NAME] [layers=N] [vocabulary=N] [steps=1x1024,8x2048]
 *         [rows=8,64,256] [tokens=N] [rounds=N]
 *
 * The values above are the defaults, with 0.5B, 64 tokens, and 4 steps after a first one. Devices that do not work are
 * listed with the reason, and so are those slower than the CPU: drivers in software. A device requested by name is
 * measured in any case, so that the command can be tried without a GPU: its table states so, and compares with PyTorch
 * on the CPU in float32.
 *
 * Every value comes from a separate process. A failed line is listed below the table with its reason.
 */
import * as Device from "@atropos/trainer/exec/Device"
import type { DeviceKind } from "@atropos/trainer/exec/Executor"
import { Effect } from "effect"
import * as Report from "../internal/Report.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import * as Child from "./internal/Child.ts"
import * as DeviceMemory from "./internal/DeviceMemory.ts"

interface Settings extends Checkpoint.Cut {
  readonly device: DeviceKind | undefined
  readonly shape: Checkpoint.ShapeName
  /** Batches, as rows by tokens per row. */
  readonly steps: ReadonlyArray<readonly [rows: number, length: number]>
  /** Numbers of parallel answers. */
  readonly rows: ReadonlyArray<number>
  readonly tokens: number
  /** Steps measured after a first one; 0: only that one. */
  readonly rounds: number
}

const usual: Settings = {
  device: undefined,
  shape: "0.5B",
  steps: [
    [1, 1024],
    [8, 2048]
  ],
  rows: [8, 64, 256],
  tokens: 64,
  rounds: 4
}

const kinds = ["cpu", "webgpu", "cuda"] as const satisfies ReadonlyArray<DeviceKind>

const fail = (message: string): never => {
  console.error(message)
  process.exit(1)
}

const whole = (word: string): number => {
  if (!/^\d+$/.test(word)) fail(`"${word}" is no number`)
  return Number(word)
}

const oneOf = <A extends string>(names: ReadonlyArray<A>, word: string): A => {
  const found = names.find((name) => name === word)
  return found ?? fail(`"${word}" is none of ${names.join(", ")}`)
}

const shapeNames = Object.keys(Checkpoint.shapes) as ReadonlyArray<Checkpoint.ShapeName>

const readers: { readonly [name: string]: (value: string) => Partial<Settings> } = {
  device: (value) => ({ device: oneOf(kinds, value) }),
  shape: (value) => ({ shape: oneOf(shapeNames, value) }),
  layers: (value) => ({ layers: whole(value) }),
  vocabulary: (value) => ({ vocabulary: whole(value) }),
  steps: (value) => ({
    steps: value.split(",").map((step) => {
      const [rows = "", length = ""] = step.split("x")
      return [whole(rows), whole(length)] as const
    })
  }),
  rows: (value) => ({ rows: value.split(",").map(whole) }),
  tokens: (value) => ({ tokens: whole(value) }),
  rounds: (value) => ({ rounds: whole(value) })
}

/** Parses words such as `rows=8,64`. */
const settingsOf = (words: ReadonlyArray<string>): Settings =>
  words.reduce<Settings>((settings, word) => {
    const [name = "", value = ""] = word.split("=")
    const read = readers[name]
    return read === undefined
      ? fail(`"${word}": an option is one of ${Object.keys(readers).join(", ")}`)
      : { ...settings, ...read(value) }
  }, usual)

interface Measured {
  readonly figures: Child.Figures
  readonly deviceMegabytes: number | undefined
}

/** One side's results, or why there are none. */
const measured = (side: Child.Side, args: ReadonlyArray<string>): Promise<Measured | string> =>
  DeviceMemory.during(() => Child.run(side, args)).then(
    ({ megabytes, result }) => ({ figures: result, deviceMegabytes: megabytes }),
    (cause: unknown) => String(cause).trim().split("\n").at(-1) ?? "it failed"
  )

interface Work {
  readonly what: string
  readonly args: ReadonlyArray<string>
}

const workOf = (folder: string, device: DeviceKind, { rounds, rows, steps, tokens }: Settings): ReadonlyArray<Work> => [
  ...steps.map(([rows, length]) => ({
    what: `LoRA step, ${rows} x ${length}`,
    args: ["train", folder, `${rounds}`, device, `${rows}`, `${length}`]
  })),
  ...rows.map((count) => ({
    what: `decoding, ${count} rows, ${tokens} tokens each`,
    args: ["generate", folder, `${count}`, `${tokens}`, "greedy", device]
  }))
]

/** `isTrial`: without a GPU, so there is no goal, and all memory is the processes'. */
const rowsOf = (
  what: string,
  ours: Measured,
  reference: Measured | undefined,
  isTrial: boolean
): ReadonlyArray<Report.Row> => {
  const row = (
    what: string,
    unit: string,
    better: Report.Row["better"],
    of: (side: Measured) => number | undefined,
    beside = reference
  ): ReadonlyArray<Report.Row> => {
    const own = of(ours)
    const goal = isTrial ? undefined : 1
    return own === undefined ? [] : [{ what, ours: own, reference: beside && of(beside), unit, better, goal }]
  }
  return [
    ...row(what, "tok/s", "larger", ({ figures }) => figures.tokensPerSecond),
    ...row("  a step", "ms", "smaller", ({ figures: { secondsPerStep } }) => secondsPerStep && secondsPerStep * 1000),
    ...row("  memory of the device", "MiB", "smaller", ({ deviceMegabytes }) =>
      isTrial ? undefined : deviceMegabytes
    ),
    // PyTorch's is that of the device's tensors, which are counted above.
    ...row(
      "  memory of the process",
      "MiB",
      "smaller",
      ({ figures: { peakBytes } }) => peakBytes / 2 ** 20,
      isTrial ? reference : undefined
    )
  ]
}

interface Measurable {
  readonly kind: DeviceKind
  readonly title: string
  /** The device of the reference run. */
  readonly reference: "cpu" | "cuda"
}

const trial = (kind: DeviceKind) => Effect.runPromise(Device.trial(kind))

/** Devices to measure, and why others are skipped. */
const devicesOf = async ({ device }: Settings) => {
  const notes: Array<string> = []
  const devices: Array<Measurable> = []
  const cpu = await trial("cpu")
  for (const kind of device === undefined ? (["webgpu", "cuda"] as const) : [device]) {
    const result = kind === "cpu" ? cpu : await trial(kind)
    const isSlow = result.works && cpu.works && result.gflops < cpu.gflops
    if (!result.works) notes.push(`${kind} cannot be used: ${result.why}; ${result.advice}`)
    else if (isSlow && device === undefined) {
      // A software driver: a step would take minutes, and be meaningless.
      notes.push(`${kind} is left out: ${Device.speed(result.gflops)}, the CPU does ${Device.speed(cpu.gflops)}`)
    } else if (kind === "cpu") {
      devices.push({ kind, title: "NO FIGURES OF A GPU, but a trial on the CPU", reference: "cpu" })
    } else if (isSlow) {
      const title = `NO FIGURES OF A GPU, but a trial on ${kind} that is slower than the CPU (a driver in software?)`
      devices.push({ kind, title, reference: "cpu" })
    } else devices.push({ kind, title: `${Device.describe(kind)}, ${Device.speed(result.gflops)}`, reference: "cuda" })
  }
  return { devices, notes }
}

const printTable = async (folder: string, { kind, reference, title }: Measurable, settings: Settings) => {
  const why: Array<string> = []
  const python = Child.python()
  if (python === undefined) why.push("no PyTorch beside: ATROPOS_ORIGINAL_PYTHON names no interpreter")
  console.log(`\n${title}; ${Checkpoint.described(settings.shape, settings)}, random weights`)
  console.log(Report.headerBeside(reference === "cpu" ? "PyTorch, CPU" : "PyTorch, bf16"))
  const theirs = workOf(folder, reference, settings)
  for (const [i, { args, what }] of workOf(folder, kind, settings).entries()) {
    const ours = await measured("ours", args)
    const other = python === undefined ? undefined : await measured("reference", theirs[i]!.args)
    if (typeof other === "string") why.push(`${what}, PyTorch: ${other}`)
    if (typeof ours === "string") why.push(`${what}: ${ours}`)
    else {
      const beside = typeof other === "string" ? undefined : other
      for (const row of rowsOf(what, ours, beside, reference === "cpu")) console.log(Report.line(row))
    }
  }
  for (const line of why) console.log(line)
}

/** Prints a table for each device, and notes on the others. */
export const print = async (words: ReadonlyArray<string>): Promise<void> => {
  const settings = settingsOf(words)
  const { devices, notes } = await devicesOf(settings)
  for (const note of notes) console.log(note)
  if (devices.length === 0) return
  const folder = await Checkpoint.folderOf(settings.shape, settings)
  for (const device of devices) await printTable(folder, device, settings)
}
