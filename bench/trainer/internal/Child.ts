/**
 * Runs ours and the reference in separate processes, so that each has its own peak of memory; parses their last output.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"

export interface Figures {
  readonly tokensPerSecond: number
  readonly peakBytes: number
  /** Of one step, or of one round of decoding: all threads, user and system. */
  readonly processorSeconds?: number
  /** Conversations only: prompt tokens computed per sampled token. */
  readonly promptTokensPerToken?: number
  /** Training only. */
  readonly secondsPerStep?: number
}

export type Side = "ours" | "reference"

/** PyTorch's threads sleep while they wait for each other, as ours do, so that spinning does not count as work. */
const sleeping = { OMP_WAIT_POLICY: "PASSIVE" }

const sources = {
  ours: new URL("./own.ts", import.meta.url).pathname,
  reference: new URL("../reference.py", import.meta.url).pathname
}

/** The interpreter with PyTorch, transformers and PEFT. */
export const python = (): string | undefined => process.env["ATROPOS_ORIGINAL_PYTHON"]

const commandOf = (side: Side, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] =>
  side === "ours"
    ? [process.execPath, ["--conditions=atropos-src", sources.ours, ...args]]
    : [python() ?? "python3", [sources.reference, ...args]]

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

/** The better of two per metric: the highest rate, the lowest peak and the fewest seconds. */
const better = (a: Figures | undefined, b: Figures): Figures => ({
  tokensPerSecond: Math.max(a?.tokensPerSecond ?? 0, b.tokensPerSecond),
  peakBytes: least(a?.peakBytes, b.peakBytes),
  ...(b.processorSeconds !== undefined && { processorSeconds: least(a?.processorSeconds, b.processorSeconds) }),
  ...(b.secondsPerStep !== undefined && { secondsPerStep: least(a?.secondsPerStep, b.secondsPerStep) })
})

export interface Turns {
  readonly rounds?: number
  readonly look?: (side: Side, figures: Figures) => void
}

/**
 * The best of several runs of each side, alternating, so that a slow minute of the machine affects both; the reference
 * only if configured.
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
