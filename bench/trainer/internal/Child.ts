/**
 * Ours and the reference as processes of their own, so that the peak of memory is each one's: what they printed last,
 * as figures.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"

export interface Figures {
  readonly tokensPerSecond: number
  readonly peakBytes: number
  /** Of one step, or of one round of decoding: all threads, user and system. */
  readonly processorSeconds?: number
  /** Of conversations alone: prompt tokens that went through the model for each token that was sampled. */
  readonly promptTokensPerToken?: number
  /** Of training alone. */
  readonly secondsPerStep?: number
}

export type Side = "ours" | "reference"

/** PyTorch's threads sleep while they wait for each other, as ours do: what they spin is no work. */
const sleeping = { OMP_WAIT_POLICY: "PASSIVE" }

const sources = {
  ours: new URL("./own.ts", import.meta.url).pathname,
  reference: new URL("../reference.py", import.meta.url).pathname
}

/** The interpreter that has PyTorch, transformers and PEFT. */
export const python = (): string | undefined => process.env["ATROPOS_ORIGINAL_PYTHON"]

const commandOf = (side: Side, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] =>
  side === "ours"
    ? [process.execPath, ["--conditions=atropos-src", sources.ours, ...args]]
    : [python() ?? "python3", [sources.reference, ...args]]

/** Runs one side with these arguments. */
export const run = async (side: Side, args: ReadonlyArray<string>): Promise<Figures> => {
  const [command, words] = commandOf(side, args)
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"], env: { ...sleeping, ...process.env } })
  let output = ""
  let errors = ""
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)))
  const [code] = (await once(child, "close")) as [number | null]
  const last = output.trim().split("\n").at(-1)
  if (code !== 0 || last === undefined) throw new Error(`${side} ${args.join(" ")} ended with ${code}: ${errors}`)
  return JSON.parse(last) as Figures
}

const least = (a: number | undefined, b: number) => Math.min(a ?? Infinity, b)

/** The better of two: the highest rate, the lowest peak and the fewest seconds, whichever run each is of. */
const better = (a: Figures | undefined, b: Figures): Figures => ({
  tokensPerSecond: Math.max(a?.tokensPerSecond ?? 0, b.tokensPerSecond),
  peakBytes: least(a?.peakBytes, b.peakBytes),
  ...(b.processorSeconds !== undefined && { processorSeconds: least(a?.processorSeconds, b.processorSeconds) }),
  ...(b.secondsPerStep !== undefined && { secondsPerStep: least(a?.secondsPerStep, b.secondsPerStep) })
})

export interface Turns {
  /** Runs of each side. */
  readonly rounds?: number
  /** Told of every run as it ends. */
  readonly look?: (side: Side, figures: Figures) => void
}

/**
 * The best of several runs of each, in turns, so that a slow minute of the machine hits both; the reference where there
 * is one.
 */
export const besides = async (
  ours: ReadonlyArray<string>,
  reference: ReadonlyArray<string>,
  { look, rounds = 2 }: Turns = {}
): Promise<{ readonly ours: Figures; readonly reference: Figures | undefined }> => {
  let best: { readonly ours?: Figures; readonly reference?: Figures } = {}
  const told = async (side: Side, args: ReadonlyArray<string>) => {
    const figures = await run(side, args)
    look?.(side, figures)
    return figures
  }
  for (let round = 0; round < rounds; round++) {
    const own = better(best.ours, await told("ours", ours))
    const other = python() === undefined ? undefined : better(best.reference, await told("reference", reference))
    best = { ours: own, ...(other && { reference: other }) }
  }
  return { ours: best.ours!, reference: best.reference }
}
